import type { Alert } from '@svc/shared/channels/alert.ts';
import { FULL_ALERT } from '../../support/channel-sending.ts';

const { name } = FULL_ALERT.monitor;
const reminder = { number: 2, lastsMs: 5_400_000 };

/** The reminders of an open alert, with the title that people read. */
export const REMINDERS: readonly (readonly [title: string, alert: Alert])[] = [
  [`Still failing: ${name}`, { ...FULL_ALERT, status: 'error', reminder }],
  [`Still degraded: ${name}`, { ...FULL_ALERT, status: 'degraded', reminder }],
];

import type { SendingKind } from '@svc/coordinator/notify/registry.ts';
import type { Case } from './case.ts';
import { webhookCase } from './webhook.ts';

/** One line for each kind that this version can send to. */
export const CASES: { readonly [K in SendingKind]: Case<K> } = {
  webhook: webhookCase,
};

import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { checkKind } from '../messages/check.ts';
import { OUTCOMES } from '../messages/check-result.ts';
import { REGIONS } from '../regions.ts';

export const ALERT_STATUSES = ['error', 'degraded', 'recovered'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** Why an incident was closed without a recovery; told to incident kinds only. */
export const CLOSURES = ['monitor-deleted', 'monitor-deactivated', 'channel-unlinked'] as const;
export type Closure = (typeof CLOSURES)[number];

/**
 * All that a channel is given about one change of status: a snapshot, stored with the delivery, so
 * that it can be sent when the monitor is long gone. Facts of the check (`statusCode`, `latency`,
 * `errorMessage`) come from the newest vote that supports the verdict and are present when they apply.
 */
export const alert = z.object({
  monitor: z.object({
    id: z.number().int(),
    name: z.string(),
    url: z.string(),
    type: checkKind,
  }),
  status: z.enum(ALERT_STATUSES),
  /** Slot of the check, epoch ms. */
  cronTimestamp: z.number().int(),
  statusCode: z.number().int().optional(),
  /** ms */
  latency: z.number().optional(),
  errorMessage: z.string().max(LIMITS.errorMessage).optional(),
  /** When the status changed, epoch ms. */
  at: z.number().int(),
  /** The verdict's named reason. */
  reason: z.string(),
  /** The same for every alert from the first error or degraded to the recovery; unique across installations. */
  incident: z.string(),
  /** What each region said last, and about which slot (epoch ms; absent in what an earlier version of svc stored). */
  regions: z.array(
    z.object({ region: z.enum(REGIONS), outcome: z.enum(OUTCOMES), slot: z.number().int().optional() }),
  ),
  /** Set when this closes an incident that did not recover. */
  closure: z.enum(CLOSURES).optional(),
  /** A test sent by a person; belongs to no incident. */
  test: z.boolean().optional(),
});
export type Alert = z.infer<typeof alert>;

import { alert } from '@svc/shared/channels/alert.ts';
import { attempt, NOT_RUN_REASONS, OUTCOMES, phases } from '@svc/shared/messages/check-result.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { MONITOR_STATUSES } from '../domain/monitor.ts';
import { transitionVote } from '../results/stored-votes.ts';

/** What the API answers beside declared resources. Instants are epoch ms unless they are texts; unset is null. */

const id = z.string().meta({ description: 'A decimal number as text.' });
const region = z.enum(REGIONS);

/** Members of a result that are the same whether it is recorded or not. */
const found = {
  outcome: z.enum(OUTCOMES),
  reason: z.enum(NOT_RUN_REASONS).nullable().meta({ description: 'Why it was not run.' }),
  latency: z.number().nullable().meta({ description: 'ms, of the last attempt.' }),
  phases: phases.nullable().meta({ description: 'ms; those that apply add up to the latency.' }),
  status_code: z.number().int().nullable(),
  error_message: z.string().nullable(),
  attempts: z.array(attempt),
  certificate_expires_at: z.number().int().nullable(),
  body_truncated: z.boolean(),
};

export const resultView = z.object({
  region,
  cron_timestamp: z.number().int().meta({ description: 'The slot, epoch ms.' }),
  ...found,
  agent_id: z.string().nullable(),
  recorded_at: z.number().int(),
});
export type ResultView = z.infer<typeof resultView>;

export const transitionView = z.object({
  id,
  from: z.enum(MONITOR_STATUSES),
  to: z.enum(MONITOR_STATUSES),
  reason: z.string().meta({ description: "The verdict's named reason." }),
  at: z.number(),
  slot: z.number().int().nullable(),
  incident: z.string().nullable(),
  votes: z.array(transitionVote),
});
export type TransitionView = z.infer<typeof transitionView>;

export const checkView = z.object({
  data: z.array(
    z.object({
      region,
      agent_id: z.string().nullable(),
      result: z.object(found).nullable().meta({ description: 'Null: the region stayed silent.' }),
    }),
  ),
});

export const deliveryView = z.object({
  id,
  webhook_id: z.string().meta({ description: 'The same on every attempt.' }),
  notification_id: id,
  monitor_id: id.meta({ description: '0: a test.' }),
  state: z.enum(['pending', 'delivered', 'dead']),
  alert: alert.nullable().meta({ description: 'Null: written by another version and not readable.' }),
  attempts: z.array(
    z.object({
      number: z.number().int(),
      at: z.number().int(),
      duration: z.number().meta({ description: 'ms' }),
      outcome: z.string(),
      status_code: z.number().int().nullable(),
      error: z.string().nullable(),
    }),
  ),
  next_attempt_at: z.number().int().nullable(),
  last_error: z.string().nullable(),
  created_at: z.number().int(),
  replayed_at: z.number().int().nullable(),
  finished_at: z.number().int().nullable(),
});
export type DeliveryView = z.infer<typeof deliveryView>;

export const testView = z.object({
  delivered: z.boolean(),
  delivery_id: id,
  outcome: z.string(),
  status_code: z.number().int().nullable(),
  error: z.string().nullable(),
  duration: z.number().meta({ description: 'ms' }),
});

export const regionView = z.object({
  region,
  last_seen_at: z.number().int().nullable().meta({ description: 'When it last had a live agent.' }),
  agents: z.array(
    z.object({
      id: z.string(),
      version: z.string(),
      capacity: z.number().int(),
      running: z.number().int(),
      load: z.number().meta({ description: 'Running of what it can run at once, 0 to 1.' }),
      loop_delay_ms: z.number(),
      last_seen_at: z.number().int(),
      draining: z.boolean(),
    }),
  ),
});
export type RegionView = z.infer<typeof regionView>;

export const tokenView = z.object({
  id,
  name: z.string(),
  scope: z.enum(['read', 'write']),
  operator: z.boolean(),
  created_at: z.string(),
});
export const workspaceView = z.object({ id, name: z.string(), created_at: z.string() });

export const createdTokenView = tokenView.extend({
  token: z.string().meta({ description: 'Shown this once.' }),
});

export const healthView = z.object({
  status: z.enum(['ok', 'unavailable']),
  parts: z.record(z.string(), z.boolean()),
});

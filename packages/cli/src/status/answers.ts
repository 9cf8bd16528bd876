import { type RegionText, regionTexts } from '@svc/shared/regions.ts';
import { z } from 'zod';

/**
 * The answers of the API that `svc status` reads. Further members are ignored, because the coordinator may be
 * newer.
 */

export const systemAnswer = z.object({
  version: z.string(),
  leading: z.boolean(),
  /** Missing in the answers of an older coordinator. */
  another_leads: z.boolean().default(false),
  shards: z
    .array(z.object({ id: z.number(), led: z.boolean(), here: z.boolean(), holder: z.string().nullable() }))
    .default([]),
  parts: z.record(z.string(), z.boolean()),
  monitors: z.record(z.string(), z.number()).nullable(),
  queues: z
    .object({
      jobs_in_flight: z.number(),
      events: z.number(),
      results_age_seconds: z.number().nullable(),
      deliveries: z.number(),
      rollups_behind_seconds: z.number().nullable(),
    })
    .nullable(),
  streams: z.array(z.object({ region: z.string(), bytes: z.number(), max_bytes: z.number() })),
  errors: z.array(
    z.object({ message: z.string(), detail: z.string(), count: z.number(), last_at: z.string() }),
  ),
  export: z.object({
    endpoints: z.array(
      z.object({
        endpoint: z.string(),
        monitors: z.number(),
        failing: z.boolean(),
        last_success_at: z.string().nullable(),
        last_error: z.object({ at: z.string(), message: z.string() }).nullable(),
        points_dropped: z.number(),
      }),
    ),
  }),
});

export const regionsAnswer = z.object({
  data: z.array(
    z.object({
      region: z.string(),
      /** Missing in the answers of an older coordinator. */
      name: z.string().nullable().default(null),
      /** Epoch ms, as `absent_since`. */
      last_seen_at: z.number().nullable(),
      /** Missing in the answers of an older coordinator. */
      absent_since: z.number().nullable().default(null),
      agents: z.array(
        z.object({
          id: z.string(),
          version: z.string(),
          load: z.number(),
          loop_delay_ms: z.number(),
          draining: z.boolean(),
          machine: z.string().nullable(),
          sick: z.array(z.string()),
        }),
      ),
    }),
  ),
});

/** What people see of the regions. */
export function regionTextOf(regions: Status['regions']): RegionText {
  return regionTexts(regions.map(({ region: id, name }) => ({ id, name })));
}

/** Everything that the command shows. `regions` are the regions that have or had an agent. */
export type Status = {
  readonly system: z.infer<typeof systemAnswer>;
  readonly regions: z.infer<typeof regionsAnswer>['data'];
};

import { z } from 'zod';
import { id, instant } from './answers.ts';
import { serviceStateView } from './service-state.ts';

/** Schemas of the API's answers about the export over OTLP. Instants are texts; unset values are null. */

const endpointView = z.object({
  endpoint: z.string().meta({ description: 'Full URL, without its query.' }),
  default: z
    .boolean()
    .meta({ description: 'Whether it is the endpoint of the settings of the coordinator.' }),
  monitors: z.number().int().meta({ description: 'Number of monitors that are exported to this endpoint.' }),
  encoding: z
    .enum(['json', 'protobuf'])
    .meta({ description: 'Encoding of the last collection; `json` at first.' }),
  failing: z.boolean().meta({ description: 'Whether the endpoint did not accept the last request.' }),
  last_success_at: instant.nullable(),
  last_error: z
    .object({ at: instant, message: z.string() })
    .nullable()
    .meta({ description: 'The last error. It stays when the endpoint works again.' }),
  points_taken: z.number().int().meta({ description: 'Points since the start of the export.' }),
  points_rejected: z
    .number()
    .int()
    .meta({ description: 'Points that the endpoint did not take of requests that it took.' }),
  points_dropped: z.number().int().meta({ description: 'Points that were dropped.' }),
  buffered_requests: z.number().int().meta({ description: 'Number of requests that will be sent again.' }),
  buffered_points: z.number().int(),
  buffered_bytes: z.number().int().meta({ description: 'Bytes of these requests, compressed.' }),
});
export type EndpointView = z.infer<typeof endpointView>;

const overdueChannel = z.object({
  notification_id: id,
  monitors: z.number().int().meta({ description: 'Monitors whose alerts wait.' }),
  oldest_at: instant.meta({ description: 'When the oldest alert was queued or sent again (RFC 3339).' }),
});

export const systemView = serviceStateView
  .extend({
    deliveries: z.object({ overdue: z.array(overdueChannel) }).meta({
      description: 'The delivery of alerts: channels with an alert that has waited for two minutes or more.',
    }),
    export: z.object({ endpoints: z.array(endpointView) }).meta({
      description: 'The export over OTLP. Empty while nobody leads, and in its first second.',
    }),
  })
  .meta({
    examples: [
      {
        version: '0.1.0',
        leading: true,
        parts: { nats: true, database: true },
        monitors: { active: 118, degraded: 1, error: 1, unknown: 0 },
        queues: {
          jobs_in_flight: 12,
          events: 0,
          results_age_seconds: 0.2,
          deliveries: 0,
          rollups_behind_seconds: 3_900,
        },
        streams: [{ region: 'hosta-fra', bytes: 81_920, max_bytes: 715_827_882 }],
        errors: [
          {
            message: 'a region that monitors declare has lost its last agent',
            detail: 'region=hosta-fra',
            count: 1,
            first_at: '2026-11-22T10:00:00.000Z',
            last_at: '2026-11-22T10:00:00.000Z',
          },
        ],
        deliveries: {
          overdue: [{ notification_id: '3', monitors: 2, oldest_at: '2026-11-22T10:00:00.000Z' }],
        },
        export: {
          endpoints: [
            {
              endpoint: 'https://otlp.example.com/v1/metrics',
              default: false,
              monitors: 12,
              encoding: 'protobuf',
              failing: true,
              last_success_at: '2026-11-22T10:00:00.000Z',
              last_error: { at: '2026-11-22T10:01:00.000Z', message: 'answered 503' },
              points_taken: 41_520,
              points_rejected: 0,
              points_dropped: 0,
              buffered_requests: 1,
              buffered_points: 346,
              buffered_bytes: 4_210,
            },
          ],
        },
      },
    ],
  });
export type SystemView = z.infer<typeof systemView>;

export const otlpTestView = z
  .object({
    delivered: z.boolean().meta({ description: 'The endpoint took all points.' }),
    endpoint: z.string().meta({
      description:
        'Full URL, without its query. Only the token of the operator sees the default endpoint of the settings.',
    }),
    points: z.number().int().meta({ description: 'Points that were sent.' }),
    answers: z
      .array(
        z.object({
          encoding: z.enum(['json', 'protobuf']),
          taken: z.boolean(),
          points_rejected: z.number().int(),
          error: z.string().nullable().meta({ description: 'What the endpoint answered.' }),
        }),
      )
      .meta({
        description: 'The answer to one request, or to two if the endpoint refused the first encoding.',
      }),
    warnings: z.array(z.string()).meta({
      description: 'What a receiver may drop although it takes it. Only the token of the operator sees any.',
    }),
    duration: z.number().meta({ description: 'Duration, ms.' }),
  })
  .meta({
    examples: [
      {
        delivered: true,
        endpoint: 'https://otlp.example.com/v1/metrics',
        points: 24,
        answers: [
          { encoding: 'json', taken: false, points_rejected: 0, error: 'answered 415' },
          { encoding: 'protobuf', taken: true, points_rejected: 0, error: null },
        ],
        warnings: [],
        duration: 18.2,
      },
    ],
  });
export type OtlpTestView = z.infer<typeof otlpTestView>;

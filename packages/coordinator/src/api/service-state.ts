import type { Measurement } from '@svc/shared/metrics/measurement.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import { isRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { VERSION } from '@svc/shared/version.ts';
import { z } from 'zod';
import { MONITOR_STATUSES } from '../domain/monitor.ts';
import { instant } from './answers.ts';

const seconds = z.number().nullable();

/** How it stands with the coordinator itself. Queues and streams are null and empty while nobody leads. */
export const serviceStateView = z.object({
  version: z.string(),
  leading: z
    .boolean()
    .meta({ description: 'Whether this coordinator leads. While nobody does, nothing is checked.' }),
  parts: z
    .record(z.string(), z.boolean())
    .meta({ description: 'The parts that `/readyz` names, and whether they work.' }),
  monitors: z
    .record(z.enum(MONITOR_STATUSES), z.number().int())
    .nullable()
    .meta({ description: 'Monitors of all workspaces by status.' }),
  queues: z
    .object({
      jobs_in_flight: z
        .number()
        .int()
        .meta({ description: 'Jobs that regions have and did not report yet.' }),
      events: z.number().int().meta({ description: 'Events that wait in memory to be recorded.' }),
      results_age_seconds: seconds.meta({
        description: 'How long the oldest result has waited to be recorded.',
      }),
      deliveries: z
        .number()
        .int()
        .meta({ description: 'Pairs of monitor and channel with alerts that wait to be delivered.' }),
      rollups_behind_seconds: seconds.meta({
        description: 'Age of the oldest result that is not rolled up. An hour and some minutes are normal.',
      }),
    })
    .nullable(),
  streams: z
    .array(
      z.object({
        region: z.enum(REGIONS),
        bytes: z.number().int(),
        max_bytes: z.number().int().meta({ description: 'Beyond it the oldest results are lost.' }),
      }),
    )
    .meta({ description: 'The streams of results in NATS, as they were up to 10 s ago.' }),
  errors: z
    .array(
      z.object({
        message: z.string(),
        detail: z.string(),
        count: z.number().int(),
        first_at: instant,
        last_at: instant,
      }),
    )
    .meta({
      description:
        'The last errors and alarms of the log since the start, the newest first. Only the token of the operator sees them.',
    }),
});
export type ServiceState = z.infer<typeof serviceStateView>;

export type ServiceStateParts = {
  readonly measurements: readonly Measurement[];
  readonly parts: Readonly<Record<string, boolean>>;
  readonly errors: readonly RecentError[];
};

/** Reads the state from what every export of metrics shows, so that the API and the metrics never differ. */
export function serviceState({ measurements, parts, errors }: ServiceStateParts): ServiceState {
  const found = new Map(measurements.map((each) => [each.instrument.name, each.points]));
  const value = (name: string): number | null => {
    const first = found.get(name)?.[0]?.value;
    return typeof first === 'number' ? first : null;
  };
  const byLabel = (name: string, label: string): [string, number][] =>
    (found.get(name) ?? []).flatMap(({ labels, value: each }) =>
      typeof each === 'number' ? [[labels[label] ?? '', each]] : [],
    );
  const leads = value('svc_leading') === 1 && found.has('svc_jobs_in_flight');
  const limits = new Map(byLabel('svc_stream_limit_bytes', 'region'));
  return {
    version: VERSION,
    leading: value('svc_leading') === 1,
    parts: { ...parts },
    monitors: leads
      ? (Object.fromEntries(byLabel('svc_monitors', 'status')) as NonNullable<ServiceState['monitors']>)
      : null,
    queues: leads
      ? {
          jobs_in_flight: value('svc_jobs_in_flight') ?? 0,
          events: value('svc_backlog_events') ?? 0,
          results_age_seconds: value('svc_backlog_age_seconds'),
          deliveries: value('svc_delivery_lanes') ?? 0,
          rollups_behind_seconds: value('svc_rollups_behind_seconds'),
        }
      : null,
    streams: byLabel('svc_stream_bytes', 'region').flatMap(([region, bytes]) =>
      isRegion(region) ? [streamOf(region, bytes, limits)] : [],
    ),
    errors: errors.map(({ message, detail, count, firstAt, lastAt }) => ({
      message,
      detail,
      count,
      first_at: new Date(firstAt).toISOString(),
      last_at: new Date(lastAt).toISOString(),
    })),
  };
}

function streamOf(
  region: Region,
  bytes: number,
  limits: ReadonlyMap<string, number>,
): ServiceState['streams'][number] {
  return { region, bytes, max_bytes: limits.get(region) ?? 0 };
}

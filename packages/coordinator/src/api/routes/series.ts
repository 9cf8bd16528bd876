import { phases } from '@svc/shared/messages/check-result.ts';
import { compareRegions, givenRegionId, regionId } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { type PhaseSeries, readPhases, readSeries, type Series } from '../../history/series.ts';
import { readUptimes, UPTIME_RANGES, type Uptimes } from '../../history/status-times.ts';
import { emptyTally } from '../../history/tally.ts';
import { PHASES } from '../../store/results/report-bytes.ts';
import { percentile } from '../../verdict/latency-histogram.ts';
import { type LiveMonitor, MONITOR_STATUSES } from '../../verdict/monitor.ts';
import { FINEST_PERIOD_MS } from '../../verdict/schedule.ts';
import { SERIES_RANGES, type SeriesBuckets, type SeriesRange } from '../../verdict/series-range.ts';
import { uptimePercent, worstStatus } from '../../verdict/uptime.ts';
import type { ApiParts } from '../api-parts.ts';
import { tenths } from '../body-members.ts';
import { endpoint, idOf, ok, type RequestOf, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { requireMonitor } from './monitors.ts';
import { requireKnownRegion } from './regions.ts';
import {
  instant,
  latencies,
  milliseconds,
  resultCounts,
  roundedTimes,
  statusTimes,
  tallied,
  uptime,
} from './summary.ts';

/* The answers from which the dashboard draws the charts of a monitor. Instants are epoch ms. */

const RANGE_NAMES = Object.keys(SERIES_RANGES) as [SeriesRange, ...SeriesRange[]];

/** The query parameters of the endpoints for series. */
const seriesQuery = z.object({
  range: z
    .enum(RANGE_NAMES, `must be ${RANGE_NAMES.slice(0, -1).join(', ')} or ${RANGE_NAMES.at(-1)}`)
    .default('24h')
    .meta({ description: 'How far the series reaches back.' }),
  region: givenRegionId
    .optional()
    .meta({ description: 'The series of this region. Default: of all regions together.' }),
});

const envelope = {
  range: z.enum(RANGE_NAMES),
  region: regionId.nullable().meta({ description: 'Null: all regions together.' }),
  from: instant.meta({ description: 'Beginning of the first bucket, epoch ms.' }),
  until: instant.meta({ description: 'Now, epoch ms.' }),
  bucket_ms: instant.meta({
    description: 'Width of a bucket, ms. It is never less than the period of the monitor.',
  }),
};

const at = instant.meta({ description: 'Beginning of the bucket, epoch ms.' });

const ENVELOPE_EXAMPLE = {
  range: '6h' as const,
  region: null,
  from: 1_767_205_800_000,
  until: 1_767_227_400_000,
  bucket_ms: 300_000,
};
const COUNTS_EXAMPLE = {
  results: { passed: 60, degraded: 0, failed: 0, not_run: 0 },
  latency: { p50: 84.1, p75: 91.7, p90: 101.2, p95: 101.2, p99: 112.4 },
};

const seriesView = z
  .object({
    ...envelope,
    results: resultCounts,
    latency: latencies,
    series: z
      .array(z.object({ at, results: resultCounts, latency: latencies }))
      .meta({ description: 'Buckets, oldest first, without gaps. The last bucket is in progress.' }),
    region_bucket_ms: instant.meta({
      description: 'Width of a bucket of `regions`, ms: that of the series, or a multiple of it.',
    }),
    regions: z
      .array(
        z.object({
          region: regionId,
          results: resultCounts,
          latency: latencies,
          p95: z.array(milliseconds.nullable()).meta({
            description: 'The 95th percentile of the latency in each bucket from `from` on, ms.',
          }),
        }),
      )
      .meta({ description: 'Regions that have results in the range, whatever region the series is of.' }),
  })
  .meta({
    examples: [
      {
        ...ENVELOPE_EXAMPLE,
        ...COUNTS_EXAMPLE,
        series: [{ at: 1_767_225_600_000, ...COUNTS_EXAMPLE }],
        region_bucket_ms: 300_000,
        regions: [{ region: 'hosta-fra', ...COUNTS_EXAMPLE, p95: [101.2, null] }],
      },
    ],
  });
export type SeriesView = z.infer<typeof seriesView>;

const phasesView = z
  .object({
    ...envelope,
    every: z.number().int().positive().meta({
      description: 'One of this many slots was read. 1: all of them.',
    }),
    series: z
      .array(
        z.object({
          at,
          results: z.number().int().nonnegative().meta({ description: 'Number of results that were read.' }),
          phases: phases.required().nullable().meta({
            description:
              'Mean duration of each phase, ms; 0 for a phase that does not happen. Their sum is the mean latency. Null where there are no results.',
          }),
        }),
      )
      .meta({ description: 'Buckets, oldest first, without gaps. The last bucket is in progress.' }),
  })
  .meta({
    examples: [
      {
        ...ENVELOPE_EXAMPLE,
        every: 1,
        series: [
          {
            at: 1_767_225_600_000,
            results: 60,
            phases: { dns: 1.2, connect: 20.1, tls: 24.9, first_byte: 37.6, transfer: 0.4 },
          },
        ],
      },
    ],
  });
export type PhasesView = z.infer<typeof phasesView>;

/** The monitor, range and region of a request for a series. */
type Requested = {
  readonly id: number;
  readonly range: SeriesRange;
  readonly region: SeriesView['region'];
  /** The instant at which the series ends, epoch ms. */
  readonly now: number;
};

function seriesAnswer(
  requested: Requested,
  { buckets, total, tallies, regionBuckets, regions }: Series,
): SeriesView {
  return {
    ...enveloped(requested, buckets),
    ...tallied(total),
    series: startsOf(buckets).map((start) => ({ at: start, ...tallied(tallies.get(start) ?? emptyTally()) })),
    region_bucket_ms: regionBuckets.bucketMs,
    regions: [...regions].sort(byRegion).map(([region, found]) => {
      const p95 = startsOf(regionBuckets).map((start) => {
        const tally = found.tallies.get(start);
        return tally === undefined ? null : tenths(percentile(tally.latency, 0.95));
      });
      return { region, ...tallied(found.total), p95 };
    }),
  };
}

function byRegion([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return compareRegions(one, other);
}

function phasesAnswer(requested: Requested, { buckets, every, sums }: PhaseSeries): PhasesView {
  return {
    ...enveloped(requested, buckets),
    every,
    series: startsOf(buckets).map((start) => {
      const sum = sums.get(start);
      if (sum === undefined) return { at: start, results: 0, phases: null };
      const means = PHASES.map((phase) => [phase, tenths(sum[phase] / sum.results)] as const);
      const mean = Object.fromEntries(means) as NonNullable<PhasesView['series'][number]['phases']>;
      return { at: start, results: sum.results, phases: mean };
    }),
  };
}

function enveloped({ range, region, now }: Requested, { from, bucketMs }: SeriesBuckets) {
  return { range, region, from, until: now, bucket_ms: bucketMs };
}

function startsOf({ from, bucketMs, count }: SeriesBuckets): number[] {
  return Array.from({ length: count }, (_, index) => from + index * bucketMs);
}

const TIME_EXAMPLE = { active: 84_210_000, degraded: 260_000, error: 130_000, unknown: 0, maintenance: 0 };

const uptimeView = z
  .object({
    until: instant.meta({ description: 'Now, epoch ms.' }),
    ranges: z
      .array(
        z.object({
          range: z.enum(UPTIME_RANGES),
          from: instant.meta({ description: 'Beginning of the range, epoch ms.' }),
          uptime,
          time: statusTimes,
        }),
      )
      .meta({ description: 'The ranges of the summaries with the same names, the shortest first.' }),
    days: z
      .array(
        z.object({
          at: instant.meta({ description: 'Beginning of the day in UTC, epoch ms.' }),
          status: z.enum(MONITOR_STATUSES).meta({ description: 'The worst status on the day.' }),
          uptime,
          time: statusTimes,
        }),
      )
      .meta({ description: 'The last 90 days, oldest first, today until now included.' }),
  })
  .meta({
    examples: [
      {
        until: 1_767_227_400_000,
        ranges: [{ range: '24h', from: 1_767_142_800_000, uptime: 99.84, time: TIME_EXAMPLE }],
        days: [{ at: 1_767_139_200_000, status: 'error', uptime: 99.84, time: TIME_EXAMPLE }],
      },
    ],
  });
export type UptimeView = z.infer<typeof uptimeView>;

/**
 * Makes the answer about the uptimes of a monitor.
 *
 * @param now epoch ms
 */
function uptimeAnswer({ ranges, days }: Uptimes, now: number): UptimeView {
  return {
    until: now,
    ranges: ranges.map(({ range, from, times }) => ({
      range,
      from,
      uptime: uptimePercent(times),
      time: roundedTimes(times),
    })),
    days: days.map(({ at, times }) => ({
      at,
      status: worstStatus(times),
      uptime: uptimePercent(times),
      time: roundedTimes(times),
    })),
  };
}

type Parts = Pick<ApiParts, 'store' | 'slotNow' | 'monitors' | 'agents'>;

export const monitorSeries = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/series',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read the latencies of a monitor as a series, of all regions or of one',
  description:
    'The buckets are minutes, five minutes or half hours of the last 1, 6 or 24 hours, hours of the last 7 or 14 days, or days (UTC) of the last 90. A monitor with a longer period has wider buckets.',
  query: seriesQuery,
  answers: { 200: { description: 'The series.', schema: seriesView } },
});

export const monitorPhases = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/phases',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read how the time of checks is spent, as a series',
  description:
    'The means of the phases of results that passed or were degraded. They come from stored results, so they reach back as far as results are kept. Many results are read as an even sample. Results from before a change of the period are read only where the present period would have a check too.',
  query: seriesQuery,
  answers: { 200: { description: 'The series.', schema: phasesView } },
});

export const monitorUptime = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/uptime',
  access: 'read',
  tag: 'Monitors',
  summary: 'Read the uptime of a monitor over the usual ranges and on each of the last 90 days',
  answers: { 200: { description: 'The uptimes.', schema: uptimeView } },
});

/** Makes the endpoints from whose answers the charts of a monitor are drawn. */
export function seriesEndpoints({ store, slotNow, monitors, agents }: Parts): ServedEndpoint[] {
  const requestedOf = async (request: RequestOf<typeof monitorSeries>): Promise<Requested> => {
    const { range, region = null } = request.query;
    await requireKnownRegion(store, region);
    const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
    return { id, range, region, now: Math.floor(slotNow()) };
  };
  const periodOf = (monitor: LiveMonitor | undefined) => monitor?.periodMs ?? FINEST_PERIOD_MS;
  return [
    serve(monitorSeries, async (request) => {
      const requested = await requestedOf(request);
      const { id, now } = requested;
      const monitor = (await monitors.findMonitors([id])).get(id);
      const series = await readSeries(store, id, { ...requested, periodMs: periodOf(monitor) }, now);
      return ok(seriesAnswer(requested, series));
    }),
    serve(monitorPhases, async (request) => {
      const requested = await requestedOf(request);
      const { id, now } = requested;
      const monitor = (await monitors.findMonitors([id])).get(id);
      const regionCount = (monitor?.regions ?? agents.liveRegions()).length;
      const search = { ...requested, regionCount, periodMs: periodOf(monitor) };
      return ok(phasesAnswer(requested, await readPhases(store, id, search, now)));
    }),
    serve(monitorUptime, async (request) => {
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const now = Math.floor(slotNow());
      return ok(uptimeAnswer(await readUptimes(store, id, now), now));
    }),
  ];
}

import { compareRegions, regionId } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { readSummary, type Summary } from '../../history/summary.ts';
import type { OutcomeCounts } from '../../history/tally.ts';
import { percentile } from '../../verdict/latency-histogram.ts';
import { MONITOR_STATUSES } from '../../verdict/monitor.ts';
import { SUMMARY_RANGES, type SummaryRange } from '../../verdict/summary-range.ts';
import { flooredPercent, type StatusTimes, uptimePercent, worstStatus } from '../../verdict/uptime.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { requireMonitor } from './monitors.ts';

const RANGE_NAMES = Object.keys(SUMMARY_RANGES) as [SummaryRange, ...SummaryRange[]];

export const instant = z.number().int();
export const milliseconds = z.number().nonnegative();
const percent = z.number().min(0).max(100).nullable();

export const resultCounts = z
  .object({
    passed: z.number().int().nonnegative(),
    degraded: z.number().int().nonnegative(),
    failed: z.number().int().nonnegative(),
    not_run: z.number().int().nonnegative(),
  })
  .meta({ description: 'Number of results by outcome, over all versions of the monitor.' });

export const latencies = z
  .object({
    p50: milliseconds.nullable(),
    p75: milliseconds.nullable(),
    p90: milliseconds.nullable(),
    p95: milliseconds.nullable(),
    p99: milliseconds.nullable(),
  })
  .meta({
    description:
      'Percentiles of the latency of results that passed or were degraded, ms, exact to 5 %. Null where there are no such results.',
  });

export const uptime = percent.meta({
  description:
    'Share of the time with a verdict in which the monitor was up, in percent, rounded down. Degraded is up. Maintenance windows are left out. Null where there is no such time.',
});

export const statusTimes = z
  .object({
    active: milliseconds,
    degraded: milliseconds,
    error: milliseconds,
    unknown: milliseconds,
    maintenance: milliseconds,
  })
  .meta({
    description:
      'Time in each status, ms. Inactive time is `unknown`. Time in a maintenance window counts as `maintenance` only, also where the window was declared later.',
  });

const summaryView = z
  .object({
    range: z.enum(RANGE_NAMES),
    from: instant.meta({ description: 'Beginning of the first bucket, epoch ms.' }),
    until: instant.meta({ description: 'Now, epoch ms.' }),
    bucket_ms: instant.meta({ description: 'Width of a bucket, ms: an hour, or a day in UTC.' }),
    uptime,
    time: statusTimes,
    results: resultCounts,
    latency: latencies,
    regions: z
      .array(
        z.object({
          region: regionId,
          uptime_by_checks: percent.meta({
            description:
              'Share of the results with an outcome other than not_run that passed or were degraded, in percent, rounded down. A region has no verdicts, so this is not a share of time.',
          }),
          results: resultCounts,
          latency: latencies,
        }),
      )
      .meta({ description: 'Regions that have results in the range.' }),
    series: z
      .array(
        z.object({
          at: instant.meta({ description: 'Beginning of the bucket, epoch ms.' }),
          status: z.enum(MONITOR_STATUSES).meta({ description: 'The worst status in the bucket.' }),
          uptime,
          results: resultCounts,
          latency: latencies,
        }),
      )
      .meta({ description: 'Buckets, oldest first, without gaps. The last bucket is in progress.' }),
  })
  .meta({
    examples: [
      {
        range: '24h',
        from: 1_767_142_800_000,
        until: 1_767_227_400_000,
        bucket_ms: 3_600_000,
        uptime: 99.85,
        time: { active: 84_210_000, degraded: 260_000, error: 130_000, unknown: 0, maintenance: 0 },
        results: { passed: 2_801, degraded: 9, failed: 10, not_run: 0 },
        latency: { p50: 84.1, p75: 91.7, p90: 112.4, p95: 149.6, p99: 211.3 },
        regions: [
          {
            region: 'hosta-fra',
            uptime_by_checks: 99.64,
            results: { passed: 2_801, degraded: 9, failed: 10, not_run: 0 },
            latency: { p50: 84.1, p75: 91.7, p90: 112.4, p95: 149.6, p99: 211.3 },
          },
        ],
        series: [
          {
            at: 1_767_225_600_000,
            status: 'active',
            uptime: 100,
            results: { passed: 60, degraded: 0, failed: 0, not_run: 0 },
            latency: { p50: 84.1, p75: 91.7, p90: 101.2, p95: 101.2, p99: 112.4 },
          },
        ],
      },
    ],
  });
export type SummaryView = z.infer<typeof summaryView>;

function summaryAnswer(range: SummaryRange, summary: Summary): SummaryView {
  const { from, until, bucketMs, total, times, regions, buckets } = summary;
  return {
    range,
    from,
    until,
    bucket_ms: bucketMs,
    uptime: uptimePercent(times),
    time: roundedTimes(times),
    ...tallied(total),
    regions: [...regions]
      .sort(([one], [other]) => compareRegions(one, other))
      .map(([region, tally]) => ({ region, uptime_by_checks: upShare(tally), ...tallied(tally) })),
    series: buckets.map((bucket) => ({
      at: bucket.at,
      status: worstStatus(bucket.times),
      uptime: uptimePercent(bucket.times),
      ...tallied(bucket.tally),
    })),
  };
}

/**
 * Rounds the times to whole milliseconds. A status that ended
 * when its votes expired may have ended between two milliseconds.
 */
export function roundedTimes({ active, degraded, error, unknown, maintenance }: StatusTimes): StatusTimes {
  return {
    active: Math.round(active),
    degraded: Math.round(degraded),
    error: Math.round(error),
    unknown: Math.round(unknown),
    maintenance: Math.round(maintenance),
  };
}

function upShare({ passed, degraded, failed }: OutcomeCounts): number | null {
  return flooredPercent(passed + degraded, passed + degraded + failed);
}

export function tallied({ passed, degraded, failed, notRun, latency }: OutcomeCounts) {
  const at = (share: number) => {
    const found = percentile(latency, share);
    return found === null ? null : Math.round(found * 10) / 10;
  };
  return {
    results: { passed, degraded, failed, not_run: notRun },
    latency: { p50: at(0.5), p75: at(0.75), p90: at(0.9), p95: at(0.95), p99: at(0.99) },
  };
}

const monitorSummary = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/summary',
  access: 'read',
  tag: 'Monitors',
  summary: 'Summarize uptime, latencies and outcomes of a monitor, as a whole and per region',
  description:
    'The buckets are the hours of the last day or week, or the days (UTC) of the last 30, 90 or 400 days. The bucket in progress is one of them. Hours are kept for 14 days, days for 400. A result that comes hours late is counted within seconds.',
  query: z.object({
    range: z
      .enum(RANGE_NAMES, `must be ${RANGE_NAMES.slice(0, -1).join(', ')} or ${RANGE_NAMES.at(-1)}`)
      .default('24h')
      .meta({ description: 'How far the summary reaches back.' }),
  }),
  answers: { 200: { description: 'The summary.', schema: summaryView } },
});

export function summaryEndpoints({ store, slotNow }: Pick<ApiParts, 'store' | 'slotNow'>): ServedEndpoint[] {
  return [
    serve(monitorSummary, async (request) => {
      const { range } = request.query;
      const { id } = await requireMonitor(store, workspaceOf(request), idOf(request));
      return ok(summaryAnswer(range, await readSummary(store, id, range, Math.floor(slotNow()))));
    }),
  ];
}

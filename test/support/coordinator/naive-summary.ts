import type { Summary } from '../../../packages/coordinator/src/history/summary.ts';
import type { OutcomeCounts } from '../../../packages/coordinator/src/history/tally.ts';
import {
  bucketsUntil,
  SUMMARY_RANGES,
  type SummaryRange,
} from '../../../packages/coordinator/src/verdict/summary-range.ts';
import {
  NO_TIMES,
  type StatusSince,
  timesBetween,
  uptimePercent,
} from '../../../packages/coordinator/src/verdict/uptime.ts';
import type { StoredResult } from '../recorded-results.ts';
import type { Recording } from './recording.ts';

const COLUMN = { passed: 'passed', degraded: 'degraded', failed: 'failed', not_run: 'notRun' } as const;

type Counted = { passed: number; degraded: number; failed: number; notRun: number; latencies: number[] };
const nothing = (): Counted => ({ passed: 0, degraded: 0, failed: 0, notRun: 0, latencies: [] });

function count(results: readonly StoredResult[]): Counted {
  const counted = nothing();
  for (const { outcome, latency } of results) {
    counted[COLUMN[outcome]] += 1;
    if (latency !== undefined && (outcome === 'passed' || outcome === 'degraded'))
      counted.latencies.push(latency);
  }
  return counted;
}

/**
 * Makes a summary from all stored results and changes of
 * status, one by one. Its latencies are in ascending order.
 */
export async function naiveSummary(
  recording: Recording,
  monitorId: number,
  range: SummaryRange,
  now: number,
) {
  const { bucketMs, buckets } = SUMMARY_RANGES[range];
  const starts = bucketsUntil(now, bucketMs, buckets);
  const from = starts[0] ?? now;
  const results = (await recording.results())
    .filter(({ monitor_id: id, slot }) => id === monitorId && slot >= from && slot <= now)
    .toSorted((a, b) => (a.latency ?? 0) - (b.latency ?? 0));
  const changes = await recording.rows<StatusSince>(
    'SELECT at, to_status AS status FROM transitions WHERE monitor_id = ? ORDER BY id',
    monitorId,
  );
  const [times] = timesBetween(changes, [from, now]);
  const bucketTimes = timesBetween(changes, [...starts, now]);
  const regions = Object.groupBy(results, ({ region }) => region);
  return {
    total: count(results),
    times,
    regions: Object.fromEntries(Object.entries(regions).map(([name, list]) => [name, count(list ?? [])])),
    buckets: starts.map((at, index) => ({
      at,
      uptime: uptimePercent(bucketTimes[index] ?? NO_TIMES),
      counts: count(results.filter(({ slot }) => slot >= at && slot < at + bucketMs)),
    })),
  };
}

/** Converts counts to the same form, with the sums of the histogram instead of latencies. */
export function countsOf({ passed, degraded, failed, notRun, latency }: OutcomeCounts) {
  return { passed, degraded, failed, notRun, latencies: latency.reduce((sum, many) => sum + many, 0) };
}

export const regionsOf = (summary: Summary) =>
  Object.fromEntries([...summary.regions].map(([name, tally]) => [name, countsOf(tally)]));

import { type Kysely, sql } from 'kysely';
import { FINEST_PERIOD_MS } from '../domain/schedule.ts';
import { HOUR_MS } from '../domain/summary-range.ts';
import type { Database } from '../store/schema.ts';
import { slotsOfMonitor } from '../store/slots-of-monitor.ts';

/** Results by outcome, and the histogram of their latencies as it is stored. */
export type Counts = {
  passed: number;
  degraded: number;
  failed: number;
  not_run: number;
  latency: Uint8Array | null;
};

export type SeriesRow = Counts & { monitor_id: number; region: string };

/** A failure's latency says how long it took to fail, which no percentile is asked for. */
const COUNTED = sql`
  sum(outcome = 'passed') AS passed, sum(outcome = 'degraded') AS degraded,
  sum(outcome = 'failed') AS failed, sum(outcome = 'not_run') AS not_run,
  latency_histogram(CASE WHEN outcome IN ('passed', 'degraded') THEN latency END) AS latency`;

/**
 * The results of an hour whose slot lies in this part of each half minute, summed up by monitor and
 * region. Results lie in the order of their slots and all slots of a monitor, but those off its grid,
 * lie in the same part: so a series is whole in one read, and every result is in exactly one.
 *
 * @param part ms after a full half minute: `from` <= phase < `until`
 */
export async function seriesOfPhases(
  db: Kysely<Database>,
  hour: number,
  part: { from: number; until: number },
): Promise<SeriesRow[]> {
  const starts: number[] = [];
  for (let at = hour; at < hour + HOUR_MS; at += FINEST_PERIOD_MS) starts.push(at + part.from);
  const { rows } = await sql<SeriesRow>`
    SELECT monitor_id, region, ${COUNTED}
    FROM json_each(${JSON.stringify(starts)}) AS part
      CROSS JOIN results ON slot >= part.value AND slot < part.value + ${part.until - part.from}
    GROUP BY monitor_id, region`.execute(db);
  return rows;
}

/** Slots looked at per query: a few µs for each. */
const SLOTS = 4_000;

/** One monitor's results from `from` on and before `until`, summed up by hour (`at`) and region, in any order. */
export async function seriesOfMonitor(
  db: Kysely<Database>,
  monitorId: number,
  { from, until }: { from: number; until: number },
): Promise<(SeriesRow & { at: number })[]> {
  const slots = [...(await slotsOfMonitor(db, monitorId, { from, until: until - 1 }))];
  const found: (SeriesRow & { at: number })[] = [];
  for (let first = 0; first < slots.length; first += SLOTS) {
    const { rows } = await sql<SeriesRow & { at: number }>`
      SELECT monitor_id, slot - slot % ${HOUR_MS} AS at, region, ${COUNTED}
      FROM json_each(${JSON.stringify(slots.slice(first, first + SLOTS))}) AS candidate
        CROSS JOIN results ON slot = candidate.value AND monitor_id = ${monitorId}
      GROUP BY 2, region`.execute(db);
    found.push(...rows);
  }
  return found;
}

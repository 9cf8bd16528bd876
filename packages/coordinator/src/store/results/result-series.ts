import type { Phases } from '@svc/shared/messages/check-result.ts';
import { sql } from 'kysely';
import { FINEST_PERIOD_MS } from '../../verdict/schedule.ts';
import { HOUR_MS } from '../../verdict/summary-range.ts';
import { jsonItem, jsonMember, numbersAs } from '../dialect.ts';
import type { Store } from '../store.ts';
import { slotsOfMonitor } from './recorded-slots.ts';
import { PHASES } from './result-detail.ts';

/** Numbers of results by outcome, and the stored histogram of their latencies. */
export type Counts = {
  passed: number;
  degraded: number;
  failed: number;
  not_run: number;
  latency: Uint8Array | null;
};

/** A monitor's results in a region with a slot in the hour that begins at `at`, epoch ms. */
export type HourRow = Counts & { monitor_id: number; at: number; region: string };

/** Epoch ms: `from` <= slot < `until`. */
export type TimeSpan = { readonly from: number; readonly until: number };

/** Percentiles leave out failures: their latency is the time that the failure took. */
const COUNTED = sql`
  count(*) FILTER (WHERE outcome = 'passed') AS passed,
  count(*) FILTER (WHERE outcome = 'degraded') AS degraded,
  count(*) FILTER (WHERE outcome = 'failed') AS failed,
  count(*) FILTER (WHERE outcome = 'not_run') AS not_run,
  latency_histogram(CASE WHEN outcome IN ('passed', 'degraded') THEN latency END) AS latency`;

/**
 * The results of an hour whose slots lie in one part of each half minute, summed up by monitor and region.
 *
 * Results are stored in the order of their slots. All slots of a monitor, except those off its grid, lie at
 * the same place in the half minute. So one call has all of a monitor's results on the grid, and every result
 * is in exactly one call.
 *
 * @param part ms after a full half minute: `from` <= phase < `until`
 */
export async function seriesOfPhases(
  { read }: Pick<Store, 'read'>,
  hour: number,
  part: TimeSpan,
): Promise<HourRow[]> {
  const starts: number[] = [];
  for (let at = hour; at < hour + HOUR_MS; at += FINEST_PERIOD_MS) starts.push(at + part.from);
  // CROSS JOIN makes SQLite keep the order of the tables and look up a range of slots for each start.
  const { rows } = await sql<Omit<HourRow, 'at'>>`
    SELECT monitor_id, region, ${COUNTED}
    FROM ${numbersAs(starts, 'part')} CROSS JOIN results
    WHERE slot >= part.value AND slot < part.value + ${part.until - part.from}
    GROUP BY monitor_id, region`.execute(read);
  return rows.map((row) => ({ ...row, at: hour }));
}

/** Slots per query; each takes a few µs. */
const SLOTS = 4_000;

/**
 * One monitor's results, summed up by hour and region, in any order. Many slots take several queries, so an
 * hour may have more than one row for a region.
 *
 * @param bucketMs other width than an hour, ms; `at` of a row is then a multiple of it
 */
export async function seriesOfMonitor(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
  { from, until }: TimeSpan,
  bucketMs = HOUR_MS,
): Promise<HourRow[]> {
  const slots = [...(await slotsOfMonitor(read, monitorId, { from, until: until - 1 }))];
  const found: HourRow[] = [];
  for (let first = 0; first < slots.length; first += SLOTS) {
    const { rows } = await sql<HourRow>`
      SELECT monitor_id, slot - slot % ${bucketMs} AS at, region, ${COUNTED}
      FROM ${numbersAs(slots.slice(first, first + SLOTS), 'candidate')} CROSS JOIN results
      WHERE slot = candidate.value AND monitor_id = ${monitorId}
      GROUP BY 1, 2, region`.execute(read);
    found.push(...rows);
  }
  return found;
}

/** The first slot at or after `from` that has a result of any monitor; null: there is none. */
export async function firstSlotFrom({ read }: Pick<Store, 'read'>, from: number): Promise<number | null> {
  const { slot } = await read
    .selectFrom('results')
    .select(({ fn }) => fn.min<number | null>('slot').as('slot'))
    .where('slot', '>=', from)
    .executeTakeFirstOrThrow();
  return slot;
}

/** The number of results in the bucket that begins at `at` (epoch ms), and the sums of their phases, ms. */
export type PhaseSums = { at: number; results: number } & { [Phase in keyof Phases]-?: number };

export type PhaseSearch = {
  monitorId: number;
  /** null: all. */
  region: string | null;
  /** Epoch ms. `from` is at or before the first slot. */
  buckets: { from: number; bucketMs: number };
};

/**
 * Sums of the phases of the results that passed or were degraded, by bucket, in any order. A phase that did not
 * happen counts as 0. Results without phases are left out.
 */
export async function phasesOfSlots(
  { read }: Pick<Store, 'read'>,
  slots: readonly number[],
  { monitorId, region, buckets: { from, bucketMs } }: PhaseSearch,
): Promise<PhaseSums[]> {
  const detail = sql.ref('detail');
  const sums = PHASES.map(
    (phase, index) => sql`sum(coalesce(${jsonItem(detail, 'phases', index)}, 0)) AS ${sql.ref(phase)}`,
  );
  const { rows } = await sql<PhaseSums>`
    SELECT slot - (slot - ${from}) % ${bucketMs} AS at, count(*) AS results, ${sql.join(sums)}
    FROM ${numbersAs(slots, 'candidate')} CROSS JOIN results
    WHERE slot = candidate.value AND monitor_id = ${monitorId} AND outcome IN ('passed', 'degraded')
      AND ${jsonMember(detail, 'phases')} IS NOT NULL ${region === null ? sql`` : sql`AND region = ${region}`}
    GROUP BY 1`.execute(read);
  return rows;
}

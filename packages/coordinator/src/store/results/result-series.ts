import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { FINEST_PERIOD_MS } from '../../verdict/schedule.ts';
import { HOUR_MS } from '../../verdict/summary-range.ts';
import {
  numbersAs,
  phaseSums,
  readPhaseSums,
  readReportSums,
  reportSums,
  type SummedUp,
} from '../dialect.ts';
import type { Store } from '../store.ts';
import { slotsOfMonitor } from './recorded-slots.ts';
import { type RegionNumbers, storedRegionNumbers } from './region-numbers.ts';
import { type Counts, EVERY_REGION, type PhaseTotals, type RegionCounts } from './report-sums.ts';

export type { Counts } from './report-sums.ts';

/**
 * The counts of a monitor's results from one region in the hour, or in
 * the bucket, that begins at `at` (epoch ms).
 */
export type HourRow = Counts & { monitor_id: number; at: number; region: string };

const REPORTS = sql.ref('slot_results.reports');

/** A span of time, epoch ms. It includes `from` and excludes `until`. */
export type TimeSpan = { readonly from: number; readonly until: number };

/**
 * The results of an hour whose slots lie in one part of each half minute, summed up by monitor and region.
 *
 * Results are stored in the order of their slots. All slots of a monitor, except its slots off the grid, lie
 * at the same place in the half minute. So all results of a monitor on the grid are summed up in one call. If
 * the parts of several calls divide the half minute, each result is summed up in exactly one of them.
 *
 * @param part ms after a full half minute: `from` <= place < `until`
 */
export async function seriesOfPhases(
  { read }: Pick<Store, 'read'>,
  hour: number,
  part: TimeSpan,
): Promise<HourRow[]> {
  const starts: number[] = [];
  for (let at = hour; at < hour + HOUR_MS; at += FINEST_PERIOD_MS) starts.push(at + part.from);
  // CROSS JOIN makes SQLite keep the order of the tables and look up a range of slots for each start.
  const { rows } = await sql<{ monitor_id: number; sums: SummedUp }>`
    SELECT monitor_id, ${reportSums(REPORTS)} AS sums
    FROM ${numbersAs(starts, 'part')} CROSS JOIN slot_results
    WHERE slot >= part.value AND slot < part.value + ${part.until - part.from}
    GROUP BY monitor_id`.execute(read);
  // The numbers are read after the results, so that all regions of the results have their names.
  const numbers = await storedRegionNumbers({ read });
  return rows.flatMap(({ monitor_id, sums }) =>
    byName(readReportSums(sums), numbers).map((counts) => ({ ...counts, monitor_id, at: hour })),
  );
}

function byName(counts: readonly RegionCounts[], numbers: RegionNumbers): (Counts & { region: string })[] {
  return counts.flatMap(({ number, ...others }) => {
    const region = numbers.regionOf(number);
    return region === undefined ? [] : [{ ...others, region }];
  });
}

/** Maximum number of slots per query. Looking up a slot takes a few µs. */
const SLOTS = 4_000;

/**
 * One monitor's results, summed up by hour and region, in any order. Many slots take several queries, so an
 * hour may have more than one row for a region.
 *
 * @param bucketMs width of the buckets that replace the hours, ms. `at` of a row is a multiple of this width
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
    const { rows } = await sql<{ at: number; sums: SummedUp }>`
      SELECT slot - slot % ${bucketMs} AS at, ${reportSums(REPORTS)} AS sums
      FROM ${numbersAs(slots.slice(first, first + SLOTS), 'candidate')} CROSS JOIN slot_results
      WHERE slot = candidate.value AND monitor_id = ${monitorId}
      GROUP BY 1`.execute(read);
    const numbers = await storedRegionNumbers({ read });
    for (const { at, sums } of rows) {
      for (const counts of byName(readReportSums(sums), numbers))
        found.push({ ...counts, monitor_id: monitorId, at });
    }
  }
  return found;
}

/** The first slot at or after `from` that has a result of any monitor; null: there is none. */
export async function firstSlotFrom({ read }: Pick<Store, 'read'>, from: number): Promise<number | null> {
  const { slot } = await read
    .selectFrom('slot_results')
    .select(({ fn }) => fn.min<number | null>('slot').as('slot'))
    .where('slot', '>=', from)
    .executeTakeFirstOrThrow();
  return slot;
}

/** The sums of the bucket that begins at `at`, epoch ms. */
export type PhaseSums = PhaseTotals & { at: number };

export type PhaseSearch = {
  monitorId: number;
  /** Null: all regions. */
  region: Region | null;
  /** `from`: beginning of the first bucket, epoch ms, not after the first slot. */
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
  const number = region === null ? EVERY_REGION : (await storedRegionNumbers({ read })).numberIn(region);
  if (number === null) return [];
  const { rows } = await sql<{ at: number; sums: SummedUp }>`
    SELECT slot - (slot - ${from}) % ${bucketMs} AS at, ${phaseSums(REPORTS, number)} AS sums
    FROM ${numbersAs(slots, 'candidate')} CROSS JOIN slot_results
    WHERE slot = candidate.value AND monitor_id = ${monitorId}
    GROUP BY 1`.execute(read);
  return rows.flatMap(({ at, sums }) => {
    const totals = readPhaseSums(sums, number);
    return totals.results === 0 ? [] : [{ ...totals, at }];
  });
}

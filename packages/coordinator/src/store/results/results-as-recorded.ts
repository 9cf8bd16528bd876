import type { Attempt, Outcome } from '@svc/shared/messages/check-result.ts';
import { isRegion, type Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { bitOf, NO_REGIONS, type RegionSet } from '../../verdict/region-set.ts';
import { numbersAs } from '../dialect.ts';
import type { Store } from '../store.ts';
import { readResultDetail } from './result-detail.ts';
import type { TimeSpan } from './result-series.ts';
import { slotsOfMonitor } from './slots-of-monitor.ts';

/** Slots per query; each takes a few µs. */
const SLOTS = 2_000;

/** A result as the evaluation needs it, and when it was recorded. */
export type RecordedRow = {
  /** Epoch ms. */
  readonly recordedAt: number;
  readonly slot: number;
  readonly region: Region;
  readonly outcome: Outcome;
  readonly version: number;
  /** ms */
  readonly latency: number | null;
  readonly statusCode: number | null;
  readonly errorMessage: string | null;
  /** Empty where a single attempt was the whole check. */
  readonly attempts: readonly Attempt[];
  /** The regions with a result of this slot. */
  readonly given: RegionSet;
};

type Row = Omit<RecordedRow, 'region' | 'attempts' | 'given'> & {
  readonly region: string;
  /** Only where there was more than one attempt. */
  readonly detail: string | null;
};

/**
 * The results of a monitor in the order in which they were recorded, some thousand slots at a time.
 *
 * @param span of slots, epoch ms: `from` <= slot < `until`
 */
export async function* resultsAsRecorded(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
  { from, until }: TimeSpan,
): AsyncGenerator<readonly RecordedRow[]> {
  const slots = [...(await slotsOfMonitor(read, monitorId, { from, until: until - 1 }))].reverse();
  let waiting: RecordedRow[] = [];
  for (let first = 0; first < slots.length; first += SLOTS) {
    const asked = slots.slice(first, first + SLOTS);
    const { rows } = await sql<Row>`
      SELECT recorded_at AS "recordedAt", slot, region, outcome, version, latency, status_code AS "statusCode",
        error_message AS "errorMessage", CASE WHEN detail LIKE '%"attempts"%' THEN detail END AS detail
      FROM ${numbersAs(asked, 'candidate')} CROSS JOIN results
      WHERE slot = candidate.value AND monitor_id = ${monitorId}`.execute(read);
    waiting = [...waiting, ...recordedRows(rows)].sort(inOrder);
    // Results of the next slots may be recorded before these.
    const next = slots[first + SLOTS] ?? Number.POSITIVE_INFINITY;
    const later = waiting.findIndex(({ recordedAt }) => recordedAt >= next);
    yield waiting.splice(0, later === -1 ? waiting.length : later);
  }
}

function inOrder(a: RecordedRow, b: RecordedRow): number {
  return a.recordedAt - b.recordedAt || a.slot - b.slot || (a.region < b.region ? -1 : 1);
}

function recordedRows(rows: readonly Row[]): RecordedRow[] {
  const known = rows.filter((row): row is Row & { region: Region } => isRegion(row.region));
  const given = new Map<number, RegionSet>();
  for (const { slot, region } of known) given.set(slot, (given.get(slot) ?? NO_REGIONS) | bitOf(region));
  return known.map(({ detail, ...row }) => {
    const { latency, outcome, statusCode: status_code, errorMessage: error_message } = row;
    const columns = { latency, outcome, status_code, error_message };
    const attempts = detail === null ? [] : readResultDetail(detail, columns).attempts;
    return { ...row, attempts, given: given.get(row.slot) ?? NO_REGIONS };
  });
}

import { isRegion } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import type { VoteOutcome } from '../domain/status.ts';
import type { JournalledRow } from '../evaluation/journal-entry.ts';
import { numbersAs } from './dialect.ts';
import { readResultDetail } from './result-detail.ts';
import type { TimeSpan } from './result-series.ts';
import { slotsOfMonitor } from './slots-of-monitor.ts';
import type { Store } from './store.ts';

/** Slots per query; each takes a few µs. */
const SLOTS = 2_000;

type Row = {
  slot: number;
  region: string;
  outcome: VoteOutcome;
  version: number;
  latency: number | null;
  status_code: number | null;
  error_message: string | null;
  /** Only where there was more than one attempt. */
  detail: string | null;
  after: number;
  place: number | null;
  given: number | null;
};

/** Outcomes of consecutive slots. */
export type RowsOfSlots = {
  readonly rows: readonly JournalledRow[];
  /** Later rows have a slot at or after this, epoch ms. */
  readonly until: number;
};

/**
 * The outcomes of a monitor whose slots lie in a span, by slot, some thousand slots at a time. Rows from before
 * the journal are among them, where they were evaluated with the decision of their slot.
 */
export async function* journalledRows(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
  { from, until }: TimeSpan,
): AsyncGenerator<RowsOfSlots> {
  const slots = [...(await slotsOfMonitor(read, monitorId, { from, until: until - 1 }))].reverse();
  for (let first = 0; first < slots.length; first += SLOTS) {
    const asked = slots.slice(first, first + SLOTS);
    const { rows } = await sql<Row>`
      SELECT slot, region, outcome, version, latency, status_code, error_message,
        CASE WHEN detail LIKE '%"attempts"%' THEN detail END AS detail,
        coalesce(decided_after, evaluated_after) AS after, evaluated_place AS place, given
      FROM ${numbersAs(asked, 'candidate')} CROSS JOIN results
      WHERE slot = candidate.value AND monitor_id = ${monitorId} AND outcome <> 'not_run'
        AND coalesce(decided_after, evaluated_after) IS NOT NULL`.execute(read);
    yield { rows: rows.flatMap(rowOf), until: slots[first + SLOTS] ?? until };
  }
}

function rowOf(row: Row): JournalledRow[] {
  const { slot, region, outcome, version, latency, detail, after, place, given } = row;
  if (!isRegion(region)) return [];
  const attempts = detail === null ? [] : readResultDetail(detail, row).attempts;
  return [
    {
      ...{ at: slot + after, place: place ?? 0, slot, region, outcome, version, latency, attempts, given },
      statusCode: row.status_code,
      errorMessage: row.error_message,
    },
  ];
}

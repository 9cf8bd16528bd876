import type { Region } from '@svc/shared/regions.ts';
import { dayOf } from '../../verdict/summary-range.ts';
import type { Abstention, ReportedResult } from '../../verdict/writes.ts';
import type { SqlStep, SqlValue } from '../store.ts';
import { noteAgents, numberOfAgent } from './agent-names.ts';
import { FIXED_NUMBERS, REGIONS_PER_ROW, type RegionNumbers } from './region-numbers.ts';
import { type Finding, ReportWriter } from './report-bytes.ts';

/** A region's report about a slot of a monitor, before it is recorded. */
export type UnrecordedReport = {
  readonly monitorId: number;
  /** Epoch ms. */
  readonly slot: number;
  readonly region: Region;
  /** The agent's name; null: no agent reported. */
  readonly agent: string | null;
  readonly found: Finding;
};

export function reportOf({ result, region, agent }: ReportedResult): UnrecordedReport {
  return { monitorId: result.monitor, slot: result.slot, region, agent, found: result };
}

export function abstentionOf({ monitorId, version, slot, region, reason }: Abstention): UnrecordedReport {
  return {
    monitorId,
    slot,
    region,
    agent: null,
    found: { outcome: 'not_run', version, reason, attempts: [] },
  };
}

/**
 * Appends reports to the row of their slot, unless none of them is new. The first report of a
 * region that is not `not_run` stays for good. It replaces a recorded `not_run` of the region. The
 * appended bytes may also contain a further report of a region, which readers ignore. Without the
 * cast, SQLite would make a text of the joined bytes.
 */
const INSERT_REPORTS = `
  INSERT INTO slot_results (slot, monitor_id, part, regions, not_run, reports) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot, monitor_id, part) DO UPDATE SET
    regions = slot_results.regions | excluded.regions,
    not_run = (slot_results.not_run & (excluded.not_run | ~excluded.regions))
      | (excluded.not_run & ~slot_results.regions),
    reports = CAST(slot_results.reports || excluded.reports AS blob)
  WHERE (excluded.regions & ~slot_results.regions) <> 0
    OR (slot_results.not_run & excluded.regions & ~excluded.not_run) <> 0`;

const WRITER = new ReportWriter();

/**
 * The steps that record reports. All reports about one slot of a monitor go to one row, unless the numbers of
 * their regions belong to several rows (see {@link REGIONS_PER_ROW}).
 *
 * @param recordedAt epoch ms
 */
export function insertReports(
  reports: readonly UnrecordedReport[],
  recordedAt: number,
  numbers: RegionNumbers = FIXED_NUMBERS,
): SqlStep[] {
  const agents = new Map<string, number>();
  for (const { agent } of reports) {
    if (agent !== null && !agents.has(agent)) agents.set(agent, numberOfAgent(agent));
  }
  const slots: OpenRow[] = [];
  WRITER.clear();
  // Rows are written in the order of the table's key. Reports about the same slot keep their order, because
  // sorting is stable.
  const partOf = ({ region }: UnrecordedReport) => Math.floor(numbers.numberOf(region) / REGIONS_PER_ROW);
  const inOrder = reports.toSorted(
    (a, b) => a.slot - b.slot || a.monitorId - b.monitorId || partOf(a) - partOf(b),
  );
  for (const report of inOrder) {
    const { slot, monitorId, region, agent, found } = report;
    const number = numbers.numberOf(region);
    const place = number % REGIONS_PER_ROW;
    const part = (number - place) / REGIONS_PER_ROW;
    let row = slots.at(-1);
    if (row?.slot !== slot || row.monitorId !== monitorId || row.part !== part) {
      row = { slot, monitorId, part, regions: 0, ran: 0, end: 0 };
      slots.push(row);
    }
    WRITER.append(slot, {
      number,
      agent: agent === null ? null : (agents.get(agent) ?? null),
      recordedAt,
      found,
    });
    const bit = 1 << place;
    row.regions |= bit;
    if (found.outcome !== 'not_run') row.ran |= bit;
    row.end = WRITER.length;
  }
  return [
    noteAgents(agents, recordedAt),
    keepDays(slots),
    { sql: INSERT_REPORTS, rows: parametersOf(slots, WRITER.copy()) },
  ];
}

/**
 * Creates the partitions of the table that these rows need. In SQLite, which has no partitions, this step
 * does nothing.
 */
export function keepDays(slots: readonly { readonly slot: number }[]): SqlStep {
  const days = new Set(slots.map(({ slot }) => dayOf(slot)));
  return { sql: 'SELECT keep_result_day(?)', rows: [...days].map((day) => [day]) };
}

/**
 * A row to which reports are being added. `end`: the position in the bytes of
 * all rows at which the reports of this row end.
 */
type OpenRow = { slot: number; monitorId: number; part: number; regions: number; ran: number; end: number };

function parametersOf(slots: readonly OpenRow[], bytes: Uint8Array<ArrayBuffer>): SqlValue[][] {
  let start = 0;
  return slots.map(({ slot, monitorId, part, regions, ran, end }) => {
    const reports = bytes.subarray(start, end);
    start = end;
    return [slot, monitorId, part, regions, regions & ~ran, reports];
  });
}

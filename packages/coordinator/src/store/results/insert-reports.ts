import type { Region } from '@svc/shared/regions.ts';
import { bitOf, NO_REGIONS, type RegionSet } from '../../verdict/region-set.ts';
import { dayOf } from '../../verdict/summary-range.ts';
import type { Abstention, ReportedResult } from '../../verdict/writes.ts';
import type { SqlStep, SqlValue } from '../store.ts';
import { noteAgents, numberOfAgent } from './agent-names.ts';
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
 * Appends reports to the row of their slot, unless they bring nothing new. The first report of a
 * region that is not `not_run` stays for good. It replaces a recorded `not_run` of the region. The
 * appended bytes may also contain a second report of a region. Readers ignore second reports.
 * Without the cast, SQLite would make a text of the joined bytes.
 */
const INSERT_REPORTS = `
  INSERT INTO slot_results (slot, monitor_id, regions, not_run, reports) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (slot, monitor_id) DO UPDATE SET
    regions = slot_results.regions | excluded.regions,
    not_run = (slot_results.not_run & (excluded.not_run | ~excluded.regions))
      | (excluded.not_run & ~slot_results.regions),
    reports = CAST(slot_results.reports || excluded.reports AS blob)
  WHERE (excluded.regions & ~slot_results.regions) <> 0
    OR (slot_results.not_run & excluded.regions & ~excluded.not_run) <> 0`;

const WRITER = new ReportWriter();

/**
 * The steps that record reports. All reports about one slot of a monitor go to one row.
 *
 * @param recordedAt epoch ms
 */
export function insertReports(reports: readonly UnrecordedReport[], recordedAt: number): SqlStep[] {
  const agents = new Map<string, number>();
  for (const { agent } of reports) {
    if (agent !== null && !agents.has(agent)) agents.set(agent, numberOfAgent(agent));
  }
  const slots: OpenRow[] = [];
  WRITER.clear();
  // Rows are written in the order of the table's key. Reports about the same slot keep their order, because
  // sorting is stable.
  for (const report of reports.toSorted((a, b) => a.slot - b.slot || a.monitorId - b.monitorId)) {
    const { slot, monitorId, region, agent, found } = report;
    let row = slots.at(-1);
    if (row?.slot !== slot || row.monitorId !== monitorId) {
      row = { slot, monitorId, regions: NO_REGIONS, ran: NO_REGIONS, end: 0 };
      slots.push(row);
    }
    WRITER.append(slot, {
      region,
      agent: agent === null ? null : (agents.get(agent) ?? null),
      recordedAt,
      found,
    });
    row.regions |= bitOf(region);
    if (found.outcome !== 'not_run') row.ran |= bitOf(region);
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
type OpenRow = { slot: number; monitorId: number; regions: RegionSet; ran: RegionSet; end: number };

function parametersOf(slots: readonly OpenRow[], bytes: Uint8Array<ArrayBuffer>): SqlValue[][] {
  let start = 0;
  return slots.map(({ slot, monitorId, regions, ran, end }) => {
    const reports = bytes.subarray(start, end);
    start = end;
    return [slot, monitorId, regions, regions & ~ran, reports];
  });
}

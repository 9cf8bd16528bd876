import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { hourOf } from '../../verdict/summary-range.ts';
import type { Abstention, MonitorSlot, ReportedResult } from '../../verdict/writes.ts';
import { pairsAs } from '../dialect.ts';
import type { SqlStep, Store } from '../store.ts';
import { abstentionDetail, resultDetail } from './result-detail.ts';

export type ResultKey = { readonly monitorId: number; readonly slot: number; readonly region: Region };

/**
 * The recorded outcomes of these keys, in their order; null: nothing is recorded. Everything committed before
 * the call is seen. A batch waits for the answer, so reads of pages and of the API must not come before it.
 */
export async function recordedOutcomes(
  store: Store,
  keys: readonly ResultKey[],
): Promise<(Outcome | null)[]> {
  const slots = keys.map(({ slot, monitorId }) => [slot, monitorId] as const);
  const { rows } = await sql<{ slot: number; monitor_id: number; region: string; outcome: Outcome }>`
    SELECT results.slot, results.monitor_id, results.region, results.outcome
    FROM ${pairsAs(slots, 'asked')} CROSS JOIN results
    WHERE results.slot = asked.first AND results.monitor_id = asked.second`.execute(store.work);
  const known = new Map(
    rows.map((row) => [`${row.monitor_id} ${row.slot} ${row.region}`, row.outcome] as const),
  );
  return keys.map(({ monitorId, slot, region }) => known.get(`${monitorId} ${slot} ${region}`) ?? null);
}

/** The first result that is not `not_run` stays. It replaces a recorded `not_run`. */
const INSERT_RESULT = `
  INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, error_message,
    detail, agent, recorded_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot, monitor_id, region) DO UPDATE SET outcome = excluded.outcome,
    version = excluded.version, latency = excluded.latency, status_code = excluded.status_code,
    error_message = excluded.error_message, detail = excluded.detail, agent = excluded.agent,
    recorded_at = excluded.recorded_at
  WHERE results.outcome = 'not_run' AND excluded.outcome <> 'not_run'`;

/** @param recordedAt epoch ms */
export function insertResults(results: readonly ReportedResult[], recordedAt: number): SqlStep {
  return {
    sql: INSERT_RESULT,
    rows: results.map(({ result, region, agent }) => [
      result.slot,
      result.monitor,
      region,
      result.outcome,
      result.version,
      result.latency ?? null,
      result.status_code ?? null,
      result.error_message ?? null,
      resultDetail(result),
      agent,
      recordedAt,
    ]),
  };
}

/** As {@link insertResults}. */
export function insertAbstentions(abstentions: readonly Abstention[], recordedAt: number): SqlStep {
  return {
    sql: INSERT_RESULT,
    rows: abstentions.map(({ monitorId, version, slot, region, reason }) => [
      slot,
      monitorId,
      region,
      'not_run',
      version,
      null,
      null,
      null,
      abstentionDetail(reason),
      null,
      recordedAt,
    ]),
  };
}

/**
 * Remembers slots that are not on the grid of the monitor's period, because they cannot be found otherwise.
 */
export function rememberSlots(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?) ON CONFLICT DO NOTHING',
    rows: slots.map(({ monitorId, slot }) => [monitorId, slot]),
  };
}

/** Marks hours that got a result after they were rolled up, or shortly before. */
export function markForRepair(slots: readonly MonitorSlot[]): SqlStep {
  return {
    sql: `INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, ?)
      ON CONFLICT (hour, monitor_id) DO UPDATE SET marks = rollup_repairs.marks + 1`,
    rows: slots.map(({ monitorId, slot }) => [hourOf(slot), monitorId]),
  };
}

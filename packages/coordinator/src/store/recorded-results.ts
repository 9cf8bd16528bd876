import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { sql } from 'kysely';
import { hourOf } from '../domain/summary-range.ts';
import type { Abstention, MonitorSlot, ReportedResult } from '../evaluation/writes.ts';
import { pairsAs } from './dialect.ts';
import { abstentionDetail, resultDetail } from './result-detail.ts';
import type { SqlStep, Store } from './store.ts';

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
const insertResult = (setBacks: number): string => `
  INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, error_message,
    detail, agent, recorded_at, decided_after, evaluated_after, evaluated_place, given, set_backs)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${Math.trunc(setBacks)})
  ON CONFLICT (slot, monitor_id, region) DO UPDATE SET outcome = excluded.outcome,
    version = excluded.version, latency = excluded.latency, status_code = excluded.status_code,
    error_message = excluded.error_message, detail = excluded.detail, agent = excluded.agent,
    recorded_at = excluded.recorded_at, decided_after = excluded.decided_after,
    evaluated_after = excluded.evaluated_after, evaluated_place = excluded.evaluated_place,
    given = excluded.given, set_backs = excluded.set_backs
  WHERE results.outcome = 'not_run' AND excluded.outcome <> 'not_run'`;

/**
 * @param recordedAt epoch ms
 * @param setBacks starts so far that have set slots aside
 */
export function insertResults(
  results: readonly ReportedResult[],
  recordedAt: number,
  setBacks: number,
): SqlStep {
  return {
    sql: insertResult(setBacks),
    rows: results.map(
      ({ result, region, agent, decidedAfterMs, evaluatedAfterMs, evaluatedPlace, given }) => [
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
        decidedAfterMs,
        // The journal has its own entries for `not_run`. Otherwise the slot was mostly decided at once.
        decidedAfterMs === null && result.outcome !== 'not_run' ? evaluatedAfterMs : null,
        evaluatedPlace === 0 ? null : evaluatedPlace,
        given,
      ],
    ),
  };
}

/** As {@link insertResults}. */
export function insertAbstentions(
  abstentions: readonly Abstention[],
  recordedAt: number,
  setBacks: number,
): SqlStep {
  return {
    sql: insertResult(setBacks),
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
      null,
      null,
      null,
      null,
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

import { hourOf } from '../domain/summary-range.ts';
import type { SqlStep, Store, Transaction } from './store.ts';

/** An hour of a monitor that got a result after it was rolled up. `marks` grows with each such result. */
export type Repair = { readonly hour: number; readonly monitor_id: number; readonly marks: number };

/**
 * Marks the hours of these results. To be written with every result whose slot is before
 * `Rollups.claimedUntil`.
 */
export function markForRepair(results: readonly { monitorId: number; slot: number }[]): SqlStep {
  return {
    sql: `INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, ?)
      ON CONFLICT (hour, monitor_id) DO UPDATE SET marks = rollup_repairs.marks + 1`,
    rows: results.map(({ monitorId, slot }) => [hourOf(slot), monitorId]),
  };
}

/** The repairs of hours before `beforeHour` (epoch ms), oldest first. */
export function dueRepairs({ read }: Store, beforeHour: number, limit: number): Promise<Repair[]> {
  return read
    .selectFrom('rollup_repairs')
    .selectAll()
    .where('hour', '<', beforeHour)
    .orderBy('hour')
    .limit(limit)
    .execute();
}

/**
 * Removes repairs, except those whose hours got another result since they were read.
 *
 * @returns the removed repairs
 */
export async function takeRepairs(tx: Transaction, repairs: readonly Repair[]): Promise<ReadonlySet<Repair>> {
  const outcomes = await tx.runEach(
    'DELETE FROM rollup_repairs WHERE hour = ? AND monitor_id = ? AND marks = ?',
    repairs.map(({ hour, monitor_id: monitorId, marks }) => [hour, monitorId, marks]),
  );
  return new Set(repairs.filter((_, index) => outcomes[index]?.changes !== 0));
}

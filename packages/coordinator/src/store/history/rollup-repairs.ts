import type { Store, Transaction } from '../store.ts';

/** An hour of a monitor that got a result after it was rolled up. `marks` grows with each such result. */
export type Repair = { readonly hour: number; readonly monitor_id: number; readonly marks: number };

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

/** The hours of a monitor that wait for their repair, epoch ms. */
export async function markedHours(
  { read }: Pick<Store, 'read'>,
  monitorId: number,
): Promise<ReadonlySet<number>> {
  const rows = await read
    .selectFrom('rollup_repairs')
    .select('hour')
    .where('monitor_id', '=', monitorId)
    .execute();
  return new Set(rows.map(({ hour }) => hour));
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

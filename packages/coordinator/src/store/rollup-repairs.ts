import type { Store, Transaction } from './store.ts';

/** An hour of a monitor that got a result after it was rolled up. `marks` grows with each. */
export type Repair = { readonly hour: number; readonly monitor_id: number; readonly marks: number };

/** Those of hours before this one (epoch ms), the oldest first. */
export function dueRepairs({ read }: Store, beforeHour: number, limit: number): Promise<Repair[]> {
  return read
    .selectFrom('rollup_repairs')
    .selectAll()
    .where('hour', '<', beforeHour)
    .orderBy('hour')
    .limit(limit)
    .execute();
}

/** Removes them, but those that got another result since they were read. @returns which were removed */
export async function takeRepairs(tx: Transaction, repairs: readonly Repair[]): Promise<ReadonlySet<Repair>> {
  const outcomes = await tx.runEach(
    'DELETE FROM rollup_repairs WHERE hour = ? AND monitor_id = ? AND marks = ?',
    repairs.map(({ hour, monitor_id: monitorId, marks }) => [hour, monitorId, marks]),
  );
  return new Set(repairs.filter((_, index) => outcomes[index]?.changes !== 0));
}

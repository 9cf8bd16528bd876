import { sql } from 'kysely';
import { least } from '../dialect.ts';
import { type Readable, readingOf } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/**
 * The progress of the roll-ups. The comment on the table `rollup_progress` in `0001-initial.ts` explains the
 * members.
 */
export type Progress = {
  readonly hour: number;
  readonly phase: number;
  readonly day: number;
  readonly afterMonitor: number;
};

/** The stored progress; null: nothing was rolled up yet. */
export async function storedProgress(reading: Readable): Promise<Progress | null> {
  const stored = await readingOf(reading).selectFrom('rollup_progress').selectAll().executeTakeFirst();
  if (stored === undefined) return null;
  const { hour, phase, day, after_monitor: afterMonitor } = stored;
  return { hour, phase, day, afterMonitor };
}

/**
 * The slot of the oldest stored result, and the instant of the stored transition that was recorded first,
 * epoch ms. `slot` is null if there is no result, and `transitionAt` is null if there is no transition.
 */
export async function oldestRecorded(
  reading: Readable,
): Promise<{ slot: number | null; transitionAt: number | null }> {
  // Both subqueries read only the first entry of an index. The results have an index for each partition.
  const { rows } = await sql<{ slot: number | null; transitionAt: number | null }>`
    SELECT (SELECT min(slot) FROM slot_results) AS slot,
      (SELECT at FROM transitions ORDER BY id LIMIT 1) AS "transitionAt"`.execute(readingOf(reading));
  return rows[0] ?? { slot: null, transitionAt: null };
}

export async function writeProgress(tx: Transaction, progress: Progress): Promise<void> {
  const { hour, phase, day, afterMonitor } = progress;
  await tx.runEach(
    `INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET hour = excluded.hour, phase = excluded.phase, day = excluded.day,
       after_monitor = excluded.after_monitor`,
    [[hour, phase, day, afterMonitor]],
  );
}

/** The hour (epoch ms) from which on all results are still stored; 0: none were deleted yet. */
export async function resultsFrom(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ results_from: number }>('SELECT results_from FROM rollup_progress');
  return row?.results_from ?? 0;
}

/**
 * Moves the stored hour from which on all results are kept back to `day` (epoch ms), if the hour is later
 * than `day`. The hour is later if it was stored while the clock was ahead.
 */
export async function expectResultsFrom(tx: Transaction, day: number): Promise<void> {
  await sql`UPDATE rollup_progress SET results_from = ${least(sql`results_from`, sql`${day}`)}`.execute(
    tx.db,
  );
}

/**
 * An hour that must be rolled up again for a monitor, with the times of its day: a result came after the
 * roll-up or shortly before it, or a change of status was dated back to this day or an earlier one. `marks`
 * grows with each such event.
 */
export type Repair = { readonly hour: number; readonly monitor_id: number; readonly marks: number };

/**
 * The next hours before `beforeHour` (epoch ms) that must be rolled up again, oldest first, at most `limit`.
 */
export function dueRepairs({ read }: Store, beforeHour: number, limit: number): Promise<Repair[]> {
  return read
    .selectFrom('rollup_repairs')
    .selectAll()
    .where('hour', '<', beforeHour)
    .orderBy('hour')
    .limit(limit)
    .execute();
}

/** The hours of a monitor that must be rolled up again, epoch ms. */
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
 * Removes repairs, except repairs that were marked again after they were read.
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

import { type Kysely, sql } from 'kysely';
import { dayOf, hourOf } from '../domain/summary-range.ts';
import type { Database } from '../store/schema.ts';

/** How far the roll-ups are; migration 0002 says what each member means. */
export type Progress = {
  readonly hour: number;
  readonly phase: number;
  readonly day: number;
  readonly afterMonitor: number;
};

/** An hour is rolled up when it has been over for so long: most late results are there then. */
const SETTLE_MS = 5 * 60_000;

/** Beginning of the first hour that is not to be rolled up yet. */
export function closedUntil(now: number): number {
  return hourOf(now - SETTLE_MS);
}

/**
 * The stored progress; before there is one, that with which rolling up begins: at the oldest result.
 *
 * @param now the slots' clock, epoch ms
 */
export async function readProgress(db: Kysely<Database>, now: number): Promise<Progress> {
  const stored = await db.selectFrom('rollup_progress').selectAll().executeTakeFirst();
  if (stored !== undefined) {
    const { hour, phase, day, after_monitor: afterMonitor } = stored;
    return { hour, phase, day, afterMonitor };
  }
  // Each alone is one step in its table.
  const { rows } = await sql<{ slot: number | null; at: number | null }>`
    SELECT (SELECT min(slot) FROM results) AS slot, (SELECT at FROM transitions ORDER BY id LIMIT 1) AS at
  `.execute(db);
  const slot = rows[0]?.slot ?? null;
  const at = rows[0]?.at ?? null;
  const hour = hourOf(Math.min(slot ?? now, now));
  const day = dayOf(Math.min(hour, at ?? now));
  return { hour, phase: 0, day, afterMonitor: 0 };
}

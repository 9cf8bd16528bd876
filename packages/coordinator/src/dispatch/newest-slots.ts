import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

/** Monitors asked about per query. */
const CHUNK = 5_000;

/**
 * The newest slot that each monitor was given, as far as recorded: decided, or with a result. Monitors
 * without one are not in it. Read on the reading thread.
 */
export async function loadNewestSlots(store: Store): Promise<Map<number, number>> {
  const newest = new Map<number, number>();
  for (let after = 0; ; ) {
    const { rows } = await sql<{ id: number; slot: number | null }>`
      SELECT monitors.id AS id, max(
        coalesce((SELECT decided_slot FROM monitor_states WHERE monitor_id = monitors.id), 0),
        coalesce((SELECT max(slot) FROM results WHERE monitor_id = monitors.id), 0)) AS slot
      FROM monitors WHERE monitors.id > ${after} ORDER BY monitors.id LIMIT ${CHUNK}`.execute(store.read);
    for (const { id, slot } of rows) {
      if (slot !== null && slot > 0) newest.set(id, slot);
    }
    const last = rows.at(-1);
    if (last === undefined) return newest;
    after = last.id;
  }
}

/** For the slot clock; null when nothing was ever recorded. */
export function newestOf(slots: ReadonlyMap<number, number>): number | null {
  let newest: number | null = null;
  for (const slot of slots.values()) {
    if (newest === null || slot > newest) newest = slot;
  }
  return newest;
}

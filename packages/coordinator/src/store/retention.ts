import { sql } from 'kysely';
import { hourOf } from '../domain/summary-range.ts';
import { greatest, least } from './dialect.ts';
import type { Store, Transaction } from './store.ts';

/*
 * What is too old, a chunk at a time: each function deletes some of it in a transaction of its own, or looks
 * at some of it, so that nobody waits for long. Instants are epoch ms; what is older than the cutoff goes.
 */

/** Rows of one transaction. */
const CHUNK_ROWS = 1_000;
/** Deliveries of one transaction: their attempts go along. */
const CHUNK_DELIVERIES = 200;

/**
 * Results of whole hours, from the oldest on, deleted monitors' included. None that is not rolled up, and
 * none of an hour whose roll-up does not count all of them yet; none at all before the roll-ups have begun.
 *
 * @returns how many were deleted; 0: none is left
 */
export function deleteResults(store: Store, cutoff: number): Promise<number> {
  return store.transaction(async (tx) => {
    // It may be further than the cutoff: the clock was ahead when it was written.
    const until = Math.min(await resultsFromOn(tx, cutoff), hourOf(cutoff));
    // They lie in the order of time: the end of the chunk is found by counting.
    const [end] = await tx.query<{ slot: number; monitor_id: number; region: string }>(
      `SELECT slot, monitor_id, region FROM results WHERE slot < ?
       ORDER BY slot, monitor_id, region LIMIT 1 OFFSET ${CHUNK_ROWS}`,
      [until],
    );
    return end === undefined
      ? deleted(tx, 'DELETE FROM results WHERE slot < ?', [until])
      : deleted(tx, 'DELETE FROM results WHERE (slot, monitor_id, region) < (?, ?, ?)', [
          end.slot,
          end.monitor_id,
          end.region,
        ]);
  });
}

/** Beginning of the first hour whose results stay. From here on the hours before are not rolled up again. */
async function resultsFromOn(tx: Transaction, cutoff: number): Promise<number> {
  const rolledUp = least(
    sql`${hourOf(cutoff)}`,
    sql`hour`,
    sql`coalesce((SELECT min(hour) FROM rollup_repairs), hour)`,
  );
  const { rows } = await sql<{ results_from: number }>`
    UPDATE rollup_progress SET results_from = ${greatest(sql`results_from`, rolledUp)}
    RETURNING results_from`.execute(tx.db);
  return rows[0]?.results_from ?? 0;
}

export function deleteOffGridSlots(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM off_grid_slots WHERE (monitor_id, slot) IN (
         SELECT monitor_id, slot FROM off_grid_slots WHERE slot < ? LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** Finished deliveries, by their end. */
export function deleteDeliveries(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries WHERE finished_at < ? AND state <> 'pending' LIMIT ${CHUNK_DELIVERIES})`,
      [cutoff],
    ),
  );
}

/** Entries of the history that changed the reason and not the status, by when the reason was last given. */
export function deleteReasonChanges(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM transitions WHERE id IN (
         SELECT id FROM transitions WHERE from_status = to_status AND at < ? AND coalesce(until, at) < ?
         LIMIT ${CHUNK_ROWS})`,
      [cutoff, cutoff],
    ),
  );
}

/** Incidents that ended. */
export function deleteIncidents(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM incidents WHERE key IN (
         SELECT key FROM incidents WHERE closed_at < ? LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** Lines of the audit trail. */
export function deleteAuditLines(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** Absences of regions that ended. */
export function deleteAbsences(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM region_absences WHERE id IN (
         SELECT id FROM region_absences WHERE ended_at < ? LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** The last change of status that was looked at. */
export type ChangeCursor = { readonly at: number; readonly id: number };

/**
 * Changes of status that no summary asks for any more. Of a monitor that exists the newest one before the
 * cutoff stays: it tells the status at the cutoff. Those are looked at in every sweep and not deleted, so
 * who sweeps goes on from a cursor.
 *
 * @param after null: from the oldest on
 * @returns null: there are no more
 */
export async function deleteStatusChanges(
  store: Store,
  cutoff: number,
  after: ChangeCursor | null,
): Promise<{ deleted: number; after: ChangeCursor } | null> {
  const changes = await oldChanges(store, cutoff, after);
  const last = changes.at(-1);
  if (last === undefined) return null;
  const obsolete = changes.filter(({ isObsolete }) => isObsolete === 1);
  if (obsolete.length > 0) {
    await store.transaction((tx) =>
      tx.runEach(
        'DELETE FROM transitions WHERE id = ?',
        obsolete.map(({ id }) => [id]),
      ),
    );
  }
  return { deleted: obsolete.length, after: { at: last.at, id: last.id } };
}

/** Read apart from the writing: what is obsolete stays obsolete. */
async function oldChanges(
  { read }: Store,
  cutoff: number,
  after: ChangeCursor | null,
): Promise<(ChangeCursor & { isObsolete: 0 | 1 })[]> {
  const { at, id } = after ?? { at: -1, id: -1 };
  const { rows } = await sql<ChangeCursor & { isObsolete: 0 | 1 }>`
    SELECT t.id, t.at, CASE WHEN NOT EXISTS (SELECT 1 FROM monitors WHERE id = t.monitor_id)
        OR EXISTS (SELECT 1 FROM transitions n
          WHERE n.monitor_id = t.monitor_id AND n.from_status <> n.to_status
            AND (n.at, n.id) > (t.at, t.id) AND n.at < ${cutoff})
        THEN 1 ELSE 0 END AS "isObsolete"
    FROM transitions t
    WHERE t.from_status <> t.to_status AND (t.at, t.id) > (${at}, ${id}) AND t.at < ${cutoff}
    ORDER BY t.at, t.id LIMIT ${CHUNK_ROWS}`.execute(read);
  return rows;
}

async function deleted(
  tx: Transaction,
  statement: string,
  parameters: readonly (string | number)[],
): Promise<number> {
  const [outcome] = await tx.runEach(statement, [parameters]);
  return outcome?.changes ?? 0;
}

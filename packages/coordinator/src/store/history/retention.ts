import { sql } from 'kysely';
import { DAY_MS, hourOf } from '../../verdict/summary-range.ts';
import { receiverExists } from '../declaration/channels.ts';
import { dropResultDay, greatest, least } from '../dialect.ts';
import type { Store, Transaction } from '../store.ts';

/*
 * Deletes expired rows in chunks. Each function deletes or inspects one chunk per call, so that other work
 * does not wait for long. Functions that delete return the number of deleted rows. Instants are epoch ms.
 * Rows older than the cutoff are deleted.
 */

/** Maximum number of rows that one transaction deletes, except by dropping a partition. */
const CHUNK_ROWS = 1_000;
/** Maximum number of deliveries per transaction. The attempts of a delivery are deleted with it. */
const CHUNK_DELIVERIES = 200;

/**
 * Deletes the oldest results from before the hour of the cutoff (PostgreSQL: the oldest day, if it ends
 * before that hour), including results of deleted monitors. Results of an hour are deleted only after all
 * hours up to it are rolled up. Hours that must be rolled up again keep their results, unless such results
 * may have been deleted before.
 *
 * @returns the number of deleted rows (PostgreSQL: its own estimate); 0: there was nothing to delete
 */
export function deleteResults(store: Store, cutoff: number): Promise<number> {
  return store.transaction(async (tx) => {
    // The stored hour from which on results are kept may be later than the
    // cutoff, if it was written while the clock was ahead.
    const until = Math.min(await resultsFromOn(tx, cutoff), hourOf(cutoff));
    const { rows } = await dropResultDay(until).execute(tx.db);
    const dropped = rows[0]?.dropped ?? null;
    if (dropped !== null) return dropped;
    // Results are stored in the order of their slots, so the end of the chunk is found by counting rows.
    const [end] = await tx.query<{ slot: number; monitor_id: number }>(
      `SELECT slot, monitor_id FROM slot_results WHERE slot < ?
       ORDER BY slot, monitor_id LIMIT 1 OFFSET ${CHUNK_ROWS}`,
      [until],
    );
    return end === undefined
      ? deleted(tx, 'DELETE FROM slot_results WHERE slot < ?', [until])
      : deleted(tx, 'DELETE FROM slot_results WHERE (slot, monitor_id) < (?, ?)', [end.slot, end.monitor_id]);
  });
}

/**
 * Moves the stored hour from which on all results are kept forward to the hour of the cutoff, but not past an
 * hour that must still be rolled up. Returns the stored hour, epoch ms; 0: no progress of roll-ups is stored.
 * Earlier hours are not rolled up again.
 */
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

/**
 * Deletes names of agents that no stored result needs: their agents last reported at least a day before the
 * oldest stored slot. If no results are stored, all names stay.
 */
export function deleteAgentNames(store: Store): Promise<number> {
  return store.transaction(async (tx) => {
    const [oldest] = await tx.query<{ slot: number | null }>('SELECT min(slot) AS slot FROM slot_results');
    // The cutoff is two days before the oldest slot: one day because `noted_on` is written only once a day,
    // and one day because slots may be ahead of the clock.
    const cutoff = (oldest?.slot ?? 0) - 2 * DAY_MS;
    return deleted(
      tx,
      `DELETE FROM agent_names WHERE number IN (
         SELECT number FROM agent_names WHERE noted_on < ? LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    );
  });
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

/** Deletes deliveries that ended before the cutoff. */
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

/**
 * Deletes the stored threads of incidents and notices in channels. A thread is deleted if its last alert was
 * sent before the cutoff, and neither its incident nor its notice is open.
 */
export function deleteThreads(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM delivery_threads WHERE (notification_id, incident) IN (
         SELECT t.notification_id, t.incident FROM delivery_threads t
         WHERE t.at < ? AND NOT EXISTS (
           SELECT 1 FROM incidents i WHERE i.key = t.incident AND i.closed_at IS NULL)
         AND t.incident NOT IN (SELECT key FROM monitor_notices)
         LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/**
 * The ids of removed channels and page recipients that still have deliveries, at most 100. The recursive
 * query steps from receiver to receiver in the index, and does not read every delivery.
 */
export async function removedChannels({ read }: Store): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    WITH RECURSIVE channels (id) AS (
      SELECT min(notification_id) FROM deliveries
      UNION ALL
      SELECT (SELECT min(d.notification_id) FROM deliveries d WHERE d.notification_id > channels.id)
      FROM channels WHERE channels.id IS NOT NULL)
    SELECT id FROM channels
    WHERE id IS NOT NULL AND NOT (${receiverExists('channels.id')})
    LIMIT 100`.execute(read);
  return rows.map(({ id }) => id);
}

/**
 * Deletes a chunk of the rows of a removed channel or page recipient: deliveries first, and threads when no
 * deliveries are left. Returns the number of deleted rows; 0: nothing was left.
 */
export function deleteOfChannel(store: Store, notificationId: number): Promise<number> {
  return store.transaction(async (tx) => {
    const deliveries = await deleted(
      tx,
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries WHERE notification_id = ? LIMIT ${CHUNK_DELIVERIES})`,
      [notificationId],
    );
    if (deliveries > 0) return deliveries;
    return deleted(
      tx,
      `DELETE FROM delivery_threads WHERE notification_id = ? AND incident IN (
         SELECT incident FROM delivery_threads WHERE notification_id = ? LIMIT ${CHUNK_ROWS})`,
      [notificationId, notificationId],
    );
  });
}

/**
 * Deletes the intervals in which a reason recurred without a change of status, if the reason was last given
 * before the cutoff.
 */
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

/** Deletes incidents that ended before the cutoff. */
export function deleteIncidents(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM incidents WHERE id IN (
         SELECT id FROM incidents WHERE closed_at < ? LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** Deletes audit lines that are older than the cutoff. */
export function deleteAuditLines(store: Store, cutoff: number): Promise<number> {
  return store.transaction((tx) =>
    deleted(
      tx,
      `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ${CHUNK_ROWS})`,
      [cutoff],
    ),
  );
}

/** Deletes the regions' absences that ended before the cutoff. */
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

/** The last change of status that a sweep inspected. */
export type ChangeCursor = { readonly at: number; readonly id: number };

/**
 * Deletes changes of status from before the cutoff that no summary needs any more.
 *
 * For each existing monitor, the newest change before the cutoff stays, because it says which status the
 * monitor had at the cutoff. A sweep continues from a cursor, so that it does not read these changes again in
 * each chunk.
 *
 * @param after the last inspected change; null: begin with the oldest change
 * @returns the last change that this call inspected; null: there are no more changes to inspect
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

/**
 * Reads the next old changes. It reads outside the writing transaction, because a change that is obsolete
 * stays obsolete.
 */
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

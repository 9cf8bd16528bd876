import { sql } from 'kysely';
import { appendAgain } from './declaration/changes.ts';
import { StoreError } from './errors.ts';
import { moveNotes } from './export-totals.ts';
import { LEASE_MS, type WriteCount } from './shard-lease.ts';
import type { Store, Transaction } from './store.ts';

/** A shard and its lease. */
export type ShardState = {
  readonly id: number;
  /** The name of the last coordinator that took the lease; empty: no coordinator has. */
  readonly holder: string;
  /** The id of the last coordinator that took the lease; empty: no coordinator has. */
  readonly coordinator: string;
  /** Whether the lease has expired or was given up. */
  readonly isFree: boolean;
  /** Whether the lease is free, or the leader was expected to renew it before now. */
  readonly isLapsing: boolean;
  /** The term of the last leader, and the number of its writes so far. */
  readonly written: WriteCount;
};

export type ShardRow = {
  id: number;
  holder: string;
  coordinator: string;
  term: string;
  writes: number;
  /** How long the lease still lasts, ms; 0 or less: the shard is free. */
  left_ms: number;
};

/**
 * Time after the last renewal of a lease from which the leader is late, ms. A leader renews its lease each second, and
 * with every transaction.
 */
const LAPSING_MS = 1_300;

/** Query: all shards, by ascending id. */
export const SHARDS = `SELECT id, holder, coordinator, term, writes, expires_at - database_now() AS left_ms
  FROM shards ORDER BY id`;

/** All shards, by ascending id. */
export async function shardStates({ work }: Pick<Store, 'work'>): Promise<ShardState[]> {
  const { rows } = await sql<ShardRow>`${sql.raw(SHARDS)}`.execute(work);
  return rows.map(({ id, holder, coordinator, term, writes, left_ms: leftMs }) => ({
    id,
    holder,
    coordinator,
    isFree: leftMs <= 0,
    isLapsing: leftMs <= LEASE_MS - LAPSING_MS,
    written: { term, writes },
  }));
}

/** The ids of the coordinators that have announced themselves within the time of a lease. */
export async function livingCoordinators({ work }: Pick<Store, 'work'>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM coordinators WHERE seen_at > database_now() - ${LEASE_MS}`.execute(work);
  return rows.map(({ id }) => id);
}

/** Announces that the coordinator with this id can lead, and removes announcements older than ten leases. */
export async function announceCoordinator(store: Store, id: string): Promise<void> {
  await store.commit([
    {
      sql: `INSERT INTO coordinators (id, seen_at) VALUES (?, database_now())
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
      rows: [[id]],
    },
    { sql: 'DELETE FROM coordinators WHERE seen_at < database_now() - ?', rows: [[10 * LEASE_MS]] },
  ]);
}

/** Withdraws the announcement of the coordinator with this id. */
export async function withdrawCoordinator(store: Store, id: string): Promise<void> {
  await store.commit([{ sql: 'DELETE FROM coordinators WHERE id = ?', rows: [[id]] }]);
}

/**
 * The number of shards of the database. If the database has
 * no monitors and no leader, it gets the wanted number first.
 *
 * @param wanted null: any number
 * @throws StoreError `wrong-shards` when the database has
 *   another number of shards, and has monitors or a leader
 */
export async function countShards(store: Store, wanted: number | null): Promise<number> {
  const { length: count } = await shardStates(store);
  if (wanted === null || wanted === count) return count;
  return store.transaction(async (tx) => {
    const there = await tx.query<ShardRow>(SHARDS);
    if (there.length === wanted) return wanted;
    const monitors = await tx.query('SELECT 1 FROM monitors LIMIT 1');
    if (monitors.length > 0 || there.some(({ left_ms: leftMs }) => leftMs > 0))
      throw wrongShards(there.length, wanted);
    await replaceShards(tx, wanted);
    return wanted;
  });
}

/** The error when SVC_SHARDS is not the number of shards of the database. */
export function wrongShards(count: number, wanted: number): StoreError {
  return new StoreError(
    'wrong-shards',
    `SVC_SHARDS is ${wanted}, but the database has ${count}: leave the setting out or set it to ${count}; or stop all coordinators and call "npm run svc -- shards ${wanted}"`,
  );
}

/**
 * Moves copied rows to the shards of this database. The database from which they come may have other shards.
 */
export function rehome(store: Store): Promise<void> {
  return store.transaction(async (tx) => moveRows(tx, (await tx.query(SHARDS)).length));
}

/** Moves logged changes and notes of the export to the shards in which their monitors lie. */
export async function moveRows(tx: Transaction, count: number): Promise<void> {
  await appendAgain(tx);
  await moveNotes(tx, count);
}

/** Gives the database this number of shards, without leaders. */
export async function replaceShards(tx: Transaction, count: number): Promise<void> {
  await tx.runEach('DELETE FROM shards', [[]]);
  await tx.runEach(
    "INSERT INTO shards (id, holder, coordinator, term, writes, epoch, expires_at) VALUES (?, '', '', '', 0, 0, 0)",
    Array.from({ length: count }, (_, id) => [id]),
  );
}

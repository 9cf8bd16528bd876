import type { Kysely } from 'kysely';
import { StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import type { RowOutcome, SqlStep, Store, Transaction } from './store.ts';

/*
 * One coordinator leads a shard. The shard's row names the leader. The row has a lease, which expires by
 * the database's clock, and a term, which is drawn at random each time a coordinator takes the lease.
 *
 *     free ── take ──▶ held under a term ── renewed by each write and each second ──▶ held
 *      ▲                 │           │
 *      └──── resign ─────┘           └── not renewed for 3.5 s: the next take gets it
 *
 * Every transaction of a leader (`FencedStore`) renews the lease, and is rolled back if the row has another term.
 * So a leader that was replaced while it was frozen or cut off cannot write, even if it believes
 * that it still leads. An expired lease that no coordinator has taken since is renewed like any other lease.
 *
 * The row also counts the writes under its term. A fail-over to a replica that lagged behind loses
 * the last commits, but the row may still have the leader's term. The memory of this leader is ahead
 * of the database: if it wrote on, its next position in a stream would skip the lost results. So the
 * writes of this leader are refused too, and the next leadership begins with what the database holds.
 */

/** Time after which a lease that is not renewed may be taken, ms. */
export const LEASE_MS = 3_500;

/** A lease that was taken, or is to be taken. `shard` is the id of the shard. */
export type ShardTerm = { readonly shard: number; readonly term: string };

/**
 * The term of a shard's last leader, and the number of its writes. While both stay the same, no leader has changed
 * what the database holds of the shard.
 */
export type WriteCount = { readonly term: string; readonly writes: number };

export type TakenShard = ShardTerm & {
  /** The name of the coordinator, shown to people. */
  readonly holder: string;
  /** The id of the coordinator, see `shards.ts`. */
  readonly coordinator: string;
};

/**
 * Takes the lease of the shard, unless a coordinator holds it. Returns whether the lease was taken.
 *
 * @param isAlone whether no other coordinator can use the database, so that a former holder is gone and its lease
 *   may be taken before it expires
 * @param written what the last leader had written; the lease is taken only if it has not written since; left out:
 *   its writes do not matter
 */
export async function takeShard(
  store: Store,
  { shard, term, holder, coordinator }: TakenShard,
  isAlone: boolean,
  written?: WriteCount,
): Promise<boolean> {
  const unchanged = written === undefined ? '' : ' AND term = ? AND writes = ?';
  const asSeen = written === undefined ? [] : [written.term, written.writes];
  const [taken] = await store.commit([
    {
      sql: `UPDATE shards SET holder = ?, coordinator = ?, term = ?, writes = 0, epoch = epoch + 1,
          expires_at = database_now() + ?
        WHERE id = ? AND (expires_at <= database_now() OR ? = 1)${unchanged}`,
      rows: [[holder, coordinator, term, LEASE_MS, shard, Number(isAlone), ...asSeen]],
    },
  ]);
  return changesOf(taken) === 1;
}

/**
 * Gives the lease up, so that another coordinator may take it at once. Later writes under this term are
 * refused.
 */
export async function resignShard(store: Store, { shard, term }: ShardTerm): Promise<void> {
  await store.commit([
    { sql: "UPDATE shards SET term = '', expires_at = 0 WHERE id = ? AND term = ?", rows: [[shard, term]] },
  ]);
}

/**
 * Returns the step that renews the lease and counts the write. If the row has another term, or fewer
 * writes than the leader knows of, the step violates the constraint `not_leading`. The row of a shard
 * other than 0 is missing if there are fewer shards now. Then the step violates the constraint in the
 * row of shard 0. In all other cases, the step of such a shard does not change the row of shard 0.
 *
 * @param writes number of the leader's writes under this term that are known to be durable
 */
function fenceOf({ shard, term }: ShardTerm, writes: number): SqlStep {
  if (shard === 0) {
    return {
      sql: `UPDATE shards SET term = CASE WHEN term = ? AND writes >= ? THEN term END, writes = writes + 1,
        expires_at = database_now() + ? WHERE id = 0`,
      rows: [[term, writes, LEASE_MS]],
    };
  }
  return {
    sql: `UPDATE shards SET expires_at = CASE WHEN id = 0 THEN expires_at ELSE database_now() + ? END,
      writes = CASE WHEN id = 0 THEN writes ELSE writes + 1 END,
      term = CASE WHEN EXISTS (
        SELECT 1 FROM shards AS held WHERE held.id = ? AND held.term = ? AND held.writes >= ?) THEN term END
      WHERE id IN (0, ?)`,
    rows: [[LEASE_MS, shard, term, writes, shard]],
  };
}

/** Whether the transaction is durable although its answer was lost. */
function isUnanswered(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'store-unanswered';
}

function changesOf(step: Iterable<RowOutcome> | undefined): number {
  return [...(step ?? [])][0]?.changes ?? 0;
}

/** A taken lease, and the functions by which the store informs the holder of the lease. */
export type LeaseHolder = ShardTerm & {
  /** The monotonic clock of the holder, ms. */
  readonly now: () => number;
  /** Called after each renewal, with the instant at which the renewal was begun, on the clock of `now`. */
  readonly onRenewed: (begunAt: number) => void;
  /**
   * Called when a write was refused: another coordinator has taken the shard,
   * the database has lost writes of this leader, or the shard's row is missing.
   */
  readonly onLost: () => void;
};

/** Renews a lease, unless it is lost for the reasons that {@link fenceOf} names. */
const RENEWAL = `UPDATE shards SET writes = writes + 1, expires_at = database_now() + ?
  WHERE id = ? AND term = ? AND writes >= ?`;

/**
 * The store of a leader. Each of its transactions renews the lease, and writes nothing if the lease is lost.
 */
export class FencedStore implements Store {
  readonly read: Kysely<Database>;
  readonly work: Kysely<Database>;
  readonly #store: Store;
  readonly #holder: LeaseHolder;
  /** Number of writes under this term that are known to be durable. */
  #writes = 0;

  constructor(store: Store, holder: LeaseHolder) {
    this.#store = store;
    this.#holder = holder;
    this.read = store.read;
    this.work = store.work;
  }

  get declarations(): number {
    return this.#store.declarations;
  }

  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    return this.#renewing((begin) => this.#store.transaction((tx) => this.#fenced(tx, work, begin)));
  }

  declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    return this.#renewing((begin) => this.#store.declare((tx) => this.#fenced(tx, work, begin)));
  }

  commit(steps: readonly SqlStep[]): Promise<readonly Iterable<RowOutcome>[]> {
    return this.#renewing(async (begin) => {
      begin();
      return (await this.#store.commit([...steps, fenceOf(this.#holder, this.#writes)])).slice(0, -1);
    });
  }

  /**
   * Renews the leases of these stores of one database in one transaction, and tells each holder whether its
   * lease was renewed or is lost.
   *
   * @throws StoreError. No holder is told anything then
   */
  static async renewAll(stores: readonly FencedStore[]): Promise<void> {
    const [first] = stores;
    if (first === undefined) return;
    const rows = stores.map((store) => [LEASE_MS, store.#holder.shard, store.#holder.term, store.#writes]);
    const begunAt = stores.map((store) => store.#holder.now());
    try {
      const [outcomes = []] = await first.#store.commit([{ sql: RENEWAL, rows }]);
      const changes = [...outcomes].map((outcome) => outcome.changes);
      for (const [index, store] of stores.entries()) {
        if (changes[index] !== 1) {
          store.#holder.onLost();
          continue;
        }
        store.#writes += 1;
        store.#holder.onRenewed(begunAt[index] as number);
      }
    } catch (error) {
      if (isUnanswered(error)) for (const store of stores) store.#writes += 1;
      throw error;
    }
  }

  /** Renews the lease. */
  async renew(): Promise<void> {
    await this.commit([]);
  }

  /** Does nothing. The owner of the underlying store closes it. */
  async close(): Promise<void> {}

  /**
   * Runs `work`, and then renews the lease in the same transaction. The lease is renewed at the end, so that
   * the full lease remains after a long transaction. No other coordinator can take the shard meanwhile,
   * because only one transaction runs at a time.
   */
  async #fenced<T>(
    tx: Transaction,
    work: (tx: Transaction) => T | Promise<T>,
    begin: () => void,
  ): Promise<T> {
    const outcome = await work(tx);
    begin();
    const fence = fenceOf(this.#holder, this.#writes);
    await tx.runEach(fence.sql, fence.rows);
    return outcome;
  }

  /**
   * Runs `write`, and calls the holder if the lease was renewed or lost. `write` calls `begin` before it renews
   * the lease.
   */
  async #renewing<T>(write: (begin: () => void) => Promise<T>): Promise<T> {
    const { now, onRenewed, onLost } = this.#holder;
    let begunAt: number | null = null;
    try {
      const outcome = await write(() => {
        begunAt = now();
      });
      this.#writes += 1;
      if (begunAt !== null) onRenewed(begunAt);
      return outcome;
    } catch (error) {
      const code = error instanceof StoreError ? error.code : null;
      if (code === 'not-leading') onLost();
      if (isUnanswered(error)) this.#writes += 1;
      // The fence is the last step. So the constraint may have met rows of a later leader, and this throws instead.
      if (code === 'store-constraint') await this.renew();
      throw error;
    }
  }
}

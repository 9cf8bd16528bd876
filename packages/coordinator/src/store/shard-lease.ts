import { type Kysely, sql } from 'kysely';
import { notLeading, StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import type { RowOutcome, SqlStep, Store, Transaction } from './store.ts';

/*
 * One coordinator leads a shard. The shard's row names the leader. The row has a lease, which expires by the
 * database's clock, and a term, which is drawn at random each time a coordinator takes the lease.
 *
 *     free ── take ──▶ held under a term ── renewed by each write and each second ──▶ held
 *      ▲                 │           │
 *      └──── resign ─────┘           └── not renewed for 3.5 s: the next take gets it
 *
 * Every transaction of a leader renews the lease, and is rolled back if the row has another term. So a leader
 * that was replaced while it was frozen or cut off cannot write, even if it believes that it still leads. An
 * expired lease that nobody has taken is renewed like any other lease.
 *
 * The row also counts the writes under its term. A fail-over to a replica that lagged behind loses the last
 * commits, but the row may still have the leader's term. The memory of this leader is ahead of the database:
 * if it wrote on, its next position in a stream would skip the lost results. So it is refused too, and the
 * next leadership begins with what the database holds.
 */

/** Time after which a lease that is not renewed may be taken, ms. */
export const LEASE_MS = 3_500;

/** The id of the only shard. If there are several shards one day, each will have its own monitors. */
export const ONLY_SHARD = 0;

/** A lease that was taken. */
export type ShardTerm = { readonly shard: number; readonly term: string };

export type TakenShard = ShardTerm & {
  /** The name of the coordinator, shown to people. */
  readonly holder: string;
};

/**
 * Takes the lease of the shard, unless another coordinator holds it. Returns whether the lease was taken.
 *
 * @param isAlone whether no other coordinator can use the database, so that a former holder is gone
 */
export async function takeShard(
  store: Store,
  { shard, term, holder }: TakenShard,
  isAlone: boolean,
): Promise<boolean> {
  const [taken] = await store.commit([
    {
      sql: `INSERT INTO shards (id, holder, term, writes, epoch, expires_at)
        VALUES (?, ?, ?, 0, 1, database_now() + ?)
        ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, term = excluded.term, writes = 0,
          epoch = shards.epoch + 1, expires_at = excluded.expires_at
        WHERE shards.expires_at <= database_now() OR ? = 1`,
      rows: [[shard, holder, term, LEASE_MS, Number(isAlone)]],
    },
  ]);
  return changesOf(taken) === 1;
}

/**
 * Whether no coordinator holds a lease that has not expired, so
 * that {@link takeShard} may succeed. This function only reads.
 */
export async function isShardFree({ work }: Pick<Store, 'work'>): Promise<boolean> {
  const { rows } =
    await sql`SELECT 1 FROM shards WHERE id = ${ONLY_SHARD} AND expires_at > database_now()`.execute(work);
  return rows.length === 0;
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
 * Returns the step that renews the lease and counts the write. If the row has another term, or fewer writes
 * than the leader knows of, the step violates the constraint `not_leading`.
 *
 * @param writes number of the leader's writes under this term that are known to be durable
 */
function fenceOf({ shard, term }: ShardTerm, writes: number): SqlStep {
  return {
    sql: `UPDATE shards SET term = CASE WHEN term = ? AND writes >= ? THEN term END, writes = writes + 1,
      expires_at = database_now() + ? WHERE id = ?`,
    rows: [[term, writes, LEASE_MS, shard]],
  };
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
   * Called when another coordinator has taken the shard, so that
   * the write was refused, and when the shard's row is missing.
   */
  readonly onLost: () => void;
};

/**
 * The store of a leader. Each of its transactions renews the
 * lease, and writes nothing if another coordinator has taken it.
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
      const outcomes = await this.#store.commit([...steps, fenceOf(this.#holder, this.#writes)]);
      // If the row of the shard is missing, the database was restored from a backup made before the first
      // leader, and nobody leads the shard.
      if (changesOf(outcomes.at(-1)) === 0) this.#holder.onLost();
      return outcomes.slice(0, -1);
    });
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
    const [fenced] = await tx.runEach(fence.sql, fence.rows);
    if (fenced?.changes !== 1) throw notLeading();
    return outcome;
  }

  /**
   * Runs `write`, and tells the holder whether the lease was renewed or lost. `write` calls `begin` before it
   * renews the lease.
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
      if (code === 'store-unanswered') this.#writes += 1;
      throw error;
    }
  }
}

import { type Kysely, sql } from 'kysely';
import { notLeading, StoreError } from './errors.ts';
import type { Database } from './schema.ts';
import type { RowOutcome, SqlStep, Store, Transaction } from './store.ts';

/*
 * One coordinator leads a shard. The row of the shard says which: it has a lease that expires by the database's
 * clock, and a term that is drawn anew for each take.
 *
 *     free ── take ──▶ held under a term ── renewed by each write and each second ──▶ held
 *      ▲                 │           │
 *      └──── resign ─────┘           └── not renewed for 3.5 s: the next take gets it
 *
 * Every transaction of a leader renews the lease, and is rolled back where the row has another term. So a
 * leader that was replaced while it was frozen or cut off writes nothing, whatever it believes. A lease that
 * has expired, but that nobody took, is renewed like any other.
 */

/** Time after which a lease that is not renewed may be taken, ms. */
export const LEASE_MS = 3_500;

/** The one shard. Each will have its own monitors when there are several. */
export const ONLY_SHARD = 0;

/** A lease that was taken. */
export type ShardTerm = { readonly shard: number; readonly term: string };

export type TakenShard = ShardTerm & {
  /** The name of the coordinator, for people. */
  readonly holder: string;
};

/**
 * Takes the shard, unless it is held.
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
      sql: `INSERT INTO shards (id, holder, term, epoch, expires_at) VALUES (?, ?, ?, 1, database_now() + ?)
        ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, term = excluded.term,
          epoch = shards.epoch + 1, expires_at = excluded.expires_at
        WHERE shards.expires_at <= database_now() OR ? = 1`,
      rows: [[shard, holder, term, LEASE_MS, Number(isAlone)]],
    },
  ]);
  return changesOf(taken) === 1;
}

/** Whether the lease has expired, so that {@link takeShard} may succeed. It only reads. */
export async function isShardFree({ work }: Pick<Store, 'work'>): Promise<boolean> {
  const { rows } =
    await sql`SELECT 1 FROM shards WHERE id = ${ONLY_SHARD} AND expires_at > database_now()`.execute(work);
  return rows.length === 0;
}

/** Gives the lease up, so that another coordinator may take it at once. Later writes under the term are refused. */
export async function resignShard(store: Store, { shard, term }: ShardTerm): Promise<void> {
  await store.commit([
    { sql: "UPDATE shards SET term = '', expires_at = 0 WHERE id = ? AND term = ?", rows: [[shard, term]] },
  ]);
}

/** Renews the lease, or breaks the constraint `not_leading` where the row has another term. */
function fenceOf({ shard, term }: ShardTerm): SqlStep {
  return {
    sql: `UPDATE shards SET term = CASE WHEN term = ? THEN term END, expires_at = database_now() + ?
      WHERE id = ?`,
    rows: [[term, LEASE_MS, shard]],
  };
}

function changesOf(step: Iterable<RowOutcome> | undefined): number {
  return [...(step ?? [])][0]?.changes ?? 0;
}

/** The holder of a lease, as its store tells it. */
export type LeaseHolder = ShardTerm & {
  /** Monotonic ms. */
  readonly now: () => number;
  /** Called after each renewal with the instant at which it was begun, on the clock of `now`. */
  readonly onRenewed: (begunAt: number) => void;
  /** Called when a write was refused because another coordinator has taken the shard. */
  readonly onLost: () => void;
};

/** The store of a leader: each of its transactions renews the lease, or writes nothing. */
export class FencedStore implements Store {
  readonly read: Kysely<Database>;
  readonly work: Kysely<Database>;
  readonly #store: Store;
  readonly #holder: LeaseHolder;
  readonly #fence: SqlStep;

  constructor(store: Store, holder: LeaseHolder) {
    this.#store = store;
    this.#holder = holder;
    this.#fence = fenceOf(holder);
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
      const outcomes = await this.#store.commit([...steps, this.#fence]);
      // Without its row nobody leads the shard: it was restored from a time before the first leader.
      if (changesOf(outcomes.at(-1)) === 0) this.#holder.onLost();
      return outcomes.slice(0, -1);
    });
  }

  /** Renews the lease. */
  async renew(): Promise<void> {
    await this.commit([]);
  }

  /** The one that opened the store below closes it. */
  async close(): Promise<void> {}

  /**
   * The fence comes last, so that the lease is whole after a long transaction. Nobody can take the shard in
   * between: one transaction runs at a time.
   */
  async #fenced<T>(
    tx: Transaction,
    work: (tx: Transaction) => T | Promise<T>,
    begin: () => void,
  ): Promise<T> {
    const outcome = await work(tx);
    begin();
    const [fenced] = await tx.runEach(this.#fence.sql, this.#fence.rows);
    if (fenced?.changes !== 1) throw notLeading();
    return outcome;
  }

  /** Tells the holder how the write ended. `begin` is called before the lease is renewed. */
  async #renewing<T>(write: (begin: () => void) => Promise<T>): Promise<T> {
    const { now, onRenewed, onLost } = this.#holder;
    let begunAt: number | null = null;
    try {
      const outcome = await write(() => {
        begunAt = now();
      });
      if (begunAt !== null) onRenewed(begunAt);
      return outcome;
    } catch (error) {
      if (error instanceof StoreError && error.code === 'not-leading') onLost();
      throw error;
    }
  }
}

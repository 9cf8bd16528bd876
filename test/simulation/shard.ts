import { DatabaseSync } from 'node:sqlite';
import { isSqliteFailure, StoreError, storeErrorOf } from '@svc/coordinator/store/errors.ts';
import { SHARDS } from '@svc/coordinator/store/migrations/0001-initial.ts';
import { Statements } from '@svc/coordinator/store/sqlite/statements.ts';
import type { RowOutcome, SqlStep, Store } from '@svc/coordinator/store/store.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { FreezableClock } from './freezable-clock.ts';
import type { BatchWrite, CommitBatch, CommitTime } from './slow-store.ts';

/** The row of the shard in the database. */
export type ShardRow = {
  readonly holder: string;
  readonly term: string;
  readonly [column: string]: string | number;
};

/** The step that stands for all writes of a batch. */
type BatchStep = SqlStep & { readonly batch: BatchWrite };

/**
 * The row of the shard in a real SQLite database, whose clock is the virtual
 * clock. The service's own statements run in it. The other rows of a world are
 * in the world's store; they are written at the same instant, or not at all.
 */
export class Shard {
  readonly #sqlite = new DatabaseSync(':memory:');
  readonly #statements = new Statements(this.#sqlite);
  /**
   * Ranges of numbers of the transactions that were lost. Each
   * range has its first number, and the number after its last.
   */
  readonly #lost: (readonly [number, number])[] = [];
  /** Number of transactions so far. */
  transactions = 0;
  /** Whether there was a request or an answer whose effects have not run yet. */
  isBusy = false;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#sqlite.function('database_now', () => clock.monotonic());
    this.#sqlite.exec(SHARDS);
    this.#sqlite.exec("INSERT INTO shards VALUES (0, '', '', '', 0, 0, 0)");
  }

  run({ sql, rows }: SqlStep): RowOutcome[] {
    try {
      const written = this.#statements.runEach(sql, rows);
      return rows.map((_, index) => ({ changes: written[2 * index] ?? 0, id: 0 }));
    } catch (error) {
      throw isSqliteFailure(error) ? storeErrorOf(error) : error;
    }
  }

  /** The row; null: the lease was never taken. */
  get row(): ShardRow | null {
    return (this.#statements.run('SELECT * FROM shards', []).rows[0] as ShardRow | undefined) ?? null;
  }

  /** When the lease expires, ms of the world; negative: the lease was never taken. */
  get expiresAt(): number {
    return Number(this.row?.expires_at ?? -1);
  }

  expire(): void {
    this.#sqlite.exec('UPDATE shards SET expires_at = database_now()');
  }

  /** Loses the transactions from the number `from` on, with their effects on the row. */
  setBack(row: ShardRow | null, from: number): void {
    this.#lost.push([from, this.transactions]);
    this.#sqlite.exec('DELETE FROM shards');
    if (row === null) return;
    const columns = Object.keys(row);
    const marks = columns.map(() => '?').join(', ');
    this.run({
      sql: `INSERT INTO shards (${columns.join(', ')}) VALUES (${marks})`,
      rows: [Object.values(row)],
    });
  }

  isLost(transaction: number): boolean {
    return this.#lost.some(([from, until]) => transaction >= from && transaction < until);
  }

  close(): void {
    this.#sqlite.close();
  }
}

export type ShardStoreParts = {
  readonly shard: Shard;
  /** The clock of the world outside of the process. */
  readonly network: Clock;
  readonly clock: FreezableClock;
  /** Returns the instant until which nothing passes between the process and the database, monotonic ms. */
  readonly cutUntil: () => number;
  /** Returns whether the request with this number is lost if the connection is cut when it is sent. */
  readonly isLostInCut: (request: number) => boolean;
  /** Returns the duration of the transaction with this number, which is no batch. */
  readonly timeOf: (request: number) => CommitTime;
  /**
   * Called right before a transaction that takes the lease or
   * writes a batch. The returned function is called right after it.
   */
  readonly onWrite: (writer: ShardStore, isTake: boolean) => () => void;
};

/** The database as one holder of the lease reaches it. It runs only whole transactions. */
export class ShardStore implements Store {
  readonly declarations = 0;
  /** Nothing is read here. */
  readonly read = null as never;
  readonly work = null as never;
  readonly #parts: ShardStoreParts;
  #requests = 0;
  /** The term of the lease that was taken through this store; empty: none was taken. */
  term = '';

  constructor(parts: ShardStoreParts) {
    this.#parts = parts;
  }

  async commit(steps: readonly SqlStep[]): Promise<readonly Iterable<RowOutcome>[]> {
    const { shard, network, clock, cutUntil, isLostInCut, timeOf } = this.#parts;
    const request = this.#requests++;
    const batch = steps.find(isBatch)?.batch ?? null;
    const { writeMs, answerMs } = batch === null ? timeOf(request) : { writeMs: 0, answerMs: 0 };
    const travel = batch?.wait ?? ((ms: number) => this.#pause(ms, network));
    shard.isBusy = true;
    if (batch !== null) await batch.before();
    else if (writeMs > 0) await travel(writeMs);
    // Answers that waited while the process stood still arrive before the answer to a new request.
    const caughtUpMs = clock.caughtUpAt - network.monotonic();
    if (caughtUpMs >= 0) await travel(caughtUpMs + 1);
    while (cutUntil() > network.monotonic()) {
      await travel(cutUntil() - network.monotonic());
      if (isLostInCut(request)) throw new StoreError('store-writer-lost', 'the connection was lost');
    }
    const transaction = shard.transactions;
    const outcomes = await this.#run(steps, batch);
    shard.isBusy = true;
    if (batch !== null) await batch.after();
    else if (answerMs > 0) await this.#pause(answerMs, clock);
    // The recorder must know that its batch waits, or the instant would never end.
    if (clock.isFrozen) await (batch?.waitFor(clock) ?? this.#pause(0, clock));
    shard.isBusy = true;
    if (shard.isLost(transaction)) throw new StoreError('store-writer-lost', 'the database lost it');
    return outcomes;
  }

  /** Runs the steps. All writes happen before this function first waits. */
  async #run(steps: readonly SqlStep[], batch: BatchWrite | null): Promise<readonly Iterable<RowOutcome>[]> {
    const { shard, onWrite } = this.#parts;
    const [first] = steps;
    const isTake = first?.sql.startsWith('UPDATE shards SET holder') === true;
    const written = isTake || batch !== null ? onWrite(this, isTake) : () => {};
    const outcomes: RowOutcome[][] = steps.map((step) => (isBatch(step) ? [] : shard.run(step)));
    shard.transactions += 1;
    if (isTake && outcomes[0]?.[0]?.changes !== 1) return outcomes;
    if (isTake) this.term = String(first?.rows[0]?.[2]);
    if (batch === null) {
      written();
      return outcomes;
    }
    const writing = batch.write();
    written();
    const queued = (await writing).map((isQueued) => ({ changes: Number(isQueued), id: 0 }));
    return steps.map((step, index) => (isBatch(step) ? queued : (outcomes[index] ?? [])));
  }

  #pause(ms: number, clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      clock.after(ms, () => {
        this.#parts.shard.isBusy = true;
        resolve();
      });
    });
  }

  transaction(): never {
    throw new TypeError('only whole transactions run here');
  }

  declare(): never {
    return this.transaction();
  }

  async close(): Promise<void> {}
}

function isBatch(step: SqlStep): step is BatchStep {
  return 'batch' in step;
}

/**
 * Returns the function that commits batches through the store
 * of a lease, so that a lost lease prevents the commit.
 */
export function commitThrough(store: Pick<Store, 'commit'>): CommitBatch {
  return async (batch) => {
    const step: BatchStep = { sql: '', rows: [], batch };
    const [queued] = await store.commit([step]);
    return [...(queued ?? [])].map(({ changes }) => changes > 0);
  };
}

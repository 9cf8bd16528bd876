import { setImmediate } from 'node:timers/promises';
import type { Logger } from '@svc/shared/log.ts';
import type { Kysely } from 'kysely';
import { closedError, StoreError } from './errors.ts';
import type { runTransaction } from './open-transaction.ts';
import type { Database } from './schema.ts';
import type { RowOutcome, SqlStep, Store, Transaction } from './store.ts';

/**
 * Maximum number of transactions that may wait. While the disk stalls, each waiting transaction keeps an API
 * request and its body in memory.
 */
export const MAX_WAITING_TRANSACTIONS = 1_000;

/**
 * Maximum time for which tasks after a commit block the thread before the event loop gets a turn, ms. A
 * single task is not interrupted.
 */
const TURN_MS = 10;

/** Maximum number of queries of one reader that may wait. A page makes a few queries at a time. */
export const MAX_WAITING_READS = 1_000;

/** The part of a store that writes. The store runs one transaction at a time on it. */
export type StoreWriter = {
  /** Runs `work` in a transaction, see {@link runTransaction}. */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): ReturnType<typeof runTransaction<T>>;
  /** Runs the steps as one transaction. */
  commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]>;
  /** Calls `listener` each time the database could not be reached. A writer of a local file has no such method. */
  onUnreachable?(listener: (error: StoreError) => void): void;
  close(): Promise<void>;
};

/** A transaction that waits for its turn. */
type Waiting = { readonly run: () => Promise<void>; readonly reject: (error: StoreError) => void };

/** A part of a store that reads. It refuses queries while {@link MAX_WAITING_READS} queries wait. */
export type StoreReader = {
  readonly db: Kysely<Database>;
  /** Rejects waiting queries with `store-closed`, and waits for running queries. */
  close(): Promise<void>;
};

type Parts = {
  readonly writer: StoreWriter;
  readonly reader: StoreReader;
  /** The reader for {@link Store.work}. */
  readonly workReader: StoreReader;
  /** Releases the lock that keeps other coordinators from using an SQLite file. PostgreSQL has no such lock. */
  readonly unlock: () => void;
  readonly log: Logger;
};

/**
 * A {@link Store} made of one writer and two readers.
 *
 * One transaction is written at a time, in the order of the calls. Only a transaction of
 * {@link commit} overtakes waiting transactions, so that a flood of requests, or a queue behind a
 * stalled disk, does not delay verdicts and alerts. After each transaction of {@link commit} a
 * waiting transaction has its turn. Otherwise, while the database refuses each write only after
 * seconds, the renewals of the lease alone would keep the others waiting for ever.
 *
 * When the database cannot be reached, all waiting transactions fail. Each of them would wait as long again, or until the
 * writer has learnt what became of a commit, which takes as long as the database is away.
 */
export class SerialStore implements Store {
  readonly read: Kysely<Database>;
  readonly work: Kysely<Database>;
  readonly #parts: Parts;
  readonly #urgent: Waiting[] = [];
  readonly #waiting: Waiting[] = [];
  /** What runs when nothing else waits: the closing. */
  readonly #last: Waiting[] = [];
  #isWriting = false;
  #declarations = 0;
  #closing: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.read = parts.reader.db;
    this.work = parts.workReader.db;
    parts.writer.onUnreachable?.((error) => {
      for (const { reject } of [...this.#urgent.splice(0), ...this.#waiting.splice(0)]) reject(error);
    });
  }

  async transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    if (this.#closing !== null) throw closedError();
    if (this.#waiting.length >= MAX_WAITING_TRANSACTIONS) throw overloaded();
    return this.#alone(this.#waiting, async () => {
      const { outcome, tasks } = await this.#parts.writer.transaction(work);
      await this.#runTasks(tasks);
      return outcome;
    });
  }

  async declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    try {
      return await this.transaction(work);
    } finally {
      // Failed transactions count too, because a commit whose answer was lost may be durable.
      this.#declarations += 1;
    }
  }

  get declarations(): number {
    return this.#declarations;
  }

  async commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    if (this.#closing !== null) throw closedError();
    return this.#alone(this.#urgent, () => this.#parts.writer.commit(steps));
  }

  close(): Promise<void> {
    this.#closing ??= this.#alone(this.#last, () => this.#close());
    return this.#closing;
  }

  /**
   * Runs `work` when no other work runs, in the order of the queue. The next
   * work in the queue runs even if this work fails.
   */
  #alone<T>(queue: Waiting[], work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({ run: () => work().then(resolve, reject), reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    let mayOvertake = true;
    const next = () => {
      const overtaking = mayOvertake || this.#waiting.length === 0 ? this.#urgent.shift() : undefined;
      mayOvertake = overtaking === undefined;
      return overtaking ?? this.#waiting.shift() ?? this.#last.shift();
    };
    for (let work = next(); work !== undefined; work = next()) await work.run();
    this.#isWriting = false;
  }

  async #runTasks(tasks: readonly (() => void)[]): Promise<void> {
    let turnBegan = performance.now();
    for (const task of tasks) {
      if (performance.now() - turnBegan > TURN_MS) {
        await setImmediate();
        turnBegan = performance.now();
      }
      try {
        task();
      } catch (error) {
        this.#parts.log.error({ error }, 'a task after a commit failed: memory may differ from the database');
      }
    }
  }

  async #close(): Promise<void> {
    const { writer, reader, workReader, unlock } = this.#parts;
    await Promise.all([reader.close(), workReader.close()]);
    // The writer closes last. When the last connection to an SQLite file closes, SQLite moves the journal
    // into the file, and removes the journal.
    await writer.close().finally(unlock);
  }
}

/** The error of a query that is refused because too many queries wait. */
export function tooManyReads(): StoreError {
  const message = `the database has ${MAX_WAITING_READS} waiting reads, the most it takes: try again later`;
  return new StoreError('store-overloaded', message);
}

function overloaded(): StoreError {
  const message = `the database has ${MAX_WAITING_TRANSACTIONS} waiting transactions, the most it takes: try again later`;
  return new StoreError('store-overloaded', message);
}

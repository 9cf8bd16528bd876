import { setImmediate } from 'node:timers/promises';
import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import { closedError } from './errors.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Reader } from './reader.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';
import type { RowOutcome, SqlStep, Store, Transaction } from './store.ts';
import { WriteQueue } from './write-queue.ts';
import type { Writer } from './writer.ts';

/** Longest time that tasks after a commit hold the thread before other events get a turn, ms. */
const TURN_MS = 10;

type Parts = {
  readonly writer: Writer;
  readonly reader: Reader;
  /** For `work`. */
  readonly workReader: Reader;
  /** Releases the lock of the file. */
  readonly unlock: () => void;
  readonly log: Logger;
};

/** {@link Store} over one SQLite file; made by `openStore`. */
export class SqliteStore implements Store {
  readonly read: Kysely<Database>;
  readonly work: Kysely<Database>;
  readonly #parts: Parts;
  readonly #writes = new WriteQueue();
  #declarations = 0;
  #closing: Promise<void> | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.read = queriesBy(parts.reader);
    this.work = queriesBy(parts.workReader);
  }

  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    if (this.#closing !== null) return Promise.reject(closedError());
    return this.#writes.runIfRoom(() => this.#transact(work));
  }

  async declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    try {
      return await this.transaction(work);
    } finally {
      // Also after a failure: a commit whose answer is lost may be durable.
      this.#declarations += 1;
    }
  }

  get declarations(): number {
    return this.#declarations;
  }

  commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    if (this.#closing !== null) return Promise.reject(closedError());
    return this.#writes.runUrgent(() => this.#parts.writer.commit(steps));
  }

  close(): Promise<void> {
    this.#closing ??= this.#writes.run(() => this.#close());
    return this.#closing;
  }

  async #transact<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const transaction = await this.#parts.writer.begin();
    let outcome: T;
    let tasks: readonly (() => void)[];
    try {
      outcome = await work(transaction);
      tasks = await transaction.commit();
    } catch (error) {
      await this.#rollBack(transaction);
      throw error;
    }
    await this.#runTasks(tasks);
    return outcome;
  }

  async #rollBack(transaction: OpenTransaction): Promise<void> {
    try {
      await transaction.rollBack();
    } catch (error) {
      // The caller gets the error that made the transaction fail. If this failure lasts, the next transaction
      // fails.
      this.#parts.log.error({ error }, 'cannot roll back a transaction');
    }
  }

  async #runTasks(tasks: readonly (() => void)[]): Promise<void> {
    let turnBegan = performance.now();
    for (const task of tasks) {
      if (performance.now() - turnBegan > TURN_MS) {
        await setImmediate();
        turnBegan = performance.now();
      }
      this.#runTask(task);
    }
  }

  #runTask(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#parts.log.error({ error }, 'a task after a commit failed: memory may differ from the database');
    }
  }

  async #close(): Promise<void> {
    await Promise.all([this.#parts.reader.close(), this.#parts.workReader.close()]);
    // After the reader: the last connection moves the journal into the file and removes it.
    await this.#parts.writer.close().finally(this.#parts.unlock);
  }
}

function queriesBy(reader: Reader): Kysely<Database> {
  const read: Execute = async (sql, parameters) => ({
    rows: await reader.query(sql, parameters),
    changes: 0,
    lastInsertRowid: 0,
  });
  return new Kysely({ dialect: sqliteDialect(read) });
}

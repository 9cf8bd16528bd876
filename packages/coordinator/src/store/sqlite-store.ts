import { open } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { systemClock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import { Checkpoints } from './checkpoints.ts';
import { isSqliteFailure, StoreError, toStoreError } from './errors.ts';
import { Mutex } from './mutex.ts';
import type { Reader } from './reader.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';
import type { SqlValue, Store, Transaction, Written } from './store.ts';

/** ms that a transaction waits for another program's lock (a backup, a shell) before it fails as `store-busy`. */
const BUSY_LIMIT_MS = 5_000;
const BUSY_RETRY_MS = 25;

/** ms that tasks after a commit may hold the thread. */
const TURN_MS = 10;

/** ms from which on a transaction has written so much that its COMMIT alone would hold the thread. */
const LONG_TRANSACTION_MS = 100;

type Parts = {
  readonly path: string;
  /** The writing connection. */
  readonly sqlite: DatabaseSync;
  /** Runs a statement on it. */
  readonly write: Execute;
  readonly reader: Reader;
  /** Gives the file free for other processes. */
  readonly unlock: () => void;
  readonly log: Logger;
};

/** {@link Store} over one SQLite file; made by `openStore`. */
export class SqliteStore implements Store {
  readonly read: Kysely<Database>;
  readonly #write: Kysely<Database>;
  readonly #parts: Parts;
  readonly #sqlite: DatabaseSync;
  readonly #checkpoints: Checkpoints;
  readonly #writers = new Mutex();
  #closing: Promise<void> | null = null;

  constructor(parts: Parts) {
    const { sqlite, reader, log } = parts;
    this.#parts = parts;
    this.#sqlite = sqlite;
    this.#checkpoints = new Checkpoints({
      checkpoint: () => reader.checkpoint(),
      writers: this.#writers,
      // Work of the disk and not behaviour: real time also where tests stop theirs.
      clock: systemClock,
      log,
    });
    const write: Execute = async (sql, parameters) => {
      if (sqlite.isTransaction) return parts.write(sql, parameters);
      throw new StoreError('store-error', 'database: written outside a transaction');
    };
    const read: Execute = async (sql, parameters) => ({
      rows: await reader.query(sql, parameters),
      changes: 0,
      lastInsertRowid: 0,
    });
    this.#write = new Kysely({ dialect: sqliteDialect(write) });
    this.read = new Kysely({ dialect: sqliteDialect(read) });
  }

  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    return this.#writers.run(() => this.#transact(work));
  }

  /** Waits for the transactions that were asked for before; later ones and all reads fail with `store-closed`. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #transact<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const afterCommit: (() => void)[] = [];
    const tx: Transaction = {
      db: this.#write,
      sqlite: this.#sqlite,
      runEach: async (sql, rows) => {
        const written: Written[] = [];
        for (const row of rows) written.push(await this.#parts.write(sql, row));
        return written;
      },
      query: async <R>(sql: string, parameters: readonly SqlValue[] = []) =>
        (await this.#parts.write(sql, parameters)).rows as R[],
      onCommit: (task) => {
        afterCommit.push(task);
      },
    };
    let outcome: T;
    try {
      await this.#begin();
      const began = performance.now();
      outcome = await work(tx);
      if (performance.now() - began > LONG_TRANSACTION_MS) await this.#syncJournal();
      this.#sqlite.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      throw toStoreError(error);
    }
    this.#checkpoints.committed();
    await this.#runTasks(afterCommit);
    return outcome;
  }

  async #begin(): Promise<void> {
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (;;) {
      if (!this.#sqlite.isOpen) throw new StoreError('store-closed', 'database: it is closed');
      try {
        this.#sqlite.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        const isBusy = isSqliteFailure(error) && (error.errcode & 0xff) === 5;
        if (!isBusy || performance.now() >= deadline) throw error;
        await delay(BUSY_RETRY_MS);
      }
    }
  }

  /**
   * Has the system write out, off this thread, what a long transaction has put into the journal so far:
   * COMMIT syncs the journal itself, and would hold the thread for all of it.
   */
  async #syncJournal(): Promise<void> {
    try {
      const journal = await open(`${this.#parts.path}-wal`, 'r+');
      await journal.datasync().finally(() => journal.close());
    } catch (error) {
      // COMMIT decides whether the disk works; this only spares it time.
      this.#parts.log.debug({ error }, 'the journal could not be synced ahead of a commit');
    }
  }

  /** Some failures (a full disk) have rolled back already. */
  #rollBack(): void {
    if (!this.#sqlite.isOpen || !this.#sqlite.isTransaction) return;
    try {
      this.#sqlite.exec('ROLLBACK');
    } catch (error) {
      // What made the transaction fail is told to its caller; the next BEGIN will fail if this lasts.
      this.#parts.log.error({ error }, 'a transaction could not be rolled back');
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
    await this.#checkpoints.stop();
    await this.#writers.run(async () => {
      await this.#parts.reader.close();
      // The last connection moves the journal into the file and removes it.
      this.#sqlite.close();
      this.#parts.unlock();
    });
  }
}

import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { systemClock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import { Checkpoints } from './checkpoints.ts';
import { isSqliteFailure, StoreError, toStoreError } from './errors.ts';
import { lockDatabaseFile } from './file-lock.ts';
import { migrate } from './migrate.ts';
import { Mutex } from './mutex.ts';
import { Reader } from './reader.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';
import { Statements } from './statements.ts';
import type { Store, Transaction } from './store.ts';

/** ms that a transaction waits for another program's lock (a backup, a shell) before it fails as `store-busy`. */
const BUSY_LIMIT_MS = 5_000;
const BUSY_RETRY_MS = 25;

/** ms that tasks after a commit may hold the thread. */
const TURN_MS = 10;

/**
 * Opens the SQLite file at `path`, makes it when it is not there, and brings it up to date.
 *
 * @throws StoreError `store-in-use`, `store-newer`, `store-foreign`, or what SQLite answered
 */
export async function openStore({ path, log }: { path: string; log: Logger }): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = lockDatabaseFile(path);
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = openWriting(path);
    const statements = new Statements(sqlite);
    const applied = await migrate(async (text, parameters) => run(statements, text, parameters), path);
    if (applied.length > 0) log.info({ path, migrations: applied }, 'database brought up to date');
    return new SqliteStore(sqlite, statements, new Reader(path, log), unlock, log);
  } catch (error) {
    sqlite?.close();
    unlock();
    throw toStoreError(error);
  }
}

function openWriting(path: string): DatabaseSync {
  // SQLite gives the journal and its index the mode of the database file.
  closeSync(openSync(path, 'a', 0o600));
  // Waiting for a lock blocks the thread, so SQLite waits shortly and `begin` waits the rest.
  const sqlite = new DatabaseSync(path, { timeout: 10, enableForeignKeyConstraints: true });
  try {
    // Checkpoints are the reading thread's; the limit cuts the journal when it starts anew.
    sqlite.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = 16777216;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY`);
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function run(statements: Statements, sql: string, parameters: readonly unknown[]) {
  try {
    return statements.run(sql, parameters);
  } catch (error) {
    throw toStoreError(error);
  }
}

class SqliteStore implements Store {
  readonly read: Kysely<Database>;
  readonly #write: Kysely<Database>;
  readonly #sqlite: DatabaseSync;
  readonly #reader: Reader;
  readonly #checkpoints: Checkpoints;
  readonly #writers = new Mutex();
  readonly #unlock: () => void;
  readonly #log: Logger;
  #closing: Promise<void> | null = null;

  constructor(sqlite: DatabaseSync, statements: Statements, reader: Reader, unlock: () => void, log: Logger) {
    this.#sqlite = sqlite;
    this.#reader = reader;
    this.#unlock = unlock;
    this.#log = log;
    this.#checkpoints = new Checkpoints({
      checkpoint: () => reader.checkpoint(),
      writers: this.#writers,
      // Work of the disk and not behaviour: real time also where tests stop theirs.
      clock: systemClock,
      log,
    });
    const write: Execute = async (sql, parameters) => {
      if (!sqlite.isTransaction)
        throw new StoreError('store-error', 'database: written outside a transaction');
      return run(statements, sql, parameters);
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
      onCommit: (task) => {
        afterCommit.push(task);
      },
    };
    let outcome: T;
    try {
      await this.#begin();
      outcome = await work(tx);
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

  /** Some failures (a full disk) have rolled back already. */
  #rollBack(): void {
    if (!this.#sqlite.isOpen || !this.#sqlite.isTransaction) return;
    this.#sqlite.exec('ROLLBACK');
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
      this.#log.error({ error }, 'a task after a commit failed: memory may differ from the database');
    }
  }

  async #close(): Promise<void> {
    await this.#checkpoints.stop();
    await this.#writers.run(async () => {
      await this.#reader.close();
      // The last connection moves the journal into the file and removes it.
      this.#sqlite.close();
      this.#unlock();
    });
  }
}

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@svc/shared/clock.ts';
import type { SqlStep } from '../store.ts';
import { type CheckpointRow, Checkpoints, RESTART_WAIT_MS } from './checkpoints.ts';
import { type PackedWritten, registerSqlFunctions, Statements } from './statements.ts';
import {
  failureOf,
  type Numbered,
  replyTo,
  type ServedPort,
  type WriterAnswer,
  type WriterData,
  type WriterNotice,
  type WriterRequest,
} from './thread-protocol.ts';

/**
 * Longest wait of a transaction for another program's lock on the file (a backup, a shell), ms. After this time, the
 * transaction fails with `store-busy`. The wait blocks the writing thread. (For a lock on the journal's index, SQLite
 * itself waits up to 10 s.)
 */
export const BUSY_LIMIT_MS = 5_000;

/**
 * Answers the requests of `port`, in their order, on one connection that writes.
 *
 * @returns a function that closes the connection
 */
export function serveWrites(port: ServedPort, { path, commits }: WriterData, clock: Clock): () => void {
  const durable = new Int32Array(commits);
  const requests = new WriteRequests({
    path,
    onDurable: () => Atomics.add(durable, 0, 1),
    onCheckpointFailure: (error) =>
      port.postMessage({ checkpointFailed: failureOf(error) } satisfies WriterNotice),
    clock,
  });

  port.on('message', (message: Numbered<WriterRequest>) => {
    port.postMessage(replyTo(message, (request) => requests.answer(request)));
    requests.afterAnswer();
  });
  return () => void requests.answer({ kind: 'close' });
}

/** A connection that writes, with its prepared statements. */
type WriteConnection = { readonly sqlite: DatabaseSync; readonly statements: Statements };

/** Opens the file at `path` for writing. If there is no file, it is created. Error messages name the file. */
function openWriteConnection(path: string): WriteConnection {
  let sqlite: DatabaseSync | undefined;
  try {
    // SQLite gives the journal and its index the mode of the database file.
    closeSync(openSync(path, 'a', 0o600));
    sqlite = new DatabaseSync(path, { timeout: BUSY_LIMIT_MS, enableForeignKeyConstraints: true });
    // secure_delete: SQLite overwrites deleted content in pages that it writes anyway, so that few secrets
    // stay (`overwriteFreed` in `dialect.ts`). wal_autocheckpoint: checkpoints run between transactions, not
    // inside a commit. journal_size_limit: a journal that starts again is truncated to 16 MiB.
    sqlite.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = 16777216;
      PRAGMA cache_size = -8192;
      PRAGMA secure_delete = FAST;
      PRAGMA temp_store = MEMORY`);
    registerSqlFunctions(sqlite);
    return { sqlite, statements: new Statements(sqlite) };
  } catch (error) {
    sqlite?.close();
    if (error instanceof Error && !error.message.includes(path)) error.message = `${path}: ${error.message}`;
    throw error;
  }
}

type Parts = {
  readonly path: string;
  /** Called after each durable commit. It must not allocate: memory may be at its limit. */
  readonly onDurable: () => void;
  readonly onCheckpointFailure: (error: unknown) => void;
  readonly clock: Clock;
};

/**
 * Carries out the requests to the writing thread on its one connection. The
 * first request that needs the connection opens it.
 */
class WriteRequests {
  readonly #parts: Parts;
  readonly #checkpoints: Checkpoints;
  #connection: WriteConnection | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#checkpoints = new Checkpoints({
      checkpoint: (mode) => this.#checkpoint(mode),
      isInTransaction: () => this.#connection?.sqlite.isTransaction === true,
      onFailure: parts.onCheckpointFailure,
      clock: parts.clock,
    });
  }

  /**
   * @throws SQLite's error. After a failed `begin`, `commit` or `script`, no transaction is open
   */
  answer(request: WriterRequest): WriterAnswer {
    switch (request.kind) {
      case 'run':
        return this.#opened().statements.run(request.sql, request.parameters);
      case 'each':
        return this.#opened().statements.runEach(request.sql, request.rows);
      case 'begin':
        return this.#begin();
      case 'commit':
        return this.#commit();
      case 'rollback':
        return this.#rollBack();
      case 'script':
        return this.#script(request.steps);
      case 'close':
        return this.#close();
      default:
        return request satisfies never;
    }
  }

  /**
   * Runs a checkpoint if one is due. Call this after the answer was sent, so that the answer does not wait for the
   * checkpoint.
   */
  afterAnswer(): void {
    this.#checkpoints.runIfDue();
  }

  #opened(): WriteConnection {
    this.#connection ??= openWriteConnection(this.#parts.path);
    return this.#connection;
  }

  #begin(): null {
    this.#opened().sqlite.exec('BEGIN IMMEDIATE');
    return null;
  }

  #commit(): null {
    try {
      this.#opened().sqlite.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    this.#parts.onDurable();
    this.#checkpoints.scheduleAfterCommit();
    return null;
  }

  #script(steps: readonly SqlStep[]): PackedWritten[] {
    this.#begin();
    try {
      const { statements } = this.#opened();
      const written = steps.map(({ sql, rows }) => statements.runEach(sql, rows));
      this.#commit();
      return written;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /**
   * Does nothing if no transaction is open, because SQLite rolls back
   * by itself after some failures (a full disk).
   */
  #rollBack(): null {
    const sqlite = this.#connection?.sqlite;
    if (sqlite === undefined || !sqlite.isTransaction) return null;
    try {
      sqlite.exec('ROLLBACK');
    } catch {
      // Closing the connection rolls back. The caller gets the error that made the transaction fail.
      this.#connection = null;
      sqlite.close();
    }
    return null;
  }

  #close(): null {
    this.#checkpoints.stop();
    // When the last connection to the file closes, SQLite moves the journal into
    // the database file, and removes the journal.
    this.#connection?.sqlite.close();
    this.#connection = null;
    return null;
  }

  #checkpoint(mode: 'PASSIVE' | 'RESTART'): CheckpointRow {
    const { sqlite } = this.#opened();
    sqlite.exec(`PRAGMA busy_timeout = ${RESTART_WAIT_MS}`);
    try {
      return sqlite.prepare(`PRAGMA wal_checkpoint(${mode})`).get() as CheckpointRow;
    } finally {
      sqlite.exec(`PRAGMA busy_timeout = ${BUSY_LIMIT_MS}`);
    }
  }
}

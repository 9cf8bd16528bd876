import type { Clock } from '@svc/shared/clock.ts';
import { type CheckpointRow, Checkpoints, RESTART_WAIT_MS } from './checkpoints.ts';
import type { PackedWritten } from './statements.ts';
import type { SqlStep } from './store.ts';
import { BUSY_LIMIT_MS, openWriteConnection, type WriteConnection } from './write-connection.ts';
import type { WriterAnswer, WriterRequest } from './write-protocol.ts';

type Parts = {
  readonly path: string;
  /** Called after each durable commit. It must not allocate: memory may be at its limit. */
  readonly onDurable: () => void;
  readonly onCheckpointFailure: (error: unknown) => void;
  readonly clock: Clock;
};

/**
 * The work of the writing thread: it carries out requests on its one connection, which the first request
 * opens. A failed transaction stays failed until it is rolled back: its later statements and its commit fail
 * with the same error.
 */
export class WriteRequests {
  readonly #parts: Parts;
  readonly #checkpoints: Checkpoints;
  #connection: WriteConnection | null = null;
  /** The error of the open transaction. */
  #failed: { readonly error: unknown } | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#checkpoints = new Checkpoints({
      checkpoint: (mode) => this.#checkpoint(mode),
      isInTransaction: () => this.#connection?.sqlite.isTransaction === true,
      onFailure: parts.onCheckpointFailure,
      clock: parts.clock,
    });
  }

  /** @throws SQLite's error; a failed `begin`, `commit` or `script` is rolled back by then */
  answer(request: WriterRequest): WriterAnswer {
    switch (request.kind) {
      case 'run':
        return this.#opened().statements.run(request.sql, request.parameters);
      case 'begin':
        return this.#begin();
      case 'statement':
        return this.#inTransaction(({ statements }) => statements.run(request.sql, request.parameters));
      case 'each':
        return this.#inTransaction(({ statements }) => statements.runEach(request.sql, request.rows));
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

  /** Runs long work that no caller waits for. To be called when an answer is on its way. */
  afterAnswer(): void {
    this.#checkpoints.runIfDue();
  }

  #opened(): WriteConnection {
    this.#connection ??= openWriteConnection(this.#parts.path);
    return this.#connection;
  }

  #begin(): null {
    const { sqlite } = this.#opened();
    sqlite.exec('BEGIN IMMEDIATE');
    this.#failed = null;
    return null;
  }

  #inTransaction<T>(work: (connection: WriteConnection) => T): T {
    if (this.#failed !== null) throw this.#failed.error;
    const connection = this.#opened();
    if (!connection.sqlite.isTransaction) throw new TypeError('no transaction is open');
    try {
      return work(connection);
    } catch (error) {
      this.#failed = { error };
      throw error;
    }
  }

  #commit(): null {
    try {
      this.#inTransaction(({ sqlite }) => sqlite.exec('COMMIT'));
    } catch (error) {
      this.#rollBack();
      throw error;
    }
    this.#parts.onDurable();
    this.#checkpoints.committed();
    return null;
  }

  #script(steps: readonly SqlStep[]): PackedWritten[] {
    this.#begin();
    try {
      const written = this.#inTransaction(({ statements }) =>
        steps.map(({ sql, rows }) => statements.runEach(sql, rows)),
      );
      this.#commit();
      return written;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /**
   * Does nothing where no transaction is open: SQLite rolls back by itself after some failures (a full disk).
   */
  #rollBack(): null {
    this.#failed = null;
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
    // The last connection moves the journal into the file and removes it.
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

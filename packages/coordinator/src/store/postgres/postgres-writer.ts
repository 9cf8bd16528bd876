import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import pg from 'pg';
import { closedError, StoreError } from '../errors.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import type { Execute } from '../one-connection.ts';
import { type BegunConnection, runTransaction } from '../open-transaction.ts';
import type { StoreWriter } from '../serial-store.ts';
import type { RowOutcome, SqlStep, Transaction } from '../store.ts';
import { Connection, clientSettings, type Dialled, LOCK_LIMIT_MS } from './connection.ts';
import { postgresDialect, WRITER_LOCK } from './postgres-dialect.ts';
import { isConnectionLost, isReadOnly, lostError, NEWER, postgresErrorOf } from './postgres-errors.ts';

/** The oldest supported version of PostgreSQL, in the form of `server_version_num`: 15. */
const OLDEST_VERSION = 150_000;

/** Time between two tries to take the lock of the process, or to learn whether a commit was durable, ms. */
const AGAIN_MS = 250;

const KNOWN_MIGRATIONS = Object.keys(MIGRATIONS)
  .map((name) => `'${name}'`)
  .join();

/**
 * Begins a transaction, and waits until no other transaction of any coordinator and no migration runs, at most
 * {@link LOCK_LIMIT_MS}. The last step fails if the database has a migration that this version does not know, because
 * the tables may have another meaning then.
 */
const BEGIN: readonly SqlStep[] = [
  { sql: 'BEGIN', rows: [[]] },
  { sql: 'SELECT pg_advisory_xact_lock(CAST(? AS bigint))', rows: [[WRITER_LOCK]] },
  {
    sql: `SELECT current_setting('${NEWER}') FROM kysely_migration WHERE name NOT IN (${KNOWN_MIGRATIONS})`,
    rows: [[]],
  },
];

const WRITE_MARK = `INSERT INTO last_commits (process, mark) VALUES (?, ?)
  ON CONFLICT (process) DO UPDATE SET mark = excluded.mark, at = clock_timestamp()`;
/** Deletes marks of commits after 30 days. A process asks for the mark of its last commit long before that. */
const FORGET_MARKS = "DELETE FROM last_commits WHERE at < clock_timestamp() - interval '30 days'";

type Parts = {
  readonly url: Dialled['url'];
  /** Called when the connection has ended, or the server has become read-only. */
  readonly onLost: () => void;
  readonly log: Logger;
};

/**
 * Writes through one connection. Each transaction first takes a lock and holds it to its end. So only one
 * transaction of all coordinators runs at a time, as with SQLite. (The fence of `shard-lease.ts` refuses
 * writes of coordinators that do not lead.)
 *
 * Each transaction also writes a mark of its own into the row of its process. When the connection ends before
 * the answer to a commit, the next connection reads the mark, and so learns whether the transaction is
 * durable. Each connection also holds the lock of its process, for as long as the connection lives. So the
 * next connection is used only after the server has ended the former connection, when none of its statements
 * runs any more.
 */
export class PostgresWriter implements StoreWriter {
  readonly #parts: Parts;
  /** The id of this writer, drawn at random. It is also the key of the lock of the process. */
  readonly #process = randomBytes(8).readBigInt64BE().toString();
  readonly #stopping = new AbortController();
  #client: pg.Client | null = null;
  #connection: Connection | null = null;
  #unreachable: (error: StoreError) => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Runs a statement outside of {@link transaction} and {@link commit}: for migrations, and for the marks of commits.
   */
  readonly run: Execute = async (sql, parameters) => {
    const connection = await this.#connected();
    return this.#watched(connection, () => connection.run(sql, parameters));
  };

  async transaction<T>(work: (tx: Transaction) => T | Promise<T>) {
    const connection = await this.#connected();
    await this.#watched(connection, () => connection.runAll(BEGIN)).catch(async (error: unknown) => {
      await this.#rollBack(connection).catch(() => {});
      throw error;
    });
    const parts = { connection: this.#begun(connection), dialect: postgresDialect, log: this.#parts.log };
    return runTransaction(parts, work);
  }

  async commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    const connection = await this.#connected();
    const mark = randomUUID();
    const all = [...BEGIN, ...steps, ...this.#end(mark)];
    try {
      const outcomes = await this.#watched(connection, () => connection.runAll(all));
      return outcomes.slice(BEGIN.length, -this.#end(mark).length).map((step) => [...step]);
    } catch (error) {
      if (isUnanswered(error) && (await this.#isDurable(mark))) {
        const message = 'the database committed the transaction, but the answer was lost';
        throw new StoreError('store-unanswered', message, { cause: error });
      }
      // If rolling back fails, the connection is given up, and the server rolls the transaction back.
      await this.#rollBack(connection).catch(() => {});
      throw error;
    }
  }

  onUnreachable(listener: (error: StoreError) => void): void {
    this.#unreachable = listener;
  }

  /** Deletes the marks of processes that ended long ago. */
  async forgetMarks(): Promise<void> {
    await this.run(FORGET_MARKS, []);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    const client = this.#client;
    this.#client = null;
    this.#connection = null;
    await client?.end();
  }

  /** The steps that end a transaction: they store its mark and commit. */
  #end(mark: string): readonly SqlStep[] {
    return [
      { sql: WRITE_MARK, rows: [[this.#process, mark]] },
      { sql: 'COMMIT', rows: [[]] },
    ];
  }

  #begun(connection: Connection): BegunConnection {
    const ask = <Answer>(request: () => Promise<Answer>) => this.#watched(connection, request);
    return {
      run: (sql, parameters) => ask(() => connection.run(sql, parameters)),
      runEach: async (sql, rows) => (await ask(() => connection.runAll([{ sql, rows }])))[0] ?? [],
      commit: async () => {
        const mark = randomUUID();
        await ask(() => connection.runAll(this.#end(mark))).catch(async (error: unknown) => {
          if (!isUnanswered(error) || !(await this.#isDurable(mark))) throw error;
        });
      },
      rollBack: () => this.#rollBack(connection),
    };
  }

  async #rollBack(connection: Connection): Promise<void> {
    if (connection === this.#connection)
      await this.#watched(connection, () => connection.run('ROLLBACK', []));
  }

  /**
   * Makes a request. Gives the connection up if the request fails because the connection has ended or the
   * server is read-only.
   */
  async #watched<Answer>(connection: Connection, request: () => Promise<Answer>): Promise<Answer> {
    try {
      if (connection !== this.#connection) throw lostError('it was given up', 'writes');
      return await request();
    } catch (error) {
      if (connection === this.#connection && (isConnectionLost(error) || isReadOnly(error)))
        this.#giveUp(error);
      throw postgresErrorOf(error, 'writes');
    }
  }

  #giveUp(error: unknown): void {
    const client = this.#client;
    this.#client = null;
    this.#connection = null;
    this.#parts.log.warn({ reason: messageOf(error) }, 'lost the connection that writes the database');
    if (client !== null) leave(client);
    this.#parts.onLost();
  }

  async #connected(): Promise<Connection> {
    if (this.#stopping.signal.aborted) throw closedError();
    return this.#connection ?? this.#dial();
  }

  /**
   * Opens a connection, and takes the lock of this process. It waits for the lock for about {@link LOCK_LIMIT_MS}: the
   * server may not have noticed yet that the former connection has ended.
   *
   * @throws StoreError `store-writer-lost`, `store-closed`, or `store-error` for a server that svc does not support
   */
  async #dial(): Promise<Connection> {
    const client = new pg.Client(clientSettings(this.#parts));
    let connection: Connection | null = null;
    client.on('error', (error) => {
      if (connection !== null && connection === this.#connection) this.#giveUp(error);
    });
    try {
      await client.connect();
      connection = new Connection(client);
      await connection.setUp('write');
      await this.#takeLock(connection);
      if (this.#stopping.signal.aborted) throw closedError();
    } catch (error) {
      leave(client);
      const failure = postgresErrorOf(error, 'writes');
      this.#unreachable(failure);
      throw failure;
    }
    this.#client = client;
    this.#connection = connection;
    return connection;
  }

  async #takeLock(connection: Connection): Promise<void> {
    const { rows } = await connection.run(
      `SELECT current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
        CAST(current_setting('server_version_num') AS integer) AS version`,
      [],
    );
    const [state] = rows as { read_only: string; encoding: string; version: number }[];
    if (state?.read_only === 'on') throw lostError('the server is read-only', 'writes');
    if (state !== undefined && state.version < OLDEST_VERSION)
      throw new StoreError(
        'store-error',
        'the database is older than PostgreSQL 15, the oldest that svc uses',
      );
    if (state !== undefined && state.encoding !== 'UTF8')
      throw new StoreError(
        'store-error',
        `the database has the encoding ${state.encoding}: svc needs one with UTF8`,
      );
    for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
      const answer = await connection.run('SELECT pg_try_advisory_lock(CAST(? AS bigint)) AS taken', [
        this.#process,
      ]);
      const [lock] = answer.rows as { taken: number }[];
      if (lock?.taken === 1) return;
      if (waitedMs >= LOCK_LIMIT_MS)
        throw lostError('the server has not ended the connection before this one', 'writes');
      await delay(AGAIN_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) throw closedError();
    }
  }

  /**
   * Whether the transaction with this mark is durable, after its connection has ended. The query runs on the
   * next connection, which has taken the lock of this process. So the server has ended the former connection
   * by then. The query is repeated until the database answers.
   *
   * @throws StoreError `store-closed`
   */
  async #isDurable(mark: string): Promise<boolean> {
    for (;;) {
      try {
        const { rows } = await this.run('SELECT mark FROM last_commits WHERE process = ?', [this.#process]);
        const [stored] = rows as { mark: string }[];
        return stored?.mark === mark;
      } catch (error) {
        if (this.#stopping.signal.aborted) throw closedError();
        this.#parts.log.warn({ reason: messageOf(error) }, 'cannot learn yet whether a commit was stored');
        await delay(AGAIN_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
      }
    }
  }
}

/** Ends a connection that is no longer used, without waiting for the server, which may be out of reach. */
function leave(client: pg.Client): void {
  client.end().catch(() => {}); // No one needs the outcome.
}

/** Whether the connection ended before the server answered, so that it is not known what the server has done. */
function isUnanswered(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'store-writer-lost' && !isReadOnly(error.cause);
}

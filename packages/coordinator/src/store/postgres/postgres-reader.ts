import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import pg from 'pg';
import { closedError } from '../errors.ts';
import type { StatementOutcome } from '../one-connection.ts';
import type { Database } from '../schema.ts';
import { MAX_WAITING_READS, type StoreReader, tooManyReads } from '../serial-store.ts';
import { Connection, clientSettings, type Dialled } from './connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { isConnectionLost, postgresErrorOf } from './postgres-errors.ts';

/** Reads through a pool of connections. Connections are opened when queries need them. */
export class PostgresReader implements StoreReader {
  readonly db: Kysely<Database>;
  readonly #url: Dialled['url'];
  readonly #size: number;
  readonly #log: Logger;
  readonly #connections = new WeakMap<pg.ClientBase, Connection>();
  #pool: pg.Pool;
  #isClosed = false;

  /** @param size maximum number of connections */
  constructor(url: Dialled['url'], size: number, log: Logger) {
    this.#url = url;
    this.#size = size;
    this.#log = log;
    this.#pool = this.#newPool();
    this.db = new Kysely({ dialect: postgresDialect((sql, parameters) => this.#run(sql, parameters)) });
  }

  /**
   * Gives up all connections. Called when a connection was lost, because the server may be gone, or another one may
   * have replaced it.
   */
  drop(): void {
    if (this.#isClosed) return;
    const former = this.#pool;
    this.#pool = this.#newPool();
    // `end` waits for running queries. Each query ends within its time limit, and each query that waits for a
    // connection fails within the time limit for connecting.
    void former.end();
  }

  /**
   * Waits for running queries, whose duration is limited. Queries that wait for a connection are rejected when their
   * time limit for connecting has passed.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }

  async #run(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    if (this.#isClosed) throw closedError();
    const pool = this.#pool;
    if (pool.waitingCount >= MAX_WAITING_READS) throw tooManyReads();
    let client: pg.PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw this.#isClosed ? closedError() : postgresErrorOf(error, 'reads');
    }
    try {
      if (this.#isClosed) throw closedError();
      const connection = this.#connectionOf(client);
      await connection.setUp('read');
      const outcome = await connection.run(sql, parameters);
      client.release();
      return outcome;
    } catch (error) {
      const isLost = isConnectionLost(error);
      client.release(isLost);
      if (isLost && pool === this.#pool) this.drop();
      throw postgresErrorOf(error, 'reads');
    }
  }

  #connectionOf(client: pg.ClientBase): Connection {
    const known = this.#connections.get(client);
    if (known !== undefined) return known;
    const connection = new Connection(client);
    // A client whose connection breaks during a query emits `error` in addition to failing the query.
    // Without a listener, that event would end the process. The pool listens to idle clients only.
    client.on('error', () => {});
    this.#connections.set(client, connection);
    return connection;
  }

  #newPool(): pg.Pool {
    const pool = new pg.Pool({ ...clientSettings({ url: this.#url }), max: this.#size });
    // The pool emits `error` when an idle connection ends.
    pool.on('error', (error) =>
      this.#log.warn({ reason: messageOf(error) }, 'lost a connection to the database'),
    );
    return pool;
  }
}

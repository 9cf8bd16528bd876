import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import pg from 'pg';
import { closedError, type StoreError } from '../errors.ts';
import type { StatementOutcome } from '../one-connection.ts';
import type { Database } from '../schema.ts';
import { MAX_WAITING_READS, type StoreReader, tooManyReads } from '../serial-store.ts';
import { Connection, clientSettings, type Dialled } from './connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { isConnectionLost, postgresErrorOf } from './postgres-errors.ts';

/** Connections, and the number of further reads that may use one now. */
type Places = { readonly pool: pg.Pool; free: number };

type WaitingRead = {
  readonly start: (places: Places) => void;
  readonly reject: (error: StoreError) => void;
};

/**
 * Reads through a pool of connections. Connections are opened when queries need them.
 *
 * A read that finds no free connection waits for one. The wait has no time limit of its own: the number of
 * waiting reads and the duration of each query are limited. So the reads wait here. In the queue of the pool,
 * the time limit for connecting would end their wait although the server answers, and a pool that is given up
 * would serve none of them.
 */
export class PostgresReader implements StoreReader {
  readonly db: Kysely<Database>;
  readonly #url: Dialled['url'];
  readonly #size: number;
  readonly #log: Logger;
  readonly #connections = new WeakMap<pg.Client, Connection>();
  /** Reads that wait for a free connection, the oldest first. */
  #waiting: WaitingRead[] = [];
  #places: Places;
  #isClosed = false;

  /** @param size maximum number of connections */
  constructor(url: Dialled['url'], size: number, log: Logger) {
    this.#url = url;
    this.#size = size;
    this.#log = log;
    this.#places = this.#newPlaces();
    this.db = new Kysely({ dialect: postgresDialect((sql, parameters) => this.#read(sql, parameters)) });
  }

  /**
   * Gives up all connections. Called when a connection was lost, because the server may be gone, or another one may
   * have replaced it. Waiting reads are made on new connections.
   */
  drop(): void {
    if (this.#isClosed) return;
    const former = this.#places.pool;
    this.#places = this.#newPlaces();
    // `end` waits for running queries. Each query ends within its time limit.
    void former.end();
    this.#startWaiting();
  }

  /** Rejects waiting queries with `store-closed`. Waits for running queries, whose duration is limited. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(closedError);
    await this.#places.pool.end();
  }

  #read(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    if (this.#isClosed) return Promise.reject(closedError());
    if (this.#waiting.length >= MAX_WAITING_READS) return Promise.reject(tooManyReads());
    return new Promise((resolve, reject) => {
      const start = (places: Places) => void this.#run(places, sql, parameters).then(resolve, reject);
      this.#waiting.push({ start, reject });
      this.#startWaiting();
    });
  }

  /** Starts waiting reads, as far as places are free. */
  #startWaiting(): void {
    const places = this.#places;
    while (places.free > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      places.free -= 1;
      next.start(places);
    }
  }

  #rejectWaiting(error: () => StoreError): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error());
  }

  async #run(places: Places, sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    try {
      const client = await this.#connected(places);
      return await this.#runOn(client, places, sql, parameters);
    } finally {
      places.free += 1;
      this.#startWaiting();
    }
  }

  /**
   * Returns a free connection, or a new one. If the new one cannot be made, all waiting reads fail too, because
   * each of them would wait as long again.
   */
  async #connected(places: Places): Promise<pg.PoolClient> {
    try {
      return await places.pool.connect();
    } catch (error) {
      const failure = () => (this.#isClosed ? closedError() : postgresErrorOf(error, 'reads'));
      if (places === this.#places) this.#rejectWaiting(failure);
      throw failure();
    }
  }

  async #runOn(
    client: pg.PoolClient,
    places: Places,
    sql: string,
    parameters: readonly unknown[],
  ): Promise<StatementOutcome> {
    try {
      if (this.#isClosed) throw closedError();
      const outcome = await this.#connectionOf(client).run(sql, parameters);
      client.release();
      return outcome;
    } catch (error) {
      const isLost = isConnectionLost(error);
      client.release(isLost);
      if (isLost && places === this.#places) this.drop();
      throw postgresErrorOf(error, 'reads');
    }
  }

  #connectionOf(client: pg.Client): Connection {
    const known = this.#connections.get(client);
    if (known !== undefined) return known;
    const connection = new Connection(client);
    // A client whose connection breaks during a query emits `error` in addition to failing the query.
    // Without a listener, that event would end the process. The pool listens to idle clients only.
    client.on('error', () => {});
    this.#connections.set(client, connection);
    return connection;
  }

  #newPlaces(): Places {
    const pool = new pg.Pool({
      ...clientSettings({ url: this.#url }),
      max: this.#size,
      // A connection for which this fails does not enter the pool.
      onConnect: (client) => this.#connectionOf(client as pg.Client).setUp('read'),
    });
    // The pool emits `error` when an idle connection ends.
    pool.on('error', (error) =>
      this.#log.warn({ reason: messageOf(error) }, 'lost a connection to the database'),
    );
    return { pool, free: this.#size };
  }
}

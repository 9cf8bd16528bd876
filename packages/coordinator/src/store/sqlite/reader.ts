import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import { StoreError } from '../errors.ts';
import type { Database } from '../schema.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { StoreThread, type StoreWorkers } from './store-thread.ts';
import type { ReaderRequest } from './thread-protocol.ts';

/** Most requests that may wait for the reading thread. A page makes a few at a time. */
export const MAX_WAITING_READS = 1_000;

/** The main thread's side of a reading thread. */
export class Reader {
  readonly db: Kysely<Database>;
  readonly #thread: StoreThread<ReaderRequest, unknown[]>;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    this.#thread = new StoreThread({ start: () => workers.reader({ path }), does: 'reads', log });
    this.db = new Kysely({
      dialect: sqliteDialect(async (sql, parameters) => {
        if (this.#thread.waiting >= MAX_WAITING_READS) throw overloaded();
        return { rows: await this.#thread.sendRequest({ sql, parameters }), changes: 0, lastInsertRowid: 0 };
      }),
    });
  }

  /**
   * Rejects waiting queries with `store-closed`, and waits for the running one, which cannot be interrupted.
   */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

function overloaded(): StoreError {
  const message = `the database has ${MAX_WAITING_READS} waiting reads, the most it takes: try again later`;
  return new StoreError('store-overloaded', message);
}

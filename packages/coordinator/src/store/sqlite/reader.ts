import type { Logger } from '@svc/shared/log.ts';
import { Kysely } from 'kysely';
import type { Database } from '../schema.ts';
import { MAX_WAITING_READS, type StoreReader, tooManyReads } from '../serial-store.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { StoreThread, type StoreWorkers } from './store-thread.ts';
import type { ReaderRequest } from './thread-protocol.ts';

/** The main thread's side of a reading thread. */
export class Reader implements StoreReader {
  readonly db: Kysely<Database>;
  readonly #thread: StoreThread<ReaderRequest, unknown[]>;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    this.#thread = new StoreThread({ start: () => workers.reader({ path }), does: 'reads', log });
    this.db = new Kysely({
      dialect: sqliteDialect(async (sql, parameters) => {
        if (this.#thread.waiting >= MAX_WAITING_READS) throw tooManyReads();
        return { rows: await this.#thread.sendRequest({ sql, parameters }), changes: 0 };
      }),
    });
  }

  /**
   * Rejects waiting queries with `store-closed`. Waits for the running query, which cannot be interrupted.
   */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

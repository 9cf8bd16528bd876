import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '@svc/shared/log.ts';
import { lockDatabaseFile } from './sqlite/database-files.ts';
import { migrate } from './sqlite/migrate.ts';
import { Reader } from './sqlite/reader.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import { STORE_THREADS, type StoreWorkers } from './sqlite/store-thread.ts';
import { Writer } from './sqlite/writer.ts';
import type { Store } from './store.ts';

type Parts = {
  readonly path: string;
  readonly log: Logger;
  /** The writer and the readers of the file; threads by default. */
  readonly workers?: StoreWorkers;
};

/**
 * Opens the SQLite file at `path`, creates it when there is none, and migrates it to this version.
 *
 * @throws StoreError `store-in-use`, `store-newer`, `store-foreign`, or SQLite's error
 */
export async function openStore({ path, log, workers = STORE_THREADS }: Parts): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = lockDatabaseFile(path);
  const writer = new Writer(path, workers, log);
  try {
    const applied = await migrate((sql, parameters) => writer.run(sql, parameters), path);
    if (applied.length > 0)
      log.info({ path, migrations: applied }, 'migrated the database to this version of svc');
    const [reader, workReader] = [new Reader(path, workers, log), new Reader(path, workers, log)];
    return new SqliteStore({ writer, reader, workReader, unlock, log });
  } catch (error) {
    await writer.close().finally(unlock);
    throw error;
  }
}

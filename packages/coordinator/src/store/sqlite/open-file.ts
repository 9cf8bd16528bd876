import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '@svc/shared/log.ts';
import { migrate } from '../migrate.ts';
import { SerialStore } from '../serial-store.ts';
import type { Store } from '../store.ts';
import { lockDatabaseFile } from './database-files.ts';
import { Reader } from './reader.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import type { StoreWorkers } from './store-thread.ts';
import { Writer } from './writer.ts';

type Parts = {
  readonly path: string;
  readonly log: Logger;
  /** The writer and the readers of the file. */
  readonly workers: StoreWorkers;
};

/**
 * Opens the SQLite file at `path`, and migrates it to this version. A missing file and its folder are created.
 *
 * @throws StoreError `store-in-use`, `store-newer`, `store-foreign`, or SQLite's error
 */
export async function openFile({ path, log, workers }: Parts): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = lockDatabaseFile(path);
  const writer = new Writer(path, workers, log);
  try {
    const execute = (sql: string, parameters: readonly unknown[]) => writer.run(sql, parameters);
    await migrate(sqliteDialect(execute), path, log);
    const [reader, workReader] = [new Reader(path, workers, log), new Reader(path, workers, log)];
    return new SerialStore({ writer, reader, workReader, unlock, log });
  } catch (error) {
    await writer.close().finally(unlock);
    throw error;
  }
}

import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openReading } from '@svc/coordinator/store/database-url.ts';
import { openPostgres } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { copyDatabase } from '@svc/coordinator/store/sqlite/backup.ts';
import type { StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import type { Store, StoreReading } from '@svc/coordinator/store/store.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { CompiledQuery } from 'kysely';
import { folderInMemory } from './folder-in-memory.ts';
import { holdDatabase } from './held-database.ts';
import { holdTables, temporaryDatabase } from './postgres-store.ts';
import { openResults, resultRows } from './recorded-results.ts';
import { copyMigrated, openStoreInProcess, STORE_IN_PROCESS } from './store-in-process.ts';

/** Whether the databases of this run are those of a PostgreSQL server: `npm run test:postgres`. */
export const IS_POSTGRES = process.env.TESTS_STORE === 'postgres';

/** An empty database of this version of svc, for one test alone. */
export type TestDatabase = {
  /** Value of `SVC_DATABASE_URL` for a coordinator. */
  readonly url: Secret;
  /** The path of the SQLite file. Reading it throws on PostgreSQL. */
  readonly file: string;
  /** Opens the database as a coordinator does, without threads. */
  open(workers?: StoreWorkers): Promise<Store>;
  /** Copies the database as it is now, for {@link returnToCopy}. */
  copy(): Promise<void>;
  /** Undoes all commits since {@link copy}. Nobody else may have the database open. */
  returnToCopy(): Promise<void>;
  /**
   * Holds the lock for writing until it is released, as another program would
   * (a backup, a shell). No commit succeeds meanwhile. The call waits for a
   * present writer without holding this thread, because the writer may need it.
   */
  hold(): Promise<{ release(): Promise<void> }>;
  /** Deletes the database. Nobody else may have it open. */
  remove(): Promise<void>;
};

const log = createLogger('test', 'silent');

/**
 * Makes a database. A SQLite file is in memory if the machine
 * has room there, because no test of a store depends on a disk.
 */
export async function testDatabase(): Promise<TestDatabase> {
  if (IS_POSTGRES) return postgresDatabase();
  const folder = await mkdtemp(join(folderInMemory(), 'svc-store-'));
  const database = sqliteDatabase(folder);
  // A copy of a new database: creating one takes an eighth of the start of a service.
  await copyMigrated(database.file, log);
  return database;
}

/**
 * The database of a coordinator process with this data folder. The
 * process itself makes a SQLite file, which is deleted with the folder.
 */
export async function databaseOfProcess(dataFolder: string): Promise<TestDatabase> {
  return IS_POSTGRES ? postgresDatabase() : sqliteDatabase(dataFolder);
}

/**
 * The settings of a coordinator process with this database. They
 * are empty for a SQLite file, which is in the data folder.
 */
export function databaseSettings({ url }: TestDatabase): Record<string, string> {
  return IS_POSTGRES ? { SVC_DATABASE_URL: url.reveal() } : {};
}

function sqliteDatabase(folder: string): TestDatabase {
  const file = join(folder, 'svc.db');
  return {
    url: new Secret(`sqlite:${file}`),
    file,
    open: (workers = STORE_IN_PROCESS) => openStoreInProcess(file, log, workers),
    copy: () => copyDatabase(file, `${file}.copy`),
    async returnToCopy() {
      for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
      await rename(`${file}.copy`, file);
    },
    hold: () => holdDatabase(file),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/**
 * Loads the module of dumps when it is needed. The module starts processes,
 * and the quick check leaves out tests that import such modules.
 */
const dumps = () => import('./postgres-dump.ts');

async function postgresDatabase(): Promise<TestDatabase> {
  const { url, remove } = await temporaryDatabase();
  const folder = await mkdtemp(join(folderInMemory(), 'svc-dump-'));
  const dump = join(folder, 'dump');
  return {
    url,
    get file(): string {
      throw new Error('a database of PostgreSQL has no file; is this test about SQLite?');
    },
    open: () => openPostgres({ url, log }),
    copy: async () => (await dumps()).dumpDatabase(url, dump),
    returnToCopy: async () => (await dumps()).restoreDatabase(url, dump),
    hold: () => holdTables(url),
    async remove() {
      await rm(folder, { recursive: true, force: true });
      await remove();
    },
  };
}

/** The committed rows of a database, whoever else has it open. */
export type DatabaseRows = {
  /**
   * Runs a query.
   *
   * @param sql a SELECT that both databases understand. It may read `results`, which
   *   has a row for each result, so tests need not know how results are packed
   */
  query<Row>(sql: string, ...parameters: readonly (string | number)[]): Promise<Row[]>;
  close(): Promise<void>;
};

/** Opens a database for reading. */
export function openRows(database: Secret): DatabaseRows {
  const path = database.reveal().replace(/^sqlite:/, '');
  return existsSync(path) ? sqliteRows(path) : postgresRows(openReading(database, log));
}

/** The rows of one query, see {@link DatabaseRows}. */
export async function queryOnce<Row>(
  database: Secret,
  sql: string,
  ...parameters: readonly (string | number)[]
): Promise<Row[]> {
  const rows = openRows(database);
  try {
    return await rows.query<Row>(sql, ...parameters);
  } finally {
    await rows.close();
  }
}

function sqliteRows(path: string): DatabaseRows {
  const database = openResults(path);
  return {
    async query<Row>(sql: string, ...parameters: readonly (string | number)[]) {
      return database.prepare(sql).all(...parameters) as Row[];
    },
    async close() {
      database.close();
    },
  };
}

function postgresRows(opened: Promise<StoreReading>): DatabaseRows {
  return {
    async query<Row>(sql: string, ...parameters: readonly (string | number)[]) {
      const { read } = await opened;
      const run = (text: string, values: readonly unknown[]) =>
        read.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
      if (!/\bresults\b/.test(sql)) return (await run(sql, parameters)).rows;
      const rows = JSON.stringify(await resultRows(read));
      return (await run(`${RESULTS_OF_JSON} ${sql}`, [rows, ...parameters])).rows;
    },
    async close() {
      await (await opened).close();
    },
  };
}

/** The table `results`, with the columns that `openResults` gives it. */
const RESULTS_OF_JSON = `WITH results AS (SELECT * FROM json_to_recordset(?::json) AS r (slot bigint, monitor_id bigint,
  region text, outcome text, version int, latency double precision, status_code int, error_message text, detail json,
  agent text, recorded_at bigint))`;

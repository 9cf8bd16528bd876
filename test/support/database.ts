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

/** An empty database of this version of svc, which one test has for itself. */
export type TestDatabase = {
  /** What a coordinator has as `SVC_DATABASE_URL`. */
  readonly url: Secret;
  /** The path of the SQLite file. Reading it throws on PostgreSQL. */
  readonly file: string;
  /** Opens it as a coordinator does, without threads. */
  open(workers?: StoreWorkers): Promise<Store>;
  /** Copies it as it is now, for {@link returnToCopy}. */
  copy(): Promise<void>;
  /** Undoes all commits since {@link copy}. Nothing else may have it open. */
  returnToCopy(): Promise<void>;
  /**
   * Holds the lock that writing needs until it is released, as another program would (a backup, a shell). No commit
   * succeeds meanwhile. It waits for the present writer without holding this thread: the writer may need it.
   */
  hold(): Promise<{ release(): Promise<void> }>;
  /** Deletes it. Nothing else may have it open. */
  remove(): Promise<void>;
};

const log = createLogger('test', 'silent');

/**
 * Makes a database. A file lies in memory, where the machine has room there: no test of a store depends on a disk.
 */
export async function testDatabase(): Promise<TestDatabase> {
  if (IS_POSTGRES) return postgresDatabase();
  const folder = await mkdtemp(join(folderInMemory(), 'svc-store-'));
  const database = sqliteDatabase(folder);
  // A copy of a new database: creating one takes an eighth of the start of a service.
  await copyMigrated(database.file, log);
  return database;
}

/** The database of a coordinator process with this data folder. It makes the file itself, and it is deleted with the folder. */
export async function databaseOfProcess(dataFolder: string): Promise<TestDatabase> {
  return IS_POSTGRES ? postgresDatabase() : sqliteDatabase(dataFolder);
}

/** The settings of a coordinator process with this database. Without any, it has a file in its data folder. */
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

/** Loaded when it is needed: it starts processes, and tests that import modules which do are not in the quick check. */
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
   * @param sql a SELECT in the words that both databases know. It may read `results`, which has a row for each result:
   *   tests need not know how results are packed.
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

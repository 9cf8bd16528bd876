import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { copyMigrated, STORE_IN_PROCESS } from '../../../../test/support/store-in-process.ts';
import { errorCodeOf, insertWorkspace, workspaceNames } from '../../../../test/support/transactions.ts';
import { openStore } from './open.ts';
import { MAX_WAITING_READS } from './serial-store.ts';
import type { Store } from './store.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;
let store: Store;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder.path, 'svc.db');
  await copyMigrated(path, silentLog);
  store = await opened(path);
});

/** Opens a store without threads, because starting a thread takes as long as many of these tests. */
function opened(at: string): Promise<Store> {
  return openStore({ path: at, log: silentLog, workers: STORE_IN_PROCESS });
}

/** Opens the store with threads, for tests that depend on them. */
async function openedWithThreads(): Promise<void> {
  await store.close();
  store = await openStore({ path, log: silentLog });
}

/** Opens a new database, which is created and migrated. */
async function createdAnew(): Promise<void> {
  await store.close();
  path = join(folder.path, 'new.db');
  store = await opened(path);
}

afterEach(async () => {
  await store.close();
  await folder.remove();
});

const names = () => workspaceNames(store);

test('waits for another program that writes, without holding the thread', async () => {
  await openedWithThreads();
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const waiting = store.transaction(insertWorkspace('a'));
  // During these turns of the event loop, the writing thread can find the database locked.
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  other.exec('ROLLBACK');
  other.close();
  await waiting;
  expect(await names()).toEqual(['a']);
});

describe('reads', () => {
  beforeEach(openedWithThreads);

  test('errors of the reading thread are errors of the query', async () => {
    const wrong = sql`SELECT * FROM nowhere`.execute(store.read);
    await expect(wrong).rejects.toThrow('no such table: nowhere');
    expect(await names()).toEqual([]);
  });

  test('cannot write', async () => {
    const writing = store.read.insertInto('workspaces').values({ name: 'a', created_at: 1 }).execute();
    expect(await errorCodeOf(writing)).toBe('store-readonly');
  });

  test('the queue is bounded', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: MAX_WAITING_READS + 1 }, () => errorCodeOf(sql`SELECT 1`.execute(store.read))),
    );
    expect(outcomes.filter((code) => code === 'none')).toHaveLength(MAX_WAITING_READS);
    expect(outcomes.filter((code) => code === 'store-overloaded')).toHaveLength(1);
  });

  test('a reading thread that dies fails the waiting reads, and the next read starts another thread', async () => {
    await rename(path, `${path}.away`);
    expect(await errorCodeOf(names())).toBe('store-reader-lost');
    await rename(`${path}.away`, path);
    expect(await names()).toEqual([]);
  });

  test('bytes are read as they were written', async () => {
    const bytes = new Uint8Array([0, 255, 7]);
    const { rows } = await sql<{ bytes: Uint8Array }>`SELECT ${bytes} AS bytes`.execute(store.read);
    expect(rows).toEqual([{ bytes }]);
  });
});

describe('closing', () => {
  beforeEach(openedWithThreads);

  test('waiting and later calls fail', async () => {
    const reading = Promise.all(Array.from({ length: 50 }, () => errorCodeOf(names())));
    // After one turn of the event loop the requests are sent, and the thread that answers them is still
    // starting.
    await new Promise((resolve) => setImmediate(resolve));
    const closing = store.close();
    expect(await reading).toEqual(Array.from({ length: 50 }, () => 'store-closed'));
    await closing;
    expect(await errorCodeOf(names())).toBe('store-closed');
    expect(await errorCodeOf(store.transaction(() => 1))).toBe('store-closed');
  });

  test('one file is left: the journal is moved into it', async () => {
    await store.transaction(insertWorkspace('a'));
    expect(await names()).toEqual(['a']);
    await store.close();
    await expect(stat(`${path}-wal`)).rejects.toThrow('ENOENT');
  });
});

describe('opening', () => {
  test('only the owner may read the file', async () => {
    await createdAnew();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(`${path}-wal`)).mode & 0o777).toBe(0o600);
  });

  test('a second coordinator on the same file is refused until the first has closed', async () => {
    const second = opened(path);
    await expect(second).rejects.toThrow('another coordinator uses');
    expect(await errorCodeOf(opened(path))).toBe('store-in-use');
    await store.close();
    store = await opened(path);
  });

  test('a database of a newer version is refused and left as it is', async () => {
    await store.close();
    const newer = new DatabaseSync(path);
    newer.exec("INSERT INTO kysely_migration VALUES ('0999-future', '2030-01-01')");
    newer.close();
    const before = await readFile(path);
    await expect(opened(path)).rejects.toThrow(/newer version of svc \(0999-future\)/);
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  test('a database of another program is refused', async () => {
    const other = join(folder.path, 'other.db');
    const foreign = new DatabaseSync(other);
    foreign.exec('CREATE TABLE notes (text)');
    foreign.close();
    expect(await errorCodeOf(opened(other))).toBe('store-foreign');
  });

  test('the error names a path that cannot be opened', async () => {
    const taken = join(folder.path, 'folder');
    await mkdir(taken);
    await expect(opened(taken)).rejects.toThrow(taken);
  });

  test('a file that is no database is refused', async () => {
    const other = join(folder.path, 'other.txt');
    await writeFile(other, 'x'.repeat(5_000));
    const opening = opened(other);
    await expect(opening).rejects.toMatchObject({
      code: 'store-corrupt',
      message: `database: ${other}: file is not a database`,
    });
  });

  test('an empty database gets the tables of the schema', async () => {
    await createdAnew();
    const { rows } = await sql<{ name: string }>`
      SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'kysely_%'
      ORDER BY name`.execute(store.read);
    expect(rows.map(({ name }) => name)).toContain('monitors');
    expect(rows.length).toBeGreaterThanOrEqual(17);
  });
});

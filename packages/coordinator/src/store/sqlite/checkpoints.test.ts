import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Logger } from '@svc/shared/log.ts';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../../test/support/configured-store.ts';
import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import { openStore } from '../open.ts';
import type { Store } from '../store.ts';
import { INTERVAL_MS, JOURNAL_FRAMES_LIMIT } from './checkpoints.ts';
import { storeInProcess } from './store-in-process.ts';
import { BUSY_LIMIT_MS } from './write-requests.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;
let clock: FakeClock;
let store: Store;
let warnings: string[];

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder.path, 'svc.db');
  clock = new FakeClock();
  warnings = [];
  const log: Logger = Object.assign(Object.create(silentLog), {
    warn: (_fields: unknown, message: string) => warnings.push(message),
  });
  store = await openStore({ path, log, workers: storeInProcess(clock) });
});

afterEach(async () => {
  await store.close();
  await folder.remove();
});

const write = (key: string, bytes: number) =>
  store.commit([
    { sql: 'INSERT OR REPLACE INTO facts (key, value) VALUES (?, ?)', rows: [[key, 'x'.repeat(bytes)]] },
  ]);
const sizeOf = async (file: string) => (await stat(file)).size;

/**
 * Makes a journal that exceeds its limit. A reading transaction of another
 * program keeps the journal from starting again.
 */
async function longJournal(): Promise<DatabaseSync> {
  const reading = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => {
    if (reading.isOpen) reading.close();
  });
  reading.exec('BEGIN');
  reading.prepare('SELECT count(*) FROM facts').get();
  for (let round = 0; round < 9; round += 1) await write(`big:${round}`, 8_000_000);
  expect(await sizeOf(`${path}-wal`)).toBeGreaterThan(JOURNAL_FRAMES_LIMIT * 4_096);
  return reading;
}

test('commits are moved into the database file after a time, without a further request', async () => {
  await write('big', 3_000_000);
  clock.advance(INTERVAL_MS - 1);
  expect(await sizeOf(path)).toBeLessThan(1_000_000);
  clock.advance(1);
  expect(await sizeOf(path)).toBeGreaterThan(3_000_000);
});

test('commits are moved into the database file on the real thread too', async () => {
  await store.close();
  store = await openStore({ path, log: silentLog });
  await write('big', 3_000_000);
  await expect.poll(() => sizeOf(path)).toBeGreaterThan(3_000_000);
});

test('no checkpoint runs inside a transaction; a due one runs after it', async () => {
  await write('big', 3_000_000);
  await store.transaction(async (tx) => {
    clock.advance(2 * INTERVAL_MS);
    await tx.query('SELECT 1');
    expect(await sizeOf(path)).toBeLessThan(1_000_000);
  });
  // The checkpoint comes after the answer.
  await store.read.selectFrom('facts').select('key').execute();
  expect(await sizeOf(path)).toBeGreaterThan(3_000_000);
});

test('a read that never ends delays commits rarely and briefly, however long the journal is', async () => {
  await longJournal();
  const waits: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const [began, warned] = [performance.now(), warnings.length];
    clock.advance(INTERVAL_MS);
    await write('small', 10);
    if (warnings.length > warned) waits.push(performance.now() - began);
  }
  // Without RESTART_WAIT_MS, each wait would last as long as a wait for a lock. A busy
  // machine may lengthen some waits, but never shortens one.
  expect(Math.min(...waits)).toBeLessThan(BUSY_LIMIT_MS);
  // In this minute, the writer waited for the read twice: after 3 s and after 33 s.
  expect(warnings).toEqual(Array(2).fill('cannot move the journal into the database file'));
});

test('a journal that grew during a long read starts again after the read', async () => {
  const reading = await longJournal();
  reading.close();
  clock.advance(INTERVAL_MS);
  await write('small', 10);
  expect(await sizeOf(`${path}-wal`)).toBeLessThanOrEqual(16_777_216);
});

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { JOURNAL_FRAMES_LIMIT } from './checkpoints.ts';
import { openStore } from './open.ts';
import type { Store } from './store.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;
let store: Store;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder.path, 'svc.db');
  store = await openStore({ path, log: silentLog });
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

test('what was committed comes into the database file by itself', async () => {
  await write('big', 3_000_000);
  expect(await sizeOf(path)).toBeLessThan(1_000_000);
  await expect.poll(() => sizeOf(path), { timeout: 10_000 }).toBeGreaterThan(3_000_000);
});

test('no checkpoint comes into an open transaction; one that is due follows it', async () => {
  await write('big', 3_000_000);
  await store.transaction(async (tx) => {
    // Beyond the second after which a checkpoint is due.
    const until = performance.now() + 1_500;
    while (performance.now() < until) await tx.query('SELECT 1');
    expect(await sizeOf(path)).toBeLessThan(1_000_000);
  });
  await expect.poll(() => sizeOf(path), { timeout: 10_000 }).toBeGreaterThan(3_000_000);
});

test('a read that never ends holds no commit for long, however long the journal is', async () => {
  const reading = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => reading.close());
  reading.exec('BEGIN');
  reading.prepare('SELECT count(*) FROM facts').get();
  for (let round = 0; round < 9; round += 1) await write(`big:${round}`, 8_000_000);
  const took: number[] = [];
  // Several checkpoints are due meanwhile.
  for (const until = performance.now() + 7_000; performance.now() < until; ) {
    const began = performance.now();
    await write('small', 10);
    took.push(performance.now() - began);
  }
  expect(Math.max(...took)).toBeLessThan(1_000);
  expect(took.length).toBeGreaterThan(20);
});

test('a journal that a long read has let grow starts anew after it', async () => {
  const reading = new DatabaseSync(path, { readOnly: true });
  reading.exec('BEGIN');
  reading.prepare('SELECT count(*) FROM facts').get();
  for (let round = 0; round < 9; round += 1) await write(`big:${round}`, 8_000_000);
  expect(await sizeOf(`${path}-wal`)).toBeGreaterThan(JOURNAL_FRAMES_LIMIT * 4_096);
  reading.exec('COMMIT');
  reading.close();
  await expect
    .poll(
      async () => {
        await write('small', 10);
        return sizeOf(`${path}-wal`);
      },
      { timeout: 15_000 },
    )
    .toBeLessThanOrEqual(16_777_216);
});

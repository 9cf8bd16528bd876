import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DeclaredFiles, declaredFiles } from '../../../../../test/support/declared-file.ts';
import { HeldReads } from '../../../../../test/support/held-reads.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import { MAX_WAITING_READS } from '../../store/serial-store.ts';
import type { DeclaredFile } from './declared-file.ts';

let reads: HeldReads;
let files: DeclaredFiles;
let file: DeclaredFile;

const declare = (name: string) =>
  writeFile(files.path, `svc_tcp_monitor: { a: { name: ${name}, uri: "a.example:1", periodicity: 1m } }`);

beforeEach(async () => {
  reads = new HeldReads();
  files = await declaredFiles({}, reads.workers);
  await declare('first');
  file = files.declaredFile();
  await file.start();
  await file.stop();
});
afterEach(async () => {
  reads.release();
  await files.dispose();
});

/** Runs `work` while the maximum number of reads for pages and the API waits. */
async function behindReads(work: () => Promise<void>): Promise<void> {
  // Holds the reading thread of pages and the API. The thread exists
  // already, because it read all monitors before the file was applied.
  reads.holdFirst();
  const waiting = Array.from({ length: MAX_WAITING_READS }, () => rowsOf(files.store.store, 'workspaces'));
  const all = Promise.allSettled(waiting);
  await work();
  reads.release();
  await all;
}

describe('while the largest number of reads waits', () => {
  test.each(['first', 'second'])('a file with the %s name is applied at a start', async (name) => {
    await declare(name);
    const next = files.declaredFile();
    await behindReads(() => next.start());
    expect(next.status()).toMatchObject({ resources: 1, errors: [], waiting: null });
    expect(await rowsOf(files.store.store, 'monitors')).toMatchObject([{ name }]);
  });

  test('a changed file is applied on request', async () => {
    await declare('second');
    const next = files.declaredFile();
    await behindReads(() => next.reload());
    expect(next.status()).toMatchObject({ resources: 1, errors: [], waiting: null });
  });
});

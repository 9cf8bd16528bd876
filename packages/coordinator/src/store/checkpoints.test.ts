import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { Checkpoints, JOURNAL_FRAMES_LIMIT } from './checkpoints.ts';
import { Mutex } from './mutex.ts';
import { openStore } from './open.ts';
import type { CheckpointRow } from './read-protocol.ts';

test('the reading thread moves what was committed into the database file', async () => {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'svc.db');
  const store = await openStore({ path, log: silentLog });
  await store.transaction(({ db }) =>
    db
      .insertInto('facts')
      .values({ key: 'big', value: 'x'.repeat(3_000_000) })
      .execute(),
  );
  expect((await stat(path)).size).toBeLessThan(1_000_000);
  await expect.poll(async () => (await stat(path)).size, { timeout: 10_000 }).toBeGreaterThan(3_000_000);
  await store.close();
  await folder.remove();
});

test('writers are held only when the journal is too long and could not be moved whole', async () => {
  const held: boolean[] = [];
  const writers = new Mutex();
  const answers: CheckpointRow[] = [
    { busy: 0, log: JOURNAL_FRAMES_LIMIT + 9, checkpointed: JOURNAL_FRAMES_LIMIT },
    { busy: 0, log: JOURNAL_FRAMES_LIMIT + 9, checkpointed: JOURNAL_FRAMES_LIMIT + 9 },
    { busy: 0, log: 9, checkpointed: 5 },
  ];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const checkpoint = async () => {
    held.push(writers.isBusy);
    const answer = answers.shift();
    if (answers.length === 0) resolve();
    else if (held.length === 2) queueMicrotask(() => setImmediate(() => checkpoints.committed()));
    return answer ?? { busy: 0, log: 0, checkpointed: 0 };
  };
  const checkpoints = new Checkpoints(checkpoint, writers, silentLog);
  checkpoints.committed();
  await done;
  await checkpoints.stop();
  expect(held).toEqual([false, true, false]);
});

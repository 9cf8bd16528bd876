import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
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
  /** What is asked of the reading thread, and when writers are held. */
  const steps: string[] = [];
  class WatchedMutex extends Mutex {
    override run<T>(work: () => T | Promise<T>): Promise<T> {
      steps.push('hold');
      return super.run(work);
    }
  }
  const answers: CheckpointRow[] = [
    { busy: 0, log: JOURNAL_FRAMES_LIMIT + 9, checkpointed: JOURNAL_FRAMES_LIMIT },
    { busy: 0, log: JOURNAL_FRAMES_LIMIT + 9, checkpointed: JOURNAL_FRAMES_LIMIT + 9 },
    { busy: 0, log: 9, checkpointed: 5 },
  ];
  const clock = new FakeClock();
  const checkpoint = async () => {
    steps.push('checkpoint');
    return answers.shift() ?? { busy: 0, log: 0, checkpointed: 0 };
  };
  const checkpoints = new Checkpoints({ checkpoint, writers: new WatchedMutex(), clock, log: silentLog });
  checkpoints.committed();
  checkpoints.committed();
  await clock.advanceSettling(1_000);
  expect(steps).toEqual(['checkpoint', 'hold', 'checkpoint']);
  await clock.advanceSettling(10_000);
  expect(steps).toHaveLength(3);
  checkpoints.committed();
  await clock.advanceSettling(1_000);
  expect(steps.slice(3)).toEqual(['checkpoint']);
  checkpoints.committed();
  await checkpoints.stop();
  expect(clock.pendingTimers).toBe(0);
});

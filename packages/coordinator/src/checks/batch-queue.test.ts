import { createLogger } from '@svc/shared/log.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { StoreError } from '../store/errors.ts';
import { BatchQueue } from './batch-queue.ts';

let clock: FakeClock;
let written: number[][];
let setAside: number[];
let failure: ((batch: readonly number[]) => Error | null) | null;
let queue: BatchQueue<number>;

beforeEach(() => {
  clock = new FakeClock();
  written = [];
  setAside = [];
  failure = null;
  queue = new BatchQueue({
    clock,
    log: createLogger('test', 'silent'),
    weightOf: () => 1,
    split: (event) => (event === 1_000 ? [1_001, 1_002, 1_003] : [event]),
    async write(batch) {
      const error = failure?.(batch) ?? null;
      if (error !== null) throw error;
      written.push([...batch]);
    },
    onSetAside: (event) => setAside.push(event),
  });
});

function push(from: number, to: number): void {
  for (let event = from; event <= to; event += 1) queue.push(event, false);
}

test('a few events share a transaction after a short wait', async () => {
  push(1, 3);
  await clock.advanceSettling(249);
  expect(written).toEqual([]);
  await clock.advanceSettling(1);
  expect(written).toEqual([[1, 2, 3]]);
});

test('an urgent event is written at once, with what was queued before it', async () => {
  push(1, 3);
  queue.push(4, true);
  await clock.advanceSettling(0);
  expect(written).toEqual([[1, 2, 3, 4]]);
  push(5, 6);
  await clock.advanceSettling(249);
  expect(written).toHaveLength(1);
});

test('the age of the oldest event is known', async () => {
  expect(queue.oldestMs).toBe(0);
  push(1, 1);
  clock.advance(100);
  push(2, 2);
  clock.advance(50);
  expect(queue.oldestMs).toBe(150);
  await queue.flushed();
  expect(queue.oldestMs).toBe(0);
});

test('many events are written at once, in batches and in order', async () => {
  push(1, 600);
  await queue.flushed();
  expect(written.map((batch) => batch.length)).toEqual([512, 88]);
  expect(written.flat()).toEqual(Array.from({ length: 600 }, (_, index) => index + 1));
});

test('the event loop turns between batches', async () => {
  push(1, 4_000);
  let isWriting = true;
  const turns: number[] = [];
  const count = () => {
    turns.push(written.length);
    if (isWriting) setImmediate(count);
  };
  setImmediate(count);
  await queue.flushed();
  isWriting = false;
  expect(new Set(turns).size).toBeGreaterThan(4);
});

describe('a database that accepts no writes', () => {
  beforeEach(() => {
    failure = () => new StoreError('store-full', 'no space');
  });

  test('is tried again until it accepts them, and nothing is lost', async () => {
    push(1, 300);
    await clock.advanceSettling(3_000);
    expect(queue.isFailing).toBe(true);
    expect(queue.failures).toBeGreaterThan(2);
    failure = null;
    await clock.advanceSettling(5_000);
    await queue.flushed();
    expect(written.flat()).toHaveLength(300);
    expect(queue.isFailing).toBe(false);
  });

  test('makes no room until it accepts them', async () => {
    push(1, 16_383);
    expect(queue.room()).toBeUndefined();
    push(16_384, 16_384);
    let hasRoom = false;
    void queue.room()?.then(() => {
      hasRoom = true;
    });
    await clock.advanceSettling(3_000);
    expect(hasRoom).toBe(false);
    failure = null;
    await clock.advanceSettling(5_000);
    expect(hasRoom).toBe(true);
  });

  test('does not delay the stop', async () => {
    push(1, 10);
    await clock.advanceSettling(1_000);
    await queue.stop();
    expect(written).toEqual([]);
  });

  test('that fails for the first time during the stop is not waited for', async () => {
    push(1, 10);
    await queue.stop();
    expect(queue.failures).toBe(1);
  });
});

describe('an event that cannot be written', () => {
  test('is set aside, and the others are written in their order', async () => {
    failure = (batch) => (batch.includes(5) ? new Error('at fault') : null);
    push(1, 9);
    await queue.flushed();
    expect(setAside).toEqual([5]);
    expect(written.flat()).toEqual([1, 2, 3, 4, 6, 7, 8, 9]);
    expect(queue.isFailing).toBe(false);
    push(10, 12);
    await queue.flushed();
    expect(written.at(-1)).toEqual([10, 11, 12]);
  });

  test('is first split into its parts', async () => {
    failure = (batch) =>
      batch.includes(1_000) || batch.includes(1_002) ? new StoreError('store-constraint', 'at fault') : null;
    push(999, 1_000);
    queue.push(2_000, false);
    await queue.flushed();
    expect(setAside).toEqual([1_002]);
    expect(written.flat()).toEqual([999, 1_001, 1_003, 2_000]);
  });
});

import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { HistoryReading } from './history-reading.ts';

test('what is wanted together is read together, 200 at a time', async () => {
  const reads: number[] = [];
  const found: number[] = [];
  const reading = new HistoryReading({
    clock: new FakeClock(),
    read: async (ids) => {
      reads.push(ids.length);
      return new Map(ids.map((id) => [id, [{ at: id, status: 'active' }]]));
    },
    onRead: (id, history) => {
      expect(history).toEqual([{ at: id, status: 'active' }]);
      found.push(id);
    },
    onError: () => expect.unreachable(),
  });
  for (let id = 1; id <= 1_001; id += 1) reading.want(id);
  await expect.poll(() => found.length).toBe(1_001);
  expect(reads).toEqual([200, 200, 200, 200, 200, 1]);
  reading.want(7);
  await expect.poll(() => found.length).toBe(1_002);
});

test('a read that fails is made again, with what came meanwhile', async () => {
  const clock = new FakeClock();
  const reads: (readonly number[])[] = [];
  const errors: unknown[] = [];
  const found: number[] = [];
  const reading = new HistoryReading({
    clock,
    read: async (ids) => {
      reads.push(ids);
      if (reads.length === 1) throw new Error('locked');
      return new Map();
    },
    onRead: (id) => found.push(id),
    onError: (error) => errors.push(error),
  });
  reading.want(1);
  await expect.poll(() => errors.length).toBe(1);
  reading.want(2);
  clock.advance(5_000);
  await expect.poll(() => found.length).toBe(2);
  expect(reads).toEqual([[1], [1, 2]]);
});

test('nothing is told after a stop', async () => {
  let answer: () => void = () => {};
  const reading = new HistoryReading({
    clock: new FakeClock(),
    read: () => new Promise((resolve) => (answer = () => resolve(new Map()))),
    onRead: () => expect.unreachable(),
    onError: () => expect.unreachable(),
  });
  reading.want(1);
  await new Promise((resume) => setImmediate(resume));
  reading.stop();
  answer();
  await new Promise((resume) => setImmediate(resume));
});

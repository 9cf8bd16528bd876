import { expect, test } from 'vitest';
import { FairQueue } from './fair-queue.ts';

test('owners have turns, whoever sent more', () => {
  const queue = new FairQueue<string, number>({ most: 10, mostOfOwner: 3 });
  expect([1, 2, 3, 4].map((item) => queue.push('much', item))).toEqual([true, true, true, false]);
  expect(queue.take()).toBe(1);
  expect(queue.push('little', 5)).toBe(true);
  expect(queue.push('much', 6)).toBe(true);
  expect(Array.from({ length: 5 }, () => queue.take())).toEqual([2, 5, 3, 6, undefined]);
});

test('all together have a bound', () => {
  const queue = new FairQueue<number, number>({ most: 2, mostOfOwner: 2 });
  expect([1, 2, 3].map((owner) => queue.push(owner, owner))).toEqual([true, true, false]);
  queue.take();
  expect(queue.push(3, 3)).toBe(true);
});

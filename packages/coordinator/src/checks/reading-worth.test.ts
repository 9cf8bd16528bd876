import { expect, test } from 'vitest';
import { ReadingWorth } from './reading-worth.ts';

const KIBIBYTE = 1024;

test.each([
  ['nothing read yet', 0, 0, 0, true],
  ['results that are new', 500, 100 * KIBIBYTE, 500, true],
  ['long results that are new', 40, 256 * KIBIBYTE, 40, true],
  ['half of them known', 500, 100 * KIBIBYTE, 250, true],
  ['repetitions', 500, 100 * KIBIBYTE, 10, false],
  ['garbage', 0, 256 * KIBIBYTE, 0, false],
  ['one new result in much padding', 1, 256 * KIBIBYTE, 1, false],
])('%s', (_what, results, bytes, fresh, isWorthIt) => {
  const worth = new ReadingWorth();
  for (let message = 0; message < 100; message += 1) {
    if (bytes > 0) worth.read(results, bytes);
    worth.recorded(fresh);
  }
  expect(worth.isWorthIt(0)).toBe(isWorthIt);
});

test('what waits to be recorded is no reason yet', () => {
  const worth = new ReadingWorth();
  worth.read(512, KIBIBYTE);
  expect(worth.isWorthIt(512)).toBe(true);
  expect(worth.isWorthIt(0)).toBe(false);
});

test('a region that comes to reason is believed again', () => {
  const worth = new ReadingWorth();
  for (let message = 0; message < 1_000; message += 1) worth.read(0, 256 * KIBIBYTE);
  expect(worth.isWorthIt(0)).toBe(false);
  for (let message = 0; message < 100; message += 1) {
    worth.read(500, KIBIBYTE);
    worth.recorded(500);
  }
  expect(worth.isWorthIt(0)).toBe(true);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attemptWaitMs } from './attempt-wait.ts';

test.each([
  [1, 250],
  [2, 400],
  [3, 640],
  [7, 250 * 1.6 ** 6],
  [8, 5_000],
  [10, 5_000],
])('after %i failures the middle of the wait is %d ms', (failures, middle) => {
  expect(attemptWaitMs(failures, 0.5)).toBeCloseTo(middle, 6);
});

test('the wait stays within 20 % of the middle, never above 5 s, and grows with failures and chance', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const wait = attemptWaitMs(failures, random);
        const middle = 250 * 1.6 ** (failures - 1);
        expect(wait).toBeGreaterThanOrEqual(Math.min(5_000, middle * 0.8) - 1e-9);
        expect(wait).toBeLessThanOrEqual(Math.min(5_000, middle * 1.2) + 1e-9);
        expect(attemptWaitMs(failures + 1, random)).toBeGreaterThanOrEqual(wait);
        expect(attemptWaitMs(failures, 1 - Number.EPSILON)).toBeGreaterThanOrEqual(wait);
      },
    ),
  );
});

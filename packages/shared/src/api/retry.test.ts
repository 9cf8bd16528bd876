import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LONGEST_WAIT_MS, retryAfterOf, retryClassOf, SHORTEST_WAIT_MS, waitBeforeRetry } from './retry.ts';

const uniform = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('waits', () => {
  test('are between the shortest and the longest, whatever the attempt', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), uniform, (attempts, random) => {
        const wait = waitBeforeRetry(attempts, random);
        return wait >= SHORTEST_WAIT_MS && wait <= LONGEST_WAIT_MS;
      }),
    );
  });

  test('never get shorter with the number of attempts', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        uniform,
        (attempts, random) => waitBeforeRetry(attempts + 1, random) >= waitBeforeRetry(attempts, random),
      ),
    );
  });

  test('are never shorter than what the server asked for, nor a second longer', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        uniform,
        fc.integer({ min: 0, max: 60_000 }),
        (attempts, random, asked) => {
          const wait = waitBeforeRetry(attempts, random, asked);
          return wait >= asked && wait <= Math.max(LONGEST_WAIT_MS, asked + 1_000);
        },
      ),
    );
  });

  test('begin at a quarter of a second and double', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((attempts) => waitBeforeRetry(attempts, 0))).toEqual([
      250, 500, 1_000, 2_000, 4_000, 5_000, 5_000,
    ]);
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);
  test.each([
    ['seconds', '3', 3_000],
    ['zero', '0', 0],
    ['with blanks around', ' 3 ', 3_000],
    ['a date', new Date(now + 5_000).toUTCString(), 5_000],
    ['a date in the past', new Date(now - 5_000).toUTCString(), 0],
    ['more than the bound', '86400', 60_000],
    ['absent', null, 0],
    ['empty', '', 0],
    ['nonsense', 'soon', 0],
    ['a negative number', '-1', 0],
  ])('%s', (_case, header, expected) => {
    expect(retryAfterOf(header, now, 60_000)).toBe(expected);
  });
});

test.each([
  [200, 'final'],
  [404, 'final'],
  [409, 'final'],
  [422, 'final'],
  [429, 'rate-limited'],
  [500, 'failed'],
  [501, 'final'],
  [502, 'failed'],
  [503, 'failed'],
  [504, 'failed'],
] as const)('an answer %i is %s', (status, verdict) => {
  expect(retryClassOf(status)).toBe(verdict);
});

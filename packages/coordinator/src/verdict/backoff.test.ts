import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DELIVERY_LIFETIME_MS, nextAttemptAt, RETRY_AFTER_MAXIMUM_MS } from './backoff.ts';

const MINUTE = 60_000;

/** Instants of all attempts, relative to the queueing (ms), if each attempt takes no time and fails. */
function attemptInstants(random: number): number[] {
  const instants = [0];
  for (;;) {
    const now = instants.at(-1)!;
    const next = nextAttemptAt({ attempts: instants.length, ageMs: now, now, random });
    if (next === null) return instants;
    instants.push(next);
  }
}

describe('nextAttemptAt', () => {
  test('attempts at 0, 5 s, 15 s, 30 s, 1, 2, 5, 10, 20, 30 min, then hourly to 24 h', () => {
    const minutes = attemptInstants(0.5).map((at) => at / MINUTE);
    expect(minutes.slice(0, 12)).toEqual([0, 5 / 60, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 90, 150]);
    expect(minutes.at(-1)).toBe(24 * 60);
  });

  test('the spread is 25 % either way', () => {
    expect(nextAttemptAt({ attempts: 1, ageMs: 0, now: 0, random: 0 })).toBe(3_750);
    expect(nextAttemptAt({ attempts: 1, ageMs: 0, now: 0, random: 0.999_999_9 })).toBe(6_250);
  });

  test.each([
    ['lengthens a wait', 120_000, 120_000],
    ['never shortens one', 1_000, 5_000],
    ['of a day counts as an hour', 24 * 60 * MINUTE, 60 * MINUTE],
  ])('a wait that the receiver requests %s', (_name, retryAfterMs, expected) => {
    expect(nextAttemptAt({ attempts: 1, ageMs: 0, now: 0, retryAfterMs, random: 0.5 })).toBe(expected);
  });

  test('a delivery that had its first attempt after 24 h is given up', () => {
    const ageMs = DELIVERY_LIFETIME_MS + 1;
    expect(nextAttemptAt({ attempts: 1, ageMs, now: 0, random: 0.5 })).toBeNull();
  });

  test('the next attempt is always later than now, never past the lifetime, and never more than 75 min ahead', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 0, max: DELIVERY_LIFETIME_MS - 1 }),
        fc.option(fc.integer({ min: 0, max: RETRY_AFTER_MAXIMUM_MS }), { nil: undefined }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempts, now, retryAfterMs, random) => {
          const next = nextAttemptAt({ attempts, ageMs: now, now, retryAfterMs, random });
          expect(next).not.toBeNull();
          expect(next).toBeGreaterThan(now);
          expect(next).toBeLessThanOrEqual(Math.min(DELIVERY_LIFETIME_MS, now + 75 * MINUTE));
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BelievedTime, believe, doubtMs, firstBelieved, TOLERANCE_MS } from './believed-time.ts';
import { DAY_MS, HOUR_MS } from './summary-range.ts';

const NOW = Date.UTC(2026, 0, 1);
const sure: BelievedTime = { at: NOW, doubt: null };

/** Compares the clocks every hour for `hours`, with the wall clock ahead by `aheadMs`. */
function afterHours(from: BelievedTime, aheadMs: number, hours: number): BelievedTime {
  let believed = from;
  const start = from.at;
  for (let hour = 1; hour <= hours; hour += 1) {
    believed = believe(believed, start + hour * HOUR_MS + aheadMs, HOUR_MS);
  }
  return believed;
}

describe('a step forward', () => {
  test.each([
    ['some minutes are believed at once', TOLERANCE_MS, 0],
    ['an hour is doubted for a day', HOUR_MS, 24],
    ['three days are doubted for three', 3 * DAY_MS, 72],
    ['a year is doubted for a week', 365 * DAY_MS, 7 * 24],
  ])('%s', (_name, aheadMs, hours) => {
    // The first comparison only notices the step.
    if (hours > 0) expect(afterHours(sure, aheadMs, hours).at).toBe(NOW + hours * HOUR_MS);
    expect(afterHours(sure, aheadMs, hours + 1)).toEqual({
      at: NOW + (hours + 1) * HOUR_MS + aheadMs,
      doubt: null,
    });
  });

  test('that is taken back ends the doubt', () => {
    const doubted = afterHours(sure, 30 * DAY_MS, 100);
    expect(doubted.doubt).not.toBeNull();
    expect(believe(doubted, NOW + 101 * HOUR_MS, HOUR_MS)).toEqual({ at: NOW + 101 * HOUR_MS, doubt: null });
  });

  test('that follows another is doubted from its own beginning', () => {
    const doubted = afterHours(sure, DAY_MS, 23);
    const further = believe(doubted, doubted.at + HOUR_MS + 30 * DAY_MS, HOUR_MS);
    expect(further).toEqual({ at: doubted.at + HOUR_MS, doubt: { aheadMs: 30 * DAY_MS, stoodMs: 0 } });
  });
});

test('a step back is believed at once', () => {
  expect(believe(sure, NOW - 400 * DAY_MS, HOUR_MS)).toEqual({ at: NOW - 400 * DAY_MS, doubt: null });
});

test('the first believed time is the newest recorded instant, or the wall clock if that is earlier', () => {
  expect(firstBelieved(NOW, NOW - 400 * DAY_MS).at).toBe(NOW - 400 * DAY_MS);
  expect(firstBelieved(NOW, NOW + DAY_MS).at).toBe(NOW);
  expect(firstBelieved(NOW, null).at).toBe(NOW);
});

test('the believed time is never ahead of the true time by more than the tolerance, whatever the clock does within a day', () => {
  const step = fc.record({
    /** Time by which the clock is wrong, ms. */
    aheadMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: HOUR_MS, max: 500 * DAY_MS }),
      fc.integer({ min: -500 * DAY_MS, max: 0 }),
    ),
    elapsedMs: fc.integer({ min: 0, max: 2 * HOUR_MS }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 11 }), (steps) => {
      let truth = NOW;
      let believed = sure;
      for (const { aheadMs, elapsedMs } of steps) {
        truth += elapsedMs;
        believed = believe(believed, truth + aheadMs, elapsedMs);
        expect(believed.at).toBeLessThanOrEqual(truth + TOLERANCE_MS);
      }
    }),
  );
});

test('a doubt ends within a week', () => {
  expect(doubtMs(10_000 * DAY_MS)).toBe(7 * DAY_MS);
});

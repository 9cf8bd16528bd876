import { periodMs } from '@svc/shared/periodicity.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { phaseOf } from './schedule.ts';
import {
  areTooMany,
  factorOfWorkspace,
  isLagging,
  isRegionOverloaded,
  nextThinning,
  runsUnder,
  unthinned,
} from './thinning.ts';

const PERIOD = 30_000;

/** The factor after each second. An element says whether the second was overloaded. */
function factors(seconds: readonly boolean[]): number[] {
  let thinning = unthinned(0);
  return seconds.map((isOverloaded, second) => {
    thinning = nextThinning(thinning, isOverloaded, second * 1_000);
    return thinning.factor;
  });
}

const times = (seconds: number, isOverloaded: boolean) => Array<boolean>(seconds).fill(isOverloaded);

/**
 * The factors at the ends of these spans (seconds). Spans with and without overload
 * alternate, and the first span is overloaded.
 */
function afterEach(...spans: readonly number[]): (number | undefined)[] {
  const seen = factors(spans.flatMap((seconds, index) => times(seconds, index % 2 === 0)));
  let end = 0;
  return spans.map((seconds) => {
    end += seconds;
    return seen[end - 1];
  });
}

test('the factor doubles with every four seconds of overload, up to 16', () => {
  const seen = factors(times(60, true));
  expect([3, 4, 8, 12, 59].map((second) => seen[second])).toEqual([1, 2, 4, 8, 16]);
});

test('overload of three seconds changes nothing', () => {
  expect(new Set(factors([...times(4, true), ...times(20, false), ...times(4, true)]))).toEqual(new Set([1]));
});

test('the factor halves with every ten seconds without overload', () => {
  const seen = factors([...times(9, true), ...times(31, false)]);
  expect([8, 18, 19, 28, 29, 39].map((second) => seen[second])).toEqual([4, 4, 2, 2, 1, 1]);
});

test('overload after a halving doubles the factor again, and the next halving takes twice as long without overload', () => {
  expect(afterEach(9, 11, 5, 20)).toEqual([4, 2, 4, 4]);
  expect(afterEach(9, 11, 5, 21, 5, 40)).toEqual([4, 2, 4, 2, 4, 4]);
  expect(afterEach(9, 11, 5, 21, 5, 41)).toEqual([4, 2, 4, 2, 4, 2]);
});

test('after a halving without overload, the next one takes as long as the first', () => {
  expect(afterEach(9, 11, 5, 31, 9, 10)).toEqual([4, 2, 4, 1, 4, 4]);
  expect(afterEach(9, 11, 5, 41, 9, 11)).toEqual([4, 2, 4, 1, 4, 2]);
});

test('a monitor runs every n-th slot for a factor of n, and slots of a larger factor also run under a smaller one', () => {
  const ids = fc.integer({ min: 1, max: 2 ** 31 });
  fc.assert(
    fc.property(ids, fc.integer({ min: 0, max: 6 }), fc.nat(1_000_000), (id, power, first) => {
      const factor = 2 ** power;
      const slots = Array.from({ length: 64 }, (_, index) => (first + index) * PERIOD + (id % PERIOD));
      const run = slots.filter((slot) => runsUnder(factor, id, slot, PERIOD));
      expect(run).toHaveLength(64 / factor);
      expect(run.every((slot) => runsUnder(Math.max(1, factor / 2), id, slot, PERIOD))).toBe(true);
    }),
  );
});

test.each([
  ['30s', 8 * 60_000],
  ['1m', 16 * 60_000],
  ['5m', 40 * 60_000],
  ['10m', 40 * 60_000],
  ['30m', 3_600_000],
  ['1h', 3_600_000],
] as const)('under the largest factor, a monitor of %s runs every %d ms', (periodicity, everyMs) => {
  const period = periodMs(periodicity);
  for (let id = 1; id <= 100; id += 1) {
    const slots = Array.from({ length: 64 }, (_, index) => index * period + phaseOf(id, period));
    const run = slots.filter((slot) => runsUnder(16, id, slot, period));
    expect(run[0]).toBeLessThan(everyMs);
    expect(new Set(run.slice(1).map((slot, index) => slot - (run[index] as number)))).toEqual(
      new Set([everyMs]),
    );
  }
});

test('in every period about the same number of monitors run', () => {
  for (const period of [1_000, 1_001, 1_002]) {
    const run = Array.from({ length: 10_000 }, (_, id) => runsUnder(4, id + 1, period * PERIOD, PERIOD));
    expect(Math.abs(run.filter(Boolean).length - 2_500)).toBeLessThan(150);
  }
});

test('a workspace with few checks is thinned less than the largest, or not at all', () => {
  expect([1, 0.6, 0.5, 0.26, 0.25, 0.01].map((part) => factorOfWorkspace(4, part))).toEqual([
    4, 4, 2, 2, 1, 1,
  ]);
});

const STANDING = { factor: 2, isTrial: false };
const TRIAL = { factor: 1, isTrial: true };

test.each([
  ['no check', { begun: 0, late: 0, behind: 0, isStarved: false }, unthinned(0), false],
  [
    'all late, but not by seconds',
    { begun: 1_000, late: 1_000, behind: 0, isStarved: false },
    unthinned(0),
    false,
  ],
  ['some seconds late', { begun: 1_000, late: 300, behind: 101, isStarved: true }, unthinned(0), true],
  [
    'half of them late under a factor',
    { begun: 1_000, late: 500, behind: 0, isStarved: false },
    STANDING,
    false,
  ],
  [
    'most of them late under a factor',
    { begun: 1_000, late: 501, behind: 0, isStarved: false },
    STANDING,
    true,
  ],
  [
    'most of them late, of starved agents',
    { begun: 1_000, late: 900, behind: 0, isStarved: true },
    STANDING,
    false,
  ],
  ['few of them late in a trial', { begun: 1_000, late: 100, behind: 0, isStarved: false }, TRIAL, false],
  ['some of them late in a trial', { begun: 1_000, late: 101, behind: 0, isStarved: false }, TRIAL, true],
] as const)('a region with %s', (_, load, thinning, isOverloaded) => {
  expect(isRegionOverloaded(load, thinning)).toBe(isOverloaded);
});

test('late checks count when there are twenty, and more than a tenth', () => {
  expect([areTooMany(19, 19), areTooMany(100, 20), areTooMany(300, 30), areTooMany(300, 31)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test('the recording lags when its lag does not shrink while it works', () => {
  const lag = (oldestMs: number) => ({ events: 1_000, oldestMs });
  expect(isLagging(lag(4_000), lag(5_000), 100)).toBe(true);
  expect(isLagging(lag(3_000), lag(4_000), 100)).toBe(false);
  expect(isLagging(lag(6_000), lag(5_500), 100)).toBe(false);
  // The disk stands still.
  expect(isLagging(lag(59_000), lag(60_000), 0)).toBe(false);
});

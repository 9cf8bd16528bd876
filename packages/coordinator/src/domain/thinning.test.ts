import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  areTooMany,
  factorOfWorkspace,
  isLagging,
  type Load,
  loadOfRegion,
  nextThinning,
  runsUnder,
  unthinned,
} from './thinning.ts';

const PERIOD = 30_000;

/** The factors of a time in which each second had this load. */
function factors(seconds: readonly Load[]): number[] {
  let thinning = unthinned(0);
  return seconds.map((load, second) => {
    thinning = nextThinning(thinning, load, second * 1_000);
    return thinning.factor;
  });
}

const times = (seconds: number, load: Load) => Array<Load>(seconds).fill(load);

/** The factors at the ends of these spans. */
function afterEach(...spans: readonly [seconds: number, load: Load][]): (number | undefined)[] {
  const seen = factors(spans.flatMap(([seconds, load]) => times(seconds, load)));
  let end = 0;
  return spans.map(([seconds]) => {
    end += seconds;
    return seen[end - 1];
  });
}

test('the factor doubles with every four seconds of overload, up to 64', () => {
  const seen = factors(times(60, 'overloaded'));
  expect([3, 4, 8, 12, 59].map((second) => seen[second])).toEqual([1, 2, 4, 8, 64]);
});

test('overload of three seconds is a pause', () => {
  const seen = factors([...times(4, 'overloaded'), ...times(20, 'calm'), ...times(4, 'overloaded')]);
  expect(new Set(seen)).toEqual(new Set([1]));
});

test('checks that begin somewhat late, for however long, leave out nothing', () => {
  expect(new Set(factors(times(1_000, 'busy')))).toEqual(new Set([1]));
});

test('the factor halves with every ten seconds of calm', () => {
  expect(afterEach([9, 'overloaded'], [10, 'calm'], [1, 'calm'], [9, 'calm'], [1, 'calm'])).toEqual([
    4, 4, 2, 2, 1,
  ]);
});

test('a halving is taken back where checks begin late in its trial, and the next one takes twice the calm', () => {
  expect(afterEach([9, 'overloaded'], [11, 'calm'], [5, 'busy'], [20, 'calm'], [1, 'calm'])).toEqual([
    4, 2, 4, 4, 2,
  ]);
  const again: [number, Load][] = [
    [9, 'overloaded'],
    [11, 'calm'],
    [5, 'busy'],
    [21, 'calm'],
    [5, 'busy'],
  ];
  expect(afterEach(...again, [40, 'calm'], [1, 'calm'], [10, 'calm'])).toEqual([4, 2, 4, 2, 4, 4, 2, 1]);
});

test('a factor at which checks begin late is neither doubled nor halved', () => {
  expect(afterEach([5, 'overloaded'], [1_000, 'busy'])).toEqual([2, 2]);
});

test('of the slots of a monitor each so many run as the factor says, and those of a larger factor also under a smaller one', () => {
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

test('in every period about the same number of monitors run', () => {
  for (const period of [1_000, 1_001, 1_002]) {
    const run = Array.from({ length: 10_000 }, (_, id) => runsUnder(4, id + 1, period * PERIOD, PERIOD));
    expect(Math.abs(run.filter(Boolean).length - 2_500)).toBeLessThan(150);
  }
});

test('a workspace that asks for little is thinned less than the largest, or not at all', () => {
  expect([1, 0.6, 0.5, 0.26, 0.25, 0.01].map((part) => factorOfWorkspace(4, part))).toEqual([
    4, 4, 2, 2, 1, 1,
  ]);
});

test.each([
  { name: 'no check', begun: 0, late: 0, behind: 0, factor: 1, load: 'calm' },
  { name: 'few late ones', begun: 1_000, late: 100, behind: 0, factor: 1, load: 'calm' },
  { name: 'all late, but not by seconds', begun: 1_000, late: 1_000, behind: 0, factor: 1, load: 'busy' },
  { name: 'some seconds late', begun: 1_000, late: 300, behind: 101, factor: 1, load: 'overloaded' },
  { name: 'some late under a factor', begun: 1_000, late: 500, behind: 0, factor: 2, load: 'busy' },
  { name: 'most late under a factor', begun: 1_000, late: 501, behind: 0, factor: 2, load: 'overloaded' },
] as const)('a region with $name is $load', ({ begun, late, behind, factor, load }) => {
  expect(loadOfRegion({ begun, late, behind }, factor)).toBe(load);
});

test('late ones count when there are twenty, and more than a tenth', () => {
  expect([areTooMany(19, 19), areTooMany(100, 20), areTooMany(300, 30), areTooMany(300, 31)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test('the recording lags when it falls ever further behind while it works', () => {
  const lag = (oldestMs: number) => ({ events: 1_000, oldestMs });
  expect(isLagging(lag(4_000), lag(5_000), 100)).toBe(true);
  expect(isLagging(lag(3_000), lag(4_000), 100)).toBe(false);
  expect(isLagging(lag(6_000), lag(5_500), 100)).toBe(false);
  // The disk stands still.
  expect(isLagging(lag(59_000), lag(60_000), 0)).toBe(false);
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MONITOR_STATUSES } from './monitor.ts';
import {
  addTimes,
  flooredPercent,
  NO_TIMES,
  type StatusSince,
  timesBetween,
  uptimePercent,
  withMaintenance,
  worstStatus,
} from './uptime.ts';

const changes = fc
  .array(fc.record({ at: fc.integer({ min: 0, max: 60 }), status: fc.constantFrom(...MONITOR_STATUSES) }), {
    maxLength: 20,
  })
  .map((list) => list.toSorted((a, b) => a.at - b.at));
const edges = fc
  .uniqueArray(fc.integer({ min: 0, max: 70 }), { minLength: 2, maxLength: 8 })
  .map((list) => list.toSorted((a, b) => a - b));

/** The expected times. Each ms is counted separately. */
function counted(list: readonly StatusSince[], from: number, until: number) {
  const times = { ...NO_TIMES };
  for (let at = from; at < until; at += 1) {
    times[list.findLast((change) => change.at <= at)?.status ?? 'unknown'] += 1;
  }
  return times;
}

test('each status has the time from its change to the next', () => {
  fc.assert(
    fc.property(changes, edges, (list, cuts) => {
      const expected = cuts.slice(1).map((until, index) => counted(list, cuts[index] ?? 0, until));
      expect(timesBetween(list, cuts)).toEqual(expected);
    }),
  );
});

test('parts of a time add up to the whole', () => {
  fc.assert(
    fc.property(changes, edges, (list, cuts) => {
      const whole = timesBetween(list, [cuts[0] ?? 0, cuts.at(-1) ?? 0]);
      expect([timesBetween(list, cuts).reduce(addTimes, NO_TIMES)]).toEqual(whole);
    }),
  );
});

test('maintenance takes its part from each status, and the whole stays', () => {
  const times = { ...NO_TIMES, active: 50, error: 20, unknown: 30 };
  expect(withMaintenance(times, { ...NO_TIMES, active: 10, error: 20, unknown: 1 })).toEqual({
    active: 40,
    degraded: 0,
    error: 0,
    unknown: 29,
    maintenance: 31,
  });
  expect(withMaintenance(times, NO_TIMES)).toEqual(times);
});

describe('uptime', () => {
  test.each([
    ['degraded is up', { active: 50, degraded: 50, error: 0, unknown: 0 }, 100],
    ['unknown time does not count', { active: 50, degraded: 0, error: 50, unknown: 900 }, 50],
    ['without known time there is no number', { active: 0, degraded: 0, error: 0, unknown: 900 }, null],
    [
      'floored: never 100 with a ms of error',
      { active: 864e5 * 400, degraded: 0, error: 1, unknown: 0 },
      99.99,
    ],
    ['floored: two thirds', { active: 2, degraded: 0, error: 1, unknown: 0 }, 66.66],
  ])('%s', (_name, times, expected) => {
    expect(uptimePercent({ ...NO_TIMES, ...times })).toBe(expected);
    // Time in maintenance does not count.
    expect(uptimePercent({ ...NO_TIMES, ...times, maintenance: 700 })).toBe(expected);
  });

  test('a percentage is the largest one with two decimals that is not above the share', () => {
    const ms = fc.integer({ min: 0, max: 400 * 864e5 });
    fc.assert(
      fc.property(ms, ms, (up, down) => {
        fc.pre(up + down > 0);
        const hundredths = Math.round((flooredPercent(up, up + down) ?? -1) * 100);
        expect(BigInt(hundredths)).toBe((BigInt(up) * 10_000n) / BigInt(up + down));
      }),
    );
  });

  test.each([
    [{ active: 9, degraded: 5, error: 1, unknown: 0 }, 'error'],
    [{ active: 9, degraded: 1, error: 0, unknown: 5 }, 'degraded'],
    [{ active: 1, degraded: 0, error: 0, unknown: 9 }, 'active'],
    [{ active: 0, degraded: 0, error: 0, unknown: 9 }, 'unknown'],
  ])('the worst status of %o is %s', (times, expected) => {
    expect(worstStatus({ ...NO_TIMES, ...times })).toBe(expected);
  });
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeTicks, valueAxis } from './axes.ts';

const NOON = Date.UTC(2026, 1, 27, 12);
const HOUR = 3_600_000;

test.each([
  ['an hour', 60_000, 60, [0, 10, 20, 30, 40, 50, 60]],
  ['a day', HOUR / 2, 48, [0, 240, 480, 720, 960, 1_200, 1_440]],
])('labels of %s', (_name, bucketMs, count, minutes) => {
  const ticks = timeTicks({ from: NOON, bucketMs, count });
  expect(ticks.map((at) => (at - NOON) / 60_000)).toEqual(minutes);
});

test('labels are evenly spaced at edges of columns', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), (count) => {
      const ticks = timeTicks({ from: NOON, bucketMs: 60_000, count });
      expect(ticks.length).toBeLessThanOrEqual(8);
      expect(ticks[0]).toBe(NOON);
      expect(ticks.at(-1)).toBe(NOON + count * 60_000);
      for (const at of ticks) expect((at - NOON) % 60_000).toBe(0);
    }),
  );
});

test.each([
  [0, [4, 3, 2, 1, 0]],
  [4, [4, 3, 2, 1, 0]],
  [84.2, [100, 75, 50, 25, 0]],
  [101, [120, 90, 60, 30, 0]],
  [1_234, [1_600, 1_200, 800, 400, 0]],
  [0.03, [0.4, 0.3, 0.2, 0.1, 0]],
  [0.3, [0.4, 0.3, 0.2, 0.1, 0]],
  [0.5, [0.8, 0.6, 0.4, 0.2, 0]],
  [5.2, [6, 4.5, 3, 1.5, 0]],
])('lines of an axis up to %d', (greatest, ticks) => {
  expect(valueAxis(greatest).ticks).toEqual(ticks);
});

test('an axis contains its values, wastes little room and has even lines', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.4, max: 1e9, noNaN: true }), (greatest) => {
      const { top, ticks } = valueAxis(greatest);
      expect(top).toBeGreaterThanOrEqual(greatest * (1 - 1e-5));
      expect(top).toBeLessThan(greatest * (greatest < 4 ? 2.01 : 1.6));
      expect(ticks).toHaveLength(5);
      // No line needs a second decimal.
      if (top < 1e6) for (const tick of ticks) expect(tick).toBe(Number(tick.toFixed(1)));
      expect([ticks[0], ticks[4]]).toEqual([top, 0]);
      ticks.slice(1).forEach((tick, index) => {
        expect(((ticks[index] ?? 0) - tick) / top).toBeCloseTo(0.25, 6);
      });
    }),
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { valueAxis } from './value-axis.ts';

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

test('an axis holds its values, wastes little room and has even lines', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.4, max: 1e9, noNaN: true }), (greatest) => {
      const { top, ticks } = valueAxis(greatest);
      expect(top).toBeGreaterThanOrEqual(greatest * (1 - 1e-5));
      expect(top).toBeLessThan(greatest * (greatest < 4 ? 2.01 : 1.6));
      expect(ticks).toHaveLength(5);
      // None needs a second decimal.
      if (top < 1e6) for (const tick of ticks) expect(tick).toBe(Number(tick.toFixed(1)));
      expect([ticks[0], ticks[4]]).toEqual([top, 0]);
      ticks.slice(1).forEach((tick, index) => {
        expect(((ticks[index] ?? 0) - tick) / top).toBeCloseTo(0.25, 6);
      });
    }),
  );
});

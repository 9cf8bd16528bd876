import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linePath } from './latency-charts.ts';

test.each([
  [[100, 50, 50, 100], 'M0 1l9 11 9 0 9-11'],
  [[null, 100, null, 0, 100], 'M9 1h0M27 23l9-22'],
  [[null, null], ''],
])('a line through %j has its gaps', (values, path) => {
  expect(linePath(values, 100)).toBe(path);
});

test('the points of a line have the heights of the values', () => {
  const values = fc.array(fc.option(fc.integer({ min: 0, max: 200 })), { minLength: 1, maxLength: 14 });
  fc.assert(
    fc.property(values, (given) => {
      const drawn: (number | null)[] = given.map(() => null);
      for (const [, x, y, rest = ''] of linePath(given, 100).matchAll(/M(\d+) (\d+)(?:h0|l([^M]+))/g)) {
        let height = Number(y);
        let index = Number(x) / 9;
        drawn[index] = height;
        for (const [, change] of rest.matchAll(/9 ?(-?\d+)/g)) {
          height += Number(change);
          index += 1;
          drawn[index] = height;
        }
      }
      expect(drawn).toEqual(
        given.map((value) => (value === null ? null : 23 - Math.round((Math.min(value, 100) / 100) * 22))),
      );
    }),
  );
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Bar, barsPath, edgesPath, linePath, PLOT, rulesPath, stripPath } from './paths.ts';

const value = fc.double({ min: 0, max: 1e6, noNaN: true });
const values = fc.array(fc.option(value), { maxLength: 400 });

/** All points of a path with absolute commands. */
function pointsOf(path: string): [x: number, y: number][] {
  return [...path.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

describe('a line', () => {
  test('goes through the middles of the columns, with gaps and dots', () => {
    expect(linePath([0, 50, null, 100, null], 100)).toBe('M100 240L300 120M700 0h0');
    expect(linePath([], 100)).toBe('');
    expect(linePath([null], 100)).toBe('');
  });

  test('has one point for each value, inside the plot, in the order of time', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 1e-3, max: 1e6, noNaN: true }), (some, top) => {
        const points = pointsOf(linePath(some, top));
        expect(points).toHaveLength(some.filter((each) => each !== null).length);
        points.forEach(([x, y], index) => {
          expect(x).toBeGreaterThanOrEqual(points[index - 1]?.[0] ?? 0);
          expect(x).toBeLessThanOrEqual(PLOT.width);
          expect(y).toBeGreaterThanOrEqual(0);
          expect(y).toBeLessThanOrEqual(PLOT.height);
        });
      }),
    );
  });

  test('starts again after each gap, and nowhere else', () => {
    fc.assert(
      fc.property(values, (some) => {
        const begins = some.filter((each, index) => each !== null && (some[index - 1] ?? null) === null);
        expect(linePath(some, 10).split('M')).toHaveLength(begins.length + 1);
      }),
    );
  });

  test('is higher where the value is', () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        const points = pointsOf(linePath([Math.min(one, other), Math.max(one, other)], 1e6));
        expect(points[0]?.[1]).toBeGreaterThanOrEqual(points[1]?.[1] ?? 0);
      }),
    );
  });
});

describe('bars', () => {
  test('fill their columns', () => {
    expect(barsPath([{ low: 0, high: 5 }, null, { low: 5, high: 10 }, { low: 3, high: 3 }], 10)).toBe(
      'M0 240V120H250V240ZM500 120V0H750V120Z',
    );
  });

  test('in a stack meet: the upper edge of one is the lower edge of the next', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 60 }), (pairs) => {
        const top = Math.max(1, ...pairs.map(([one, other]) => one + other));
        const upper = (bars: Bar[]) => [...barsPath(bars, top).matchAll(/V([\d.]+)H/g)].map(([, y]) => y);
        const lower = (bars: Bar[]) =>
          [...barsPath(bars, top).matchAll(/M[\d.]+ ([\d.]+)/g)].map(([, y]) => y);
        const visible = pairs.filter(([one, other]) => one > top / 100 && other > top / 100);
        expect(upper(visible.map(([one]) => ({ low: 0, high: one })))).toEqual(
          lower(visible.map(([one, other]) => ({ low: one, high: one + other }))),
        );
      }),
    );
  });
});

test('edges of bars are steps, with gaps', () => {
  const bars = [{ low: 0, high: 5 }, { low: 2, high: 10 }, null, { low: 0, high: 0 }];
  expect(edgesPath(bars, 10)).toBe('M0 120H250V0H500M750 240H1000');
});

test('rules cross the plot', () => {
  expect(rulesPath([10, 5, 0], 10)).toBe('M0 0H1000M0 120H1000M0 240H1000');
});

test('a strip has one shape for neighbours that are the same bar', () => {
  const [full, half] = [
    { low: 0, high: 1 },
    { low: 0, high: 0.5 },
  ];
  expect(stripPath([full, full, half, null])).toBe('M0 240V0H500V240ZM500 240V120H750V240Z');
  expect(stripPath([null, full, null, full])).toBe('M250 240V0H500V240ZM750 240V0H1000V240Z');
  expect(stripPath([])).toBe('');
});

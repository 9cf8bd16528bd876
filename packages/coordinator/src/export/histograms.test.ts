import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  countDuration,
  EXPLICIT_BOUNDS,
  emptyHistogram,
  type Histogram,
  type HistogramKind,
  histogram,
  secondsOf,
} from './histograms.ts';

/** Durations as probes report them: 0, or from 0.1 ms to a day. */
const durations = fc.array(
  fc.integer({ min: 0, max: 864_000_000 }).map((tenths) => tenths / 10_000),
  { minLength: 1, maxLength: 200 },
);

function recorded(kind: HistogramKind, values: readonly number[], into = emptyHistogram(kind)): Histogram {
  for (const value of values) countDuration(into, value * 1_000);
  return into;
}

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

describe('an exponential histogram', () => {
  test('counts each value once, within the bounds of its bucket', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const found = recorded('exponential', values);
        const { count, scale, zero, offset, counts } = found;
        expect(count).toBe(values.length);
        expect(secondsOf(found)).toBeCloseTo(total(values), 6);
        expect(zero).toBe(values.filter((value) => value === 0).length);
        expect(counts.length).toBeLessThanOrEqual(160);
        const base = 2 ** (2 ** -(scale ?? 0));
        counts.forEach((inBucket, place) => {
          const [low, high] = [base ** (offset + place), base ** (offset + place + 1)];
          const wide = values.filter((value) => value > low * 0.999_999 && value <= high * 1.000_001).length;
          const narrow = values.filter(
            (value) => value > low * 1.000_001 && value <= high * 0.999_999,
          ).length;
          expect(inBucket).toBeGreaterThanOrEqual(narrow);
          expect(inBucket).toBeLessThanOrEqual(wide);
        });
        expect(total(counts) + zero).toBe(values.length);
      }),
    );
  });

  test('does not depend on the order of values', () => {
    fc.assert(
      fc.property(durations, (values) => {
        expect(recorded('exponential', values.toReversed())).toEqual(recorded('exponential', values));
      }),
    );
  });

  test('has 8 buckets per doubling, and fewer when there would be more than 160', () => {
    expect(recorded('exponential', [0.02, 0.04]).scale).toBe(3);
    expect(recorded('exponential', [0.0001, 86_400]).scale).toBe(2);
  });

  test('continues from a stored histogram', () => {
    const [first, second] = [
      [0.0001, 0.3],
      [0.2, 86_400],
    ];
    const stored = histogram.parse(JSON.parse(JSON.stringify(recorded('exponential', first ?? []))));
    expect(recorded('exponential', second ?? [], stored)).toEqual(
      recorded('exponential', [...(first ?? []), ...(second ?? [])]),
    );
  });
});

test('an explicit histogram counts each value in the first bucket whose bound is not below the value', () => {
  const { counts, scale, count } = recorded('explicit', [0, 0.005, 0.0051, 10, 10.1, 1]);
  expect(scale).toBeNull();
  expect(count).toBe(6);
  expect(counts).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
  expect(counts).toHaveLength(EXPLICIT_BOUNDS.length + 1);
});

test('a sum of many values is exact', () => {
  const values = Array.from({ length: 100_000 }, (_, index) => (index % 7) / 10_000 + 0.1);
  const tenths = values.reduce((sum, value) => sum + Math.round(value * 10_000), 0);
  expect(secondsOf(recorded('exponential', values))).toBe(tenths / 10_000);
});

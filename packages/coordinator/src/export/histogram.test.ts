import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DurationHistogram, EXPLICIT_BOUNDS, type HistogramData } from './histogram.ts';

/** Durations as probes report them: a tenth of a millisecond to a day, and nothing. */
const durations = fc.array(
  fc.integer({ min: 0, max: 864_000_000 }).map((tenths) => tenths / 10_000),
  { minLength: 1, maxLength: 200 },
);

function recorded(kind: 'exponential' | 'explicit', values: readonly number[]): HistogramData {
  const histogram = DurationHistogram.empty(kind);
  for (const value of values) histogram.record(value);
  return histogram.data;
}

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

describe('an exponential histogram', () => {
  test('has each value once, within the bounds of its bucket', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const { count, sum, min, max, scale, zero, offset, counts } = recorded('exponential', values);
        expect(count).toBe(values.length);
        expect(sum).toBeCloseTo(total(values), 6);
        expect([min, max]).toEqual([Math.min(...values), Math.max(...values)]);
        expect(zero).toBe(values.filter((value) => value === 0).length);
        expect(counts.length).toBeLessThanOrEqual(160);
        const base = 2 ** (2 ** -(scale ?? 0));
        counts.forEach((found, place) => {
          const [low, high] = [base ** (offset + place), base ** (offset + place + 1)];
          const wide = values.filter((value) => value > low * 0.999_999 && value <= high * 1.000_001).length;
          const narrow = values.filter(
            (value) => value > low * 1.000_001 && value <= high * 0.999_999,
          ).length;
          expect(found).toBeGreaterThanOrEqual(narrow);
          expect(found).toBeLessThanOrEqual(wide);
        });
        expect(total(counts) + zero).toBe(values.length);
      }),
    );
  });

  test('does not depend on the order of values', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const { sum: _one, ...one } = recorded('exponential', values);
        const { sum: _other, ...other } = recorded('exponential', values.toReversed());
        expect(other).toEqual(one);
      }),
    );
  });

  test('has 8 buckets per doubling, and fewer where they would be more than 160', () => {
    expect(recorded('exponential', [0.02, 0.04]).scale).toBe(3);
    expect(recorded('exponential', [0.0001, 86_400]).scale).toBe(2);
  });

  test('goes on from what was stored', () => {
    const [first, second] = [
      [0.0001, 0.3],
      [0.2, 86_400],
    ];
    const stored = JSON.parse(JSON.stringify(recorded('exponential', first ?? []))) as HistogramData;
    const histogram = DurationHistogram.of(stored);
    for (const value of second ?? []) histogram.record(value);
    expect(histogram.data).toEqual(recorded('exponential', [...(first ?? []), ...(second ?? [])]));
  });
});

test('an explicit histogram has each value in the first bucket whose bound is not below it', () => {
  const { counts, scale, count } = recorded('explicit', [0, 0.005, 0.0051, 10, 10.1, 1]);
  expect(scale).toBeNull();
  expect(count).toBe(6);
  expect(counts).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
  expect(counts).toHaveLength(EXPLICIT_BOUNDS.length + 1);
});

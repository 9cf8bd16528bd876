import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXPLICIT_BOUNDS, type HistogramData, Histograms, NS_PER_S } from './histograms.ts';

/** Durations as probes report them: a tenth of a millisecond to a day, and nothing. */
const durations = fc.array(
  fc.integer({ min: 0, max: 864_000_000 }).map((tenths) => tenths / 10_000),
  { minLength: 1, maxLength: 200 },
);

function recorded(kind: 'exponential' | 'explicit', values: readonly number[]): HistogramData {
  const histograms = new Histograms(kind);
  const at = histograms.add();
  for (const value of values) histograms.record(at, nanoseconds(value));
  return histograms.data(at);
}

const nanoseconds = (seconds: number) => Math.round(seconds * NS_PER_S);

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

describe('an exponential histogram', () => {
  test('has each value once, within the bounds of its bucket', () => {
    fc.assert(
      fc.property(durations, (values) => {
        const { count, sum, scale, zero, offset, counts } = recorded('exponential', values);
        expect(count).toBe(values.length);
        expect(sum).toBeCloseTo(total(values), 6);
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
    const histograms = new Histograms('exponential');
    const at = histograms.restore(stored);
    for (const value of second ?? []) histograms.record(at, nanoseconds(value));
    expect(histograms.data(at)).toEqual(recorded('exponential', [...(first ?? []), ...(second ?? [])]));
  });
});

test('an explicit histogram has each value in the first bucket whose bound is not below it', () => {
  const { counts, scale, count } = recorded('explicit', [0, 0.005, 0.0051, 10, 10.1, 1]);
  expect(scale).toBeNull();
  expect(count).toBe(6);
  expect(counts).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
  expect(counts).toHaveLength(EXPLICIT_BOUNDS.length + 1);
});

describe.each(['exponential', 'explicit'] as const)('many %s histograms', (kind) => {
  /** Which of a few histograms is given a value; null: it is taken away, and another takes its place. */
  const steps = fc.array(
    fc.tuple(fc.nat(5), fc.option(fc.integer({ min: 0, max: 864_000_000 }).map((tenths) => tenths / 10_000))),
    { maxLength: 300 },
  );

  test('have their own values, however they grow and whatever was in their place', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const histograms = new Histograms(kind);
        const places = Array.from({ length: 6 }, () => histograms.add());
        const values: number[][] = places.map(() => []);
        for (const [which, value] of given) {
          if (value === null) {
            histograms.remove(places[which] ?? -1);
            places[which] = histograms.add();
            values[which] = [];
          } else {
            histograms.record(places[which] ?? -1, nanoseconds(value));
            values[which]?.push(value);
          }
        }
        expect(places.map((at) => histograms.data(at))).toEqual(values.map((each) => recorded(kind, each)));
        expect(histograms.size).toBe(places.length);
      }),
    );
  });

  test('take no more room for being stored and restored', () => {
    const histograms = new Histograms(kind);
    for (let round = 0; round < 50; round += 1) {
      const at = histograms.restore(recorded(kind, [0.0001, 0.02, 86_400]));
      expect(histograms.data(at)).toEqual(recorded(kind, [0.0001, 0.02, 86_400]));
      histograms.remove(at);
    }
    expect(histograms.size).toBe(1);
    expect(histograms.blocks.buckets.length).toBe(new Histograms(kind).blocks.buckets.length);
  });
});

test('a sum is exact, however many values it has', () => {
  const values = Array.from({ length: 100_000 }, (_, index) => (index % 7) / 10_000 + 0.1);
  const tenths = values.reduce((sum, value) => sum + Math.round(value * 10_000), 0);
  expect(recorded('exponential', values).sum).toBe(tenths / 10_000);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addEncoded,
  addHistogram,
  addLatency,
  emptyHistogram,
  encodeHistogram,
  type LatencyHistogram,
  percentile,
} from './latency-histogram.ts';

/** Latencies in steps of 0.1 ms up to two hours. On average, more than half of them are up to 2 s. */
const latency = fc
  .oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 72_000_000 }))
  .map((tenths) => tenths / 10);

function histogramOf(latencies: readonly number[]): LatencyHistogram {
  const histogram = emptyHistogram();
  for (const each of latencies) addLatency(histogram, each);
  return histogram;
}

const decoded = (bytes: Uint8Array | null) => {
  const histogram = emptyHistogram();
  if (bytes !== null) addEncoded(histogram, bytes);
  return histogram;
};

test('a percentile is within 5 % of the exact one', () => {
  fc.assert(
    fc.property(
      fc.array(latency, { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.01, 0.5, 0.75, 0.9, 0.95, 0.99, 1),
      (latencies, share) => {
        const sorted = latencies.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
        const found = percentile(histogramOf(latencies), share) ?? Number.NaN;
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.05 + 1e-9);
      },
    ),
  );
});

test('an empty histogram has no percentile', () => {
  expect(percentile(emptyHistogram(), 0.5)).toBeNull();
  expect(encodeHistogram(emptyHistogram())).toBeNull();
});

test('a stored histogram has the same counts', () => {
  fc.assert(
    fc.property(fc.array(latency), fc.integer({ min: 0, max: 2 ** 32 - 1 }), (latencies, many) => {
      const histogram = histogramOf(latencies);
      histogram[17] = many;
      expect(decoded(encodeHistogram(histogram))).toEqual(histogram);
    }),
  );
});

test('histograms of parts add up to the histogram of the whole, in any order', () => {
  fc.assert(
    fc.property(fc.array(latency), fc.array(latency), (one, other) => {
      const added = histogramOf(other);
      addHistogram(added, histogramOf(one));
      expect(added).toEqual(histogramOf([...one, ...other]));
      const stored = [one, other].map((part) => encodeHistogram(histogramOf(part)) ?? new Uint8Array());
      expect(decoded(Buffer.concat(stored))).toEqual(added);
    }),
  );
});

test('an hour of one region takes a few bytes', () => {
  const everyThirtySeconds = Array.from({ length: 120 }, (_, index) => 80 + (index % 40));
  expect(encodeHistogram(histogramOf(everyThirtySeconds))?.length).toBeLessThan(20);
});

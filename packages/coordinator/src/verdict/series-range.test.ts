import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketOf, regionBuckets, SERIES_RANGES, type SeriesRange, seriesBuckets } from './series-range.ts';

const RANGES = Object.keys(SERIES_RANGES) as SeriesRange[];

test('buckets of every range and period are whole, and the last one holds the present', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100 * 86_400_000, max: 4_000_000_000_000 }),
      fc.constantFrom(...RANGES),
      fc.constantFrom(...PERIODICITIES),
      (now, range, periodicity) => {
        const period = periodMs(periodicity);
        const buckets = seriesBuckets(range, now, period);
        const { from, bucketMs, count } = buckets;
        const { bucketMs: finest, buckets: most } = SERIES_RANGES[range];
        expect(Number.isInteger(count)).toBe(true);
        expect(from % bucketMs).toBe(0);
        expect(bucketMs).toBeGreaterThanOrEqual(period);
        expect(count * bucketMs).toBe(finest * most);
        expect(bucketOf(buckets, now)).toBe(from + (count - 1) * bucketMs);

        const wide = regionBuckets(range, buckets);
        expect(Number.isInteger(wide.count)).toBe(true);
        expect(wide.count).toBeLessThanOrEqual(90);
        expect(wide.bucketMs % bucketMs).toBe(0);
        expect([wide.from, wide.count * wide.bucketMs]).toEqual([from, count * bucketMs]);
      },
    ),
  );
});

test('a bucket is never shorter than the period', () => {
  const now = Date.UTC(2026, 0, 1, 12, 30);
  expect(seriesBuckets('1h', now, periodMs('30s'))).toMatchObject({ bucketMs: 60_000, count: 60 });
  expect(seriesBuckets('1h', now, periodMs('10m'))).toMatchObject({ bucketMs: 600_000, count: 6 });
  expect(seriesBuckets('90d', now, periodMs('1h'))).toMatchObject({ bucketMs: 86_400_000, count: 90 });
});

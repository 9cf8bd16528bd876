import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { DeclaredPage } from '../../../../test/support/declared-page.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '../verdict/latency-histogram.ts';
import { HOUR_MS, hourOf } from '../verdict/summary-range.ts';
import { latenciesOf, latencySpan } from './latencies.ts';

let configured: ConfiguredStore;
let monitorId: number;

beforeEach(async () => {
  configured = await configuredStore();
  const page = await DeclaredPage.declare(configured, { monitors: [] });
  monitorId = await page.addMonitor('API');
});
afterEach(() => configured.dispose());

/**
 * Adds hours with a hundred answers of these latencies in each of two regions; undefined: every check failed.
 * Sets the end of the roll-ups to `until`.
 */
async function addHours(hours: readonly { at: number; ms?: readonly [number, number] }[], until: number) {
  const rows = hours.flatMap(({ at, ms }) =>
    ['hosta-fra', 'hostb-par'].map((region, index) => {
      const histogram = emptyHistogram();
      for (let count = 0; ms !== undefined && count < 100; count += 1) addLatency(histogram, ms[index] ?? 0);
      return [
        monitorId,
        at,
        region,
        ms === undefined ? 0 : 100,
        ms === undefined ? 100 : 0,
        encodeHistogram(histogram),
      ];
    }),
  );
  await configured.store.commit([
    {
      sql: `INSERT INTO rollup_hours (monitor_id, at, region, passed, degraded, failed, not_run, latency)
        VALUES (?, ?, ?, ?, 0, ?, 0, ?)`,
      rows,
    },
    {
      sql: `INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, 0, 0, 0)
        ON CONFLICT (id) DO UPDATE SET hour = excluded.hour`,
      rows: [[until]],
    },
  ]);
}

test('latencies of a day are those of its rolled-up hours, in all regions', async () => {
  const { store, clock } = configured;
  const until = hourOf(clock.wall()) - HOUR_MS;
  await addHours(
    [
      { at: until - 30 * HOUR_MS, ms: [9_000, 9_000] },
      { at: until - 2 * HOUR_MS },
      { at: until - HOUR_MS, ms: [100, 400] },
    ],
    until,
  );
  const span = await latencySpan(store, '24h', clock.wall());
  expect(span).toEqual({ range: '24h', until });
  const { median, p95, buckets } = await latenciesOf(store, monitorId, span);
  // Histograms are exact within 5 %.
  expect(Math.abs((median ?? 0) - 100)).toBeLessThan(5);
  expect(Math.abs((p95 ?? 0) - 400)).toBeLessThan(20);
  expect(buckets).toHaveLength(8);
  const last = buckets.findLast((bucket) => bucket.median !== null);
  expect(last).toMatchObject({ median, p95 });
  expect((last?.at ?? 0) % (3 * HOUR_MS)).toBe(0);
  expect(buckets.filter((bucket) => bucket.median === null)).toHaveLength(7);
});

test('a week has buckets of one day, and roll-ups from a clock that was ahead are left out', async () => {
  const { store, clock } = configured;
  const now = clock.wall();
  await addHours([{ at: hourOf(now) - 100 * HOUR_MS, ms: [100, 100] }], hourOf(now) + 50 * HOUR_MS);
  const span = await latencySpan(store, '7d', now);
  expect(span.until).toBeLessThanOrEqual(now);
  const { buckets } = await latenciesOf(store, monitorId, span);
  expect(buckets).toHaveLength(7);
  expect(buckets.filter(({ median }) => median !== null)).toHaveLength(1);
  expect((buckets[1]?.at ?? 0) - (buckets[0]?.at ?? 0)).toBe(24 * HOUR_MS);
});

test('a monitor without results has no latencies', async () => {
  const { store, clock } = configured;
  const found = await latenciesOf(store, monitorId, await latencySpan(store, '24h', clock.wall()));
  expect(found).toMatchObject({ median: null, p95: null });
});

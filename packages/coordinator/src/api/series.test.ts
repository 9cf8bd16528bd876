import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { silentLog } from '../../../../test/support/configured-store.ts';
import { caughtUp } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { addRows, addWorkspace } from '../../../../test/support/store-rows.ts';
import { Rollups } from '../history/rollups.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';
import { SERIES_RANGES, type SeriesRange } from '../verdict/series-range.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import type { PhasesView, SeriesView, UptimeView } from './routes/series.ts';
import type { SummaryView } from './routes/summary.ts';

const RANGES = Object.keys(SERIES_RANGES) as SeriesRange[];
const PERIOD = 60_000;
let api: RunningApi;
let id: number;

beforeEach(async () => {
  api = await startApi();
  // The clock shows the middle of an hour in the middle of a day.
  api.clock.advance(100 * DAY_MS + 12.5 * HOUR_MS);
  const monitor = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
  id = Number(((await api.call('POST', '/v1/monitors', monitor)).body as { id: string }).id);
});
afterEach(() => api.dispose());

/** Rolls up the recorded results, the oldest first. */
async function rollUp(): Promise<void> {
  const { store, clock } = api;
  const slotNow = () => clock.wall();
  const parts = { store, clock, slotNow, believedNow: slotNow, isCaughtUp: () => true, log: silentLog };
  await caughtUp(await Rollups.load(parts));
}

async function read<T>(path: string): Promise<T> {
  const { status, body } = await api.call('GET', `/v1/monitors/${id}/${path}`);
  expect(status).toBe(200);
  return body as T;
}
const series = (range: SeriesRange, region = '') =>
  read<SeriesView>(`series?range=${range}${region === '' ? '' : `&region=${region}`}`);
const phases = (range: SeriesRange) => read<PhasesView>(`phases?range=${range}`);

type Result = { ago: number; region: string; outcome: 'passed' | 'degraded' | 'failed'; latency: number };

/** Adds a result of the first slot that begins at least `ago` ms before now. */
async function addResult({ ago, region, outcome, latency }: Result): Promise<void> {
  const slot = gridSlotFrom(api.clock.wall() - ago, PERIOD, phaseOf(id, PERIOD));
  const phases = { dns: 1, connect: 2, first_byte: latency - 3 };
  await addResults(api.store, { slot, monitor_id: id, region, outcome, latency, phases });
}

const total = (view: SeriesView) =>
  view.series.reduce((sum, { results }) => sum + results.passed + results.degraded + results.failed, 0);

describe('the series of a monitor', () => {
  test.each(RANGES)('of %s has its buckets without a gap, also of a new monitor', async (range) => {
    const found = await series(range);
    const { buckets, bucketMs } = SERIES_RANGES[range];
    expect(found).toMatchObject({ range, region: null, bucket_ms: bucketMs, regions: [] });
    expect(found.series.map(({ at }) => at)).toEqual(
      Array.from({ length: buckets }, (_, index) => found.from + index * bucketMs),
    );
    expect(found.until - (found.from + (buckets - 1) * bucketMs)).toBeLessThan(bucketMs);
    expect(found.series.every(({ latency }) => latency.p50 === null)).toBe(true);
  });

  test('is the same before and after the roll-up of its results', async () => {
    const agos = [1, 30, 59, 90, 300, 600, 1_400, 3_000, 9_000, 19_000].map((minutes) => minutes * 60_000);
    for (const [index, ago] of agos.entries()) {
      await addResult({ ago, region: 'hosta-fra', outcome: 'passed', latency: 100 + index });
      await addResult({
        ago,
        region: 'hostb-par',
        outcome: index % 3 === 0 ? 'failed' : 'degraded',
        latency: 900,
      });
    }
    const all = async () =>
      Promise.all(RANGES.flatMap((range) => [series(range), series(range, 'hostb-par'), phases(range)]));
    const before = await all();
    await rollUp();
    expect(await all()).toEqual(before);
    expect(before.filter((_, index) => index % 3 === 0).map((view) => total(view as SeriesView))).toEqual([
      6, 10, 14, 18, 20, 20,
    ]);
    const { regions, region_bucket_ms, bucket_ms, results, latency } = await series('14d');
    expect(region_bucket_ms).toBe(6 * bucket_ms);
    expect(results).toEqual({ passed: 10, degraded: 6, failed: 4, not_run: 0 });
    expect(regions.map(({ region, results: each }) => [region, each.passed, each.failed])).toEqual([
      ['hosta-fra', 10, 0],
      ['hostb-par', 0, 4],
    ]);
    // The latencies of failed results do not count.
    expect(Math.abs((latency.p50 ?? 0) - 104)).toBeLessThan(8);
    expect(regions[1]?.p95.filter((value) => value !== null)).toHaveLength(4);
    const ofParis = await series('14d', 'hostb-par');
    expect(ofParis).toMatchObject({
      region: 'hostb-par',
      results: { passed: 0, degraded: 6, failed: 4 },
      regions,
    });
  });

  test('has 90 days, which outlive the results', async () => {
    await addResult({ ago: 40 * DAY_MS, region: 'hosta-fra', outcome: 'passed', latency: 100 });
    await rollUp();
    const found = await series('90d');
    expect(found.results.passed).toBe(1);
    expect(found.series.findIndex(({ results }) => results.passed === 1)).toBe(49);
  });

  test.each(['?range=2h', '?region=atlantis', '?days=3'])('refuses %s', async (query) => {
    for (const name of ['series', 'phases'])
      expect((await api.call('GET', `/v1/monitors/${id}/${name}${query}`)).status).toBe(400);
  });
});

describe('the phases of a monitor', () => {
  test('are means of good results, and their sum is the latency', async () => {
    await addResult({ ago: 60_000, region: 'hosta-fra', outcome: 'passed', latency: 10 });
    await addResult({ ago: 60_000, region: 'hostb-par', outcome: 'degraded', latency: 30 });
    await addResult({ ago: 120_000, region: 'hosta-fra', outcome: 'failed', latency: 500 });
    const { series: buckets, every } = await phases('6h');
    expect(every).toBe(1);
    expect(buckets.filter(({ results }) => results > 0)).toEqual([
      {
        at: expect.any(Number),
        results: 2,
        phases: { dns: 1, connect: 2, tls: 0, first_byte: 17, transfer: 0 },
      },
    ]);
  });

  test('come from a sample of many results', async () => {
    const regions = ['hosta-fra', 'hostb-par', 'hosta-iad'] as const;
    await api.call('PUT', `/v1/monitors/${id}`, {
      type: 'http',
      name: 'Shop',
      url: 'https://shop.example/',
      periodicity: '30s',
      regions,
    });
    expect(await phases('14d')).toMatchObject({ every: 1 });
    await addResult({ ago: 13 * DAY_MS, region: 'hosta-fra', outcome: 'passed', latency: 100 });
    // Since the first result, there were 37,440 slots of three regions. Only 6,000 results are read.
    expect(await phases('14d')).toMatchObject({ every: 19 });
  });
});

describe('the uptime of a monitor', () => {
  test('equals that of the summaries', async () => {
    const now = api.clock.wall();
    const change = (at: number, from_status: string, to_status: string) =>
      addRows(api.store, 'transitions', {
        ...{
          monitor_id: id,
          from_status,
          to_status,
          reason: 'x',
          at,
          slot: null,
          votes: '[]',
          incident: null,
        },
      });
    await change(now - 60 * DAY_MS, 'unknown', 'active');
    await change(now - 5 * DAY_MS, 'active', 'error');
    await change(now - 4.9 * DAY_MS, 'error', 'degraded');
    await change(now - HOUR_MS, 'degraded', 'active');
    const { ranges, days, until } = await read<UptimeView>('uptime');
    expect(until).toBe(now);
    expect(days).toHaveLength(90);
    for (const { range, from, uptime, time } of ranges) {
      const summary = await read<SummaryView>(`summary?range=${range}`);
      expect({ from, uptime, time }).toEqual({
        from: summary.from,
        uptime: summary.uptime,
        time: summary.time,
      });
    }
    expect(ranges.map(({ uptime }) => uptime)).toEqual([100, 98.56, 99.66, 99.83]);
    expect(days.at(-6)).toMatchObject({ status: 'error' });
    expect(days[0]).toMatchObject({ status: 'unknown', uptime: null });
  });
});

test('charts are for readers of the workspace', async () => {
  const other = await addWorkspace(api.store, 'other');
  const { secret } = await api.tokens.create({ workspaceId: other, name: 'x', scope: 'admin' }, 0);
  for (const name of ['series', 'phases', 'uptime', 'deliveries']) {
    const path = `/v1/monitors/${id}/${name}`;
    const asked = async (authorization: string) =>
      (await api.call('GET', path, undefined, { authorization })).status;
    expect(
      [await asked(`Bearer ${api.reader}`), await asked(''), await asked(`Bearer ${secret.reveal()}`)],
      name,
    ).toEqual([200, 401, 404]);
  }
});

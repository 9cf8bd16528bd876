import type { Region } from '@svc/shared/regions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { addSampleHistory } from '../../../../test/support/sample-history.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';

let api: RunningApi;
let id: string;
let without: string;

beforeAll(async () => {
  api = await startApi();
  api.clock.advance(200 * DAY_MS + 13.75 * HOUR_MS);
  id = String(await addSampleHistory(api));
  without = await api.create('/v1/monitors', {
    type: 'tcp',
    name: 'new',
    uri: 'a.example:1',
    periodicity: '1m',
  });
});
afterAll(() => api.dispose());

type Listed = { id: string; disagreeing: string[]; history?: Record<string, unknown> };
const get = async <T>(path: string) => (await api.call('GET', path)).body as T;
const listed = async (monitor: string, query = '') =>
  (await get<{ data: Listed[] }>(`/v1/monitor-states?ids=${monitor}${query}`)).data[0] as Listed;

test('the list has the uptimes and the days of the monitor’s own page', async () => {
  const { history } = await listed(id, '&include=history');
  type Uptime = { ranges: { range: string; uptime: number }[]; days: { status: string; time: object }[] };
  const { ranges, days } = await get<Uptime>(`/v1/monitors/${id}/uptime`);
  const of = (range: string) => ranges.find((each) => each.range === range)?.uptime;
  expect(of('24h')).toBeLessThan(100);
  expect(history).toMatchObject({ uptime_24h: of('24h'), uptime_90d: of('90d') });
  expect(history?.days).toEqual(days.map(({ status }) => status));
  expect(history?.hours).toContain('error');
});

test('the list has the median of each of the last 24 hours that are rolled up', async () => {
  const { history } = await listed(id, '&include=history');
  type Summary = { data: { at: number; latency: { p50: number | null } }[] };
  const latencies = history?.latencies as number[];
  expect(latencies).toHaveLength(24);
  const { latency } = await get<{ latency: { p50: number } } & Summary>(
    `/v1/monitors/${id}/series?range=24h`,
  );
  // Roll-ups are kept as histograms, whose percentiles are
  // exact to five percent, and end with the last whole hour.
  const p50 = history?.latency as number;
  expect(Math.abs(p50 - latency.p50)).toBeLessThan(0.1 * latency.p50);
  for (const each of latencies) expect(Math.abs(each - p50)).toBeLessThan(0.5 * p50);
});

test('a monitor without data has no figures, and without the parameter there is no history', async () => {
  expect((await listed(without, '&include=history')).history).toMatchObject({
    ...{ uptime_24h: null, uptime_90d: null, latency: null },
    latencies: Array(24).fill(null),
  });
  expect(await listed(without)).not.toHaveProperty('history');
  expect((await api.call('GET', '/v1/monitor-states?include=all')).status).toBe(400);
});

test.each([
  ['active', { 'hosta-fra': 'passed', 'hostb-par': 'failed', 'hostc-us-east4': 'degraded' }, [1, 2]],
  ['degraded', { 'hosta-fra': 'passed', 'hostb-par': 'failed', 'hostc-us-east4': 'degraded' }, [0]],
  ['error', { 'hosta-fra': 'passed', 'hostb-par': 'failed', 'hostc-us-east4': 'degraded' }, [0, 2]],
  ['unknown', { 'hosta-fra': 'passed', 'hostb-par': 'failed' }, []],
] as const)('regions that disagree with %s, while their votes count', async (status, outcomes, expected) => {
  const before = api.states.get(Number(id));
  const [vote] = before?.votes ?? [];
  if (vote === undefined) throw new Error('the sample has votes');
  const regions = Object.keys(outcomes) as Region[];
  const disagreeing = async (at: number) => {
    const votes = regions.map((region) => ({
      ...vote,
      region,
      at,
      outcome: outcomes[region as 'hosta-fra'],
    }));
    api.states.set(Number(id), { status, votes });
    return (await listed(id)).disagreeing;
  };
  expect(await disagreeing(api.clock.wall())).toEqual(expected.map((index) => regions[index]));
  expect(await disagreeing(api.clock.wall() - HOUR_MS)).toEqual([]);
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { silentLog } from '../../../../test/support/configured-store.ts';
import { caughtUp } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { addRows, addWorkspace } from '../../../../test/support/store-rows.ts';
import { Rollups } from '../history/rollups.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';
import { DAY_MS, dayOf, HOUR_MS } from '../verdict/summary-range.ts';
import type { SummaryView } from './routes/summary.ts';

let api: RunningApi;
let rollups: Rollups;
let id: number;

beforeAll(async () => {
  api = await startApi();
  const { store, clock } = api;
  const slotNow = () => clock.wall();
  rollups = await Rollups.load({
    store,
    clock,
    slotNow,
    believedNow: slotNow,
    isCaughtUp: () => true,
    log: silentLog,
  });
  // The clock shows the middle of an hour in the middle of a day.
  clock.advance(12 * HOUR_MS + HOUR_MS / 2);
});
afterAll(() => api.dispose());
beforeEach(async () => {
  const monitor = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
  id = Number(((await api.call('POST', '/v1/monitors', monitor)).body as { id: string }).id);
});

async function summary(query = ''): Promise<SummaryView> {
  const { status, body } = await api.call('GET', `/v1/monitors/${id}/summary${query}`);
  expect(status).toBe(200);
  return body as SummaryView;
}

/** Adds a result whose slot is in the first half minute after `at`. */
async function addResult(
  at: number,
  region: string,
  outcome: 'passed' | 'degraded' | 'failed' | 'not_run',
  latency: number,
) {
  const slot = gridSlotFrom(at, 30_000, phaseOf(id, 30_000));
  await addResults(api.store, { slot, monitor_id: id, region, outcome, latency, recorded_at: at });
}

async function addChange(at: number, from_status: string, to_status: string) {
  const row = { monitor_id: id, from_status, to_status, reason: 'x', at, slot: null, votes: '[]' };
  await addRows(api.store, 'transitions', { ...row, incident: null });
}

const NOTHING = {
  results: { passed: 0, degraded: 0, failed: 0, not_run: 0 },
  latency: { p50: null, p75: null, p90: null, p95: null, p99: null },
};

describe('the summary of a monitor', () => {
  test('without any result', async () => {
    const now = api.clock.wall();
    expect(await summary()).toEqual({
      range: '24h',
      from: now - (now % HOUR_MS) - 23 * HOUR_MS,
      until: now,
      bucket_ms: HOUR_MS,
      uptime: null,
      time: { active: 0, degraded: 0, error: 0, unknown: 23.5 * HOUR_MS, maintenance: 0 },
      ...NOTHING,
      regions: [],
      series: expect.any(Array),
    });
    const { series } = await summary();
    expect(series).toHaveLength(24);
    expect(series[0]).toEqual({
      at: now - (now % HOUR_MS) - 23 * HOUR_MS,
      status: 'unknown',
      uptime: null,
      ...NOTHING,
    });
  });

  test('counts each region, and time by verdicts', async () => {
    const now = api.clock.wall();
    for (const outcome of ['passed', 'degraded', 'failed'] as const) {
      await addResult(
        now - { passed: 1, degraded: 2, failed: 3 }[outcome] * HOUR_MS,
        'hosta-fra',
        outcome,
        100,
      );
    }
    await addResult(now - HOUR_MS, 'hosta-iad', 'passed', 200);
    await addResult(now - 2 * HOUR_MS, 'hosta-iad', 'not_run', 1);
    await addChange(now - 2 * HOUR_MS, 'unknown', 'active');
    await addChange(now - HOUR_MS, 'active', 'error');
    await addChange(now - HOUR_MS / 2, 'error', 'unknown');
    const found = await summary();
    expect(found).toMatchObject({
      uptime: 66.66,
      time: { active: HOUR_MS, degraded: 0, error: HOUR_MS / 2 },
      results: { passed: 2, degraded: 1, failed: 1, not_run: 1 },
      regions: [
        {
          region: 'hosta-fra',
          uptime_by_checks: 66.66,
          results: { passed: 1, degraded: 1, failed: 1, not_run: 0 },
        },
        { region: 'hosta-iad', uptime_by_checks: 100, results: { passed: 1, not_run: 1 } },
      ],
    });
    // The latency of the failed result does not count.
    const [fra] = found.regions;
    expect(Math.abs((fra?.latency.p99 ?? 0) - 100)).toBeLessThan(5);
    expect(Math.abs((found.latency.p99 ?? 0) - 200)).toBeLessThan(10);
    // The clock shows the middle of an hour, so each bucket covers the halves of two hours.
    expect(found.series.slice(-3).map(({ status, uptime }) => [status, uptime])).toEqual([
      ['active', 100],
      ['error', 50],
      ['unknown', null],
    ]);
  });

  test('has the newest result at once, and days after their roll-up', async () => {
    const today = dayOf(api.clock.wall());
    await addResult(api.clock.wall() - 60_000, 'hosta-fra', 'passed', 10);
    await addChange(today, 'unknown', 'active');
    expect(await summary('?range=30d')).toMatchObject({ results: { passed: 1 }, uptime: 100 });
    api.clock.advance(2 * DAY_MS);
    await caughtUp(rollups);
    await addResult(api.clock.wall() - 60_000, 'hosta-fra', 'failed', 10);
    const { series, results, bucket_ms } = await summary('?range=90d');
    expect({ results, bucket_ms, length: series.length }).toMatchObject({
      results: { passed: 1, failed: 1 },
      bucket_ms: DAY_MS,
      length: 90,
    });
    expect(
      series.slice(-4).map(({ at, status, results: { passed, failed } }) => [at, status, passed, failed]),
    ).toEqual([
      [today - DAY_MS, 'unknown', 0, 0],
      [today, 'active', 1, 0],
      [today + DAY_MS, 'active', 0, 0],
      [today + 2 * DAY_MS, 'active', 0, 1],
    ]);
  });

  test.each([
    ['24h', 24],
    ['7d', 168],
    ['30d', 30],
    ['90d', 90],
    ['400d', 400],
  ])('of %s has %i buckets without a gap', async (range, count) => {
    const { series, bucket_ms, from } = await summary(`?range=${range}`);
    expect(series.map(({ at }) => at)).toEqual(
      Array.from({ length: count }, (_, index) => from + index * bucket_ms),
    );
  });

  test.each(['?range=1h', '?range=', '?days=3'])('refuses %s', async (query) => {
    const answer = await api.call('GET', `/v1/monitors/${id}/summary${query}`);
    expect(answer.status).toBe(400);
  });

  test('is for readers of its workspace', async () => {
    const path = `/v1/monitors/${id}/summary`;
    expect((await api.call('GET', path, undefined, { authorization: `Bearer ${api.reader}` })).status).toBe(
      200,
    );
    expect((await api.call('GET', path, undefined, { authorization: '' })).status).toBe(401);
    expect((await api.call('GET', '/v1/monitors/99999/summary')).status).toBe(404);
    const other = await addWorkspace(api.store, 'other');
    const token = { workspaceId: other, name: 'x', scope: 'write' } as const;
    const { secret } = await api.tokens.create(token, 0);
    expect(
      (await api.call('GET', path, undefined, { authorization: `Bearer ${secret.reveal()}` })).status,
    ).toBe(404);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { addRows } from '../../../../test/support/store-rows.ts';
import { gridSlotUntil, phaseOf } from '../verdict/schedule.ts';

const MONITOR = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
const PERIOD = 60_000;

type Page = { data: Record<string, unknown>[]; next_cursor: string | null };

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

const created = async (path: string, body: object): Promise<number> => Number(await api.create(path, body));

async function page(path: string): Promise<Page> {
  const { status, body } = await api.call('GET', path);
  expect(status).toBe(200);
  return body as Page;
}

describe('the results of a monitor, filtered', () => {
  let id: number;
  let slots: number[];

  beforeAll(async () => {
    id = await created('/v1/monitors', MONITOR);
    const newest = gridSlotUntil(api.clock.wall(), PERIOD, phaseOf(id, PERIOD));
    slots = Array.from({ length: 20 }, (_, index) => newest - index * PERIOD);
    for (const [index, slot] of slots.entries()) {
      const outcome = index % 5 === 0 ? 'failed' : 'passed';
      for (const region of ['hosta-fra', 'hostb-par'])
        await addResults(api.store, { slot, monitor_id: id, region, outcome, latency: 1 });
    }
  });

  test('by outcome, region and time', async () => {
    const path = `/v1/monitors/${id}/results`;
    const failed = await page(`${path}?outcome=failed&region=hosta-fra`);
    expect(failed.data.map(({ cron_timestamp: at }) => at)).toEqual([
      slots[0],
      slots[5],
      slots[10],
      slots[15],
    ]);
    const within = await page(`${path}?outcome=failed&from=${slots[10]}&until=${slots[5]}`);
    expect(within.data.map(({ cron_timestamp: at, region }) => [at, region])).toEqual([
      [slots[10], 'hostb-par'],
      [slots[10], 'hosta-fra'],
    ]);
    expect((await page(`${path}?outcome=not_run`)).data).toEqual([]);
    expect((await page(`${path}?until=0`)).data).toEqual([]);
  });

  test('in consecutive pages', async () => {
    const found: unknown[] = [];
    let cursor = '';
    for (;;) {
      const { data, next_cursor: next } = await page(
        `/v1/monitors/${id}/results?outcome=failed&limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      found.push(...data.map(({ cron_timestamp: at }) => at));
      if (next === null) break;
      cursor = next;
    }
    expect(found).toEqual([0, 0, 5, 5, 10, 10, 15, 15].map((index) => slots[index]));
  });

  test.each(['outcome=broken', 'from=-1', 'until=yesterday', 'from=1.5'])('refuses %s', async (query) => {
    const answer = await api.call('GET', `/v1/monitors/${id}/results?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ parameter: query.split('=')[0] }] } });
  });
});

test('the deliveries of a monitor to all its channels are listed, newest first', async () => {
  const id = await created('/v1/monitors', MONITOR);
  const other = await created('/v1/monitors', MONITOR);
  const webhook = { provider_type: 'webhook', webhook: { endpoint: 'http://127.0.0.1:9/' } };
  const channels = [
    await created('/v1/notifications', { ...webhook, monitor_ids: [String(id)] }),
    await created('/v1/notifications', { ...webhook, monitor_ids: [String(id)] }),
  ];
  const add = (monitor_id: number, notification_id = 0, state: 'delivered' | 'dead' = 'delivered') =>
    addRows(api.store, 'deliveries', {
      ...{ uid: crypto.randomUUID(), notification_id, monitor_id, alert: '{}', incident: null, status: null },
      ...{ state, next_attempt_at: null, last_error: null, created_at: 1, replayed_at: null, finished_at: 2 },
    });
  const ids = [
    await add(id, channels[0]),
    await add(other, channels[0]),
    await add(id, channels[1], 'dead'),
    await add(id, channels[0]),
  ].map(String);
  const path = `/v1/monitors/${id}/deliveries`;
  const first = await page(`${path}?limit=2`);
  expect(first.data.map((each) => [each.id, each.notification_id])).toEqual([
    [ids[3], String(channels[0])],
    [ids[2], String(channels[1])],
  ]);
  expect((await page(`${path}?limit=2&cursor=${first.next_cursor}`)).data).toMatchObject([{ id: ids[0] }]);
  expect((await page(`${path}?state=dead`)).data).toMatchObject([{ id: ids[2] }]);
});

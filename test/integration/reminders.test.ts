import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

/*
 * The whole service reminds people of an open incident until it is acknowledged. The coordinator ends and
 * starts again in between.
 */

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const HOUR_MS = 3_600_000;

test('an open incident is repeated once per interval, over ends of the coordinator, until it is acknowledged', async (context) => {
  const opened = openedIn(context);
  const [web, phone, hook] = [await targetIn(opened), await receiverIn(opened), await receiverIn(opened)];
  let isDown = true;
  web.answerWith((response) => {
    response.statusCode = isDown ? 503 : 200;
    response.end();
  });
  phone.answerWith((_request, response) => response.end(JSON.stringify({ id: 'x', time: 1 })));
  const monitor_ids = [`\${svc_http_monitor.shop.id}`];
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {
      svc_http_monitor: {
        shop: { name: 'Shop', url: web.url, periodicity: '30s', retry: 0, active: true, regions: REGIONS },
      },
      svc_notification: {
        phone: {
          ...{ provider_type: 'push_a', push_a: { topic: 'ops', server_url: phone.url } },
          ...{ monitor_ids, remind_every: '1h' },
        },
        hook: {
          ...{ provider_type: 'webhook', webhook: { endpoint: hook.url } },
          ...{ monitor_ids, remind_every: '1d' },
        },
      },
    },
  });
  const told = () => phone.requests.map(({ json }) => (json as { title: string }).title);
  /**
   * Waits until so many deliveries to both channels are stored as delivered. A coordinator that ends before
   * that sends the message again.
   */
  async function delivered(count: number): Promise<void> {
    const path = `/v1/monitors/${await service.idOf('Shop')}/deliveries?state=delivered`;
    await service.until(async () => (await service.get<{ data: object[] }>(path)).data.length === count);
  }
  /** Ends the coordinator, and lets so much time pass since all that it has sent. */
  async function pass(ms: number): Promise<void> {
    await service.stopCoordinator();
    const store = await service.database.open();
    await store.commit([
      { sql: 'UPDATE delivery_threads SET at = at - ?', rows: [[ms]] },
      { sql: 'UPDATE reminders SET at = at - ?', rows: [[ms]] },
    ]);
    await store.close();
    await service.startCoordinator();
  }

  await service.changed('Shop', 'error');
  await delivered(2);
  await pass(HOUR_MS);
  await delivered(3);
  await pass(2 * HOUR_MS);
  await delivered(4);
  expect(told()).toEqual(['Error: Shop', 'Still failing: Shop', 'Still failing: Shop']);
  const clicks = phone.requests.map(({ json }) => (json as { click: string }).click);
  expect(clicks[2]).toMatch(/\/monitors\/\d+\/incident$/);

  const id = await service.idOf('Shop');
  const { data } = await service.get<{ data: { id: string }[] }>(`/v1/incidents?monitor_id=${id}&state=open`);
  const path = `/v1/incidents/${data[0]?.id}/acknowledge`;
  expect(await service.request('POST', path, { note: 'On it.' })).toMatchObject({ status: 200 });
  await pass(24 * HOUR_MS);
  await service.decided(id, 3);
  expect(told()).toHaveLength(3);
  expect(hook.requests.map(({ headers }) => headers['svc-reminder'])).toEqual([undefined]);

  isDown = false;
  await service.until(() => told().length === 4);
  expect(told()[3]).toBe('Recovered: Shop');
});

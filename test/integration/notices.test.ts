import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

/*
 * The whole service tells people about a region that fails alone and about missing data. The coordinator ends
 * and starts again in between.
 */

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const LOST: Region = 'hosta-ams';
const MINUTE_MS = 60_000;

test('people are told about a region that fails alone and about a monitor without data, once each, and about both ends', async (context) => {
  const opened = openedIn(context);
  const [web, phone, hook] = [await targetIn(opened), await receiverIn(opened), await receiverIn(opened)];
  web.answerWith((response) => response.end('ok'));
  phone.answerWith((_request, response) => response.end(JSON.stringify({ id: 'x', time: 1 })));
  const port = new URL(web.url).port;
  let failing = true;
  const monitor = { periodicity: '30s', retry: 0, active: true };
  const monitors = ['partly', 'well', 'lost'].map((name) => `\${svc_http_monitor.${name}.id}`);
  const service = await serviceIn(opened, {
    scale: 30,
    regions: [...REGIONS, LOST],
    regionNoticeAfterMs: 2 * MINUTE_MS,
    names: (region) => ({
      get 'web.test'() {
        // At first, the name resolves in one region to an address on which nothing listens.
        return [region === 'hosta-fra' && failing ? '127.0.0.2' : '127.0.0.1'];
      },
    }),
    declared: {
      svc_http_monitor: {
        partly: { ...monitor, name: 'Partly', url: `http://web.test:${port}/`, regions: REGIONS },
        well: { ...monitor, name: 'Well', url: web.url, regions: REGIONS },
        lost: { ...monitor, name: 'Lost', url: web.url, regions: [LOST] },
      },
      svc_notification: {
        phone: {
          provider_type: 'push_a',
          push_a: { topic: 'ops', server_url: phone.url },
          monitor_ids: monitors,
        },
        hook: { provider_type: 'webhook', webhook: { endpoint: hook.url }, monitor_ids: monitors },
      },
    },
  });
  const told = () => phone.requests.map(({ json }) => (json as { title: string }).title);
  const monitorOf = async (name: string) =>
    service.get<{ status: string; warnings: string[] }>(`/v1/monitors/${await service.idOf(name)}`);
  await service.changed('Lost', 'active');
  await service.until(() => told().length === 1);
  expect(told()).toEqual(['Region hosta-fra fails: Partly']);
  expect(await monitorOf('Partly')).toMatchObject({
    status: 'active',
    warnings: [expect.stringContaining('region hosta-fra alone has failed since')],
  });

  await service.stopAgent(LOST);
  await service.changed('Lost', 'unknown');
  await service.stopCoordinator();
  await service.startCoordinator();
  await service.until(() => told().length === 2);
  expect(told()[1]).toBe('No data: Lost');

  failing = false;
  await service.stopCoordinator();
  await service.startCoordinator();
  await service.startAgent(LOST);
  await service.until(() => told().length === 4);
  expect(told().slice(2).toSorted()).toEqual(['Data is back: Lost', 'Region hosta-fra works again: Partly']);
  expect(await monitorOf('Partly')).toMatchObject({ warnings: [] });
  expect(hook.requests).toEqual([]);
});

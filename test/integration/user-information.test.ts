import { describe, expect, test } from 'vitest';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS = ['hosta-fra'] as const;

describe.concurrent('user information in addresses', () => {
  test('is sent only to the target and the receiver, as credentials', async (context) => {
    const opened = openedIn(context);
    const target = await targetIn(opened);
    const hook = await receiverIn(opened);
    target.answerWith((response) => {
      const isKnown = response.req.headers.authorization === `Basic ${btoa('probe:h@nter2')}`;
      response.writeHead(isKnown ? 200 : 401).end();
    });
    const service = await serviceIn(opened, {
      regions: REGIONS,
      declared: {
        svc_http_monitor: {
          web: {
            name: 'Web',
            url: `${target.url.replace('//', '//probe:h%40nter2@')}/health`,
            periodicity: '30s',
            active: true,
            retry: 0,
          },
        },
        svc_notification: {
          hook: {
            provider_type: 'webhook',
            webhook: { endpoint: hook.url.replace('//', '//alerts:c0rrect@') },
            monitor_ids: [`\${svc_http_monitor.web.id}`],
          },
        },
      },
    });
    await service.changed('Web', 'active');

    target.answerWith((response) => response.writeHead(500).end());
    const [alert] = await hook.received(1);
    expect(alert?.headers).toMatchObject({ authorization: `Basic ${btoa('alerts:c0rrect')}` });
    expect(alert?.json).toMatchObject({ monitor: { name: 'Web', url: `${target.url}/health` } });
    expect(JSON.stringify(alert?.json)).not.toMatch(/probe|nter2/);
    const id = await service.idOf('Web');
    for (const path of [`/v1/monitors/${id}/results`, `/v1/monitors/${id}/transitions`]) {
      expect(JSON.stringify(await service.get(path))).not.toMatch(/probe:|nter2/);
    }
    expect(JSON.stringify([...service.said.keys(), ...service.warnings])).not.toMatch(/nter2|c0rrect/);
  });
});

/** The monitors that Terraform applies are checked and alert, and its changes count from the next slot on. */
import { expect, test } from 'vitest';
import { openedIn, receiverIn, serviceIn, targetIn } from '../../support/opened.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { applyForGood } from '../../support/terraform/expectations.ts';
import { type Configuration, ref } from '../../support/terraform/runner.ts';

const PERIOD_MS = 30_000;

const declaring = (url: string, hook: string, monitor: object = {}): Configuration => ({
  resource: {
    svc_http_monitor: {
      web: {
        name: 'Web',
        url,
        periodicity: '30s',
        active: true,
        retry: 0,
        regions: ['hosta-fra'],
        ...monitor,
      },
    },
    svc_notification: {
      hook: {
        provider_type: 'webhook',
        webhook: [{ endpoint: hook, headers: [{ key: 'X-Shared-Secret', value: 'hunter2' }] }],
        monitor_ids: [ref('svc_http_monitor.web.id')],
      },
    },
  },
});

type Alert = { status: string; cronTimestamp: number; monitor: { id: number; name: string } };

describeTerraform('from an apply to the alert', (terraform) => {
  test('alerts within a period of the apply, and changes count without a restart', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const hook = await receiverIn(opened);
    web.answerWith((response, path) => {
      response.statusCode = path === '/down' ? 503 : 200;
      response.end();
    });
    const service = await serviceIn(opened, { regions: ['hosta-fra'], declared: {} });
    const workspace = await terraform.workspace({
      provider: { base_url: service.url, api_token: service.token },
    });
    opened.push({ close: () => workspace.dispose() });

    /** @returns the instant after the apply, by the service's clock */
    const applied = async (url: string, monitor: object = {}) => {
      await applyForGood(workspace, declaring(url, hook.url, monitor));
      return service.clock.wall();
    };
    const alert = async (count: number) => (await hook.received(count))[count - 1];

    const declaredAt = await applied(`${web.url}/down`);
    const down = await alert(1);
    expect(down?.headers).toMatchObject({ 'x-shared-secret': 'hunter2' });
    const { id } = (await workspace.state())['svc_http_monitor.web'] ?? {};
    const error = down?.json as Alert & { statusCode: number };
    expect(error).toMatchObject({
      status: 'error',
      statusCode: 503,
      monitor: { id: Number(id), name: 'Web' },
    });
    expect(error.cronTimestamp).toBeLessThanOrEqual(declaredAt + PERIOD_MS);

    const repairedAt = await applied(`${web.url}/up`);
    const recovered = (await alert(2))?.json as Alert;
    expect(recovered).toMatchObject({ status: 'recovered', monitor: { id: Number(id) } });
    // The change counts from the next slot on. The first slot is off the grid, and the second may come half a
    // period late.
    const slots = async (outcome: string) =>
      (
        await service.query<{ slot: number }>(
          'SELECT slot FROM results WHERE outcome = ? ORDER BY slot',
          outcome,
        )
      ).map(({ slot }) => slot);
    expect((await slots('failed')).filter((slot) => slot > repairedAt)).toEqual([]);
    expect((await slots('passed'))[0]).toBe(recovered.cronTimestamp);

    const assertion = { status_code_assertions: [{ target: 500, comparator: 'gte' }], name: 'Renamed' };
    const assertedAt = await applied(`${web.url}/up`, assertion);
    const asserted = (await alert(3))?.json as Alert;
    expect(asserted).toMatchObject({ status: 'error', monitor: { name: 'Renamed' } });
    expect(asserted.cronTimestamp).toBeLessThanOrEqual(assertedAt + PERIOD_MS);

    // The monitor's status has changed outside of Terraform. That alone gives the plan nothing to change.
    await applyForGood(workspace, declaring(`${web.url}/up`, hook.url, assertion));
    await workspace.configure({});
    await workspace.apply();
    expect(await service.get('/v1/monitors')).toMatchObject({ total: 0 });
  });
});

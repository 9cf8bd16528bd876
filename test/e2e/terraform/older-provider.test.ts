/**
 * A provider that is older than the coordinator. People set attributes that it does not know in the dashboard.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { providerFor } from '../../support/terraform/api.ts';
import { type DebugProvider, startDebugProvider } from '../../support/terraform/debug-provider.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { applyForGood, destroy, expectNothingToDo } from '../../support/terraform/expectations.ts';
import { type Body, type Configuration, ref } from '../../support/terraform/runner.ts';
import { byReattach, TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';

/** What the older provider does not know, with values other than the defaults. */
const OF_MONITORS = { quorum: 'any', confirm_after: 3, recover_after: 2 };
const OF_CHANNELS = { notify_unknown: false, remind_every: '4h' };

const OLDER_PROVIDER = {
  file: process.execPath,
  args: [fileURLToPath(new URL('../../support/terraform/older-provider-main.ts', import.meta.url))],
};

const MONITOR_KINDS: Readonly<Record<string, Body>> = {
  svc_http_monitor: { url: 'https://example.com' },
  svc_tcp_monitor: { uri: 'example.com:443' },
  svc_dns_monitor: { uri: 'example.com' },
};

/** Monitors whose regions are left to the dashboard, and a channel. `more` has further attributes. */
function declared(name: string, more: { monitors?: Body; channels?: Body } = {}): Configuration {
  const monitor = (own: Body): Body => ({
    ...own,
    name,
    periodicity: '1m',
    lifecycle: { ignore_changes: ['regions'] },
    ...more.monitors,
  });
  const monitors = Object.entries(MONITOR_KINDS).map(([kind, own]) => [kind, { it: monitor(own) }]);
  const email = [{ email: 'a@example.com' }];
  const channel = {
    name,
    provider_type: 'email',
    email,
    monitor_ids: [ref('svc_tcp_monitor.it.id')],
    ...more.channels,
  };
  return { resource: { ...Object.fromEntries(monitors), svc_notification: { it: channel } } };
}

describeTerraform('a provider that is older than the coordinator', ({ binary, workspace: opened }) => {
  let api: RunningApi;
  let older: DebugProvider;
  let workspace: TerraformWorkspace;
  const openOlder = () => TerraformWorkspace.open(binary, byReattach(older.reattach), providerFor(api));

  beforeAll(async () => {
    api = await startApi({
      ownRegions: [{ id: 'office-berlin', name: null }],
      rate: { perSecond: 1_000, atOnce: 1_000_000 },
    });
    const unknown = Object.keys({ ...OF_MONITORS, ...OF_CHANNELS }).join(' ');
    older = await startDebugProvider(OLDER_PROVIDER, { SVC_TEST_NOT_KNOWN: unknown });
    workspace = await openOlder();
  });
  afterAll(async () => {
    await workspace?.dispose();
    await older?.stop();
    await api.dispose();
  });

  /** Paths of the API to the resources of the state, with what the dashboard sets there. */
  async function setElsewhere(): Promise<[path: string, set: Body][]> {
    const state = await workspace.state();
    return Object.entries(state).map(([address, { id }]) =>
      address.startsWith('svc_notification')
        ? [`/v1/notifications/${String(id)}`, OF_CHANNELS]
        : [`/v1/monitors/${String(id)}`, { ...OF_MONITORS, regions: ['hosta-fra', 'office-berlin'] }],
    );
  }

  async function expectSetElsewhere(name: string): Promise<void> {
    for (const [path, set] of await setElsewhere()) {
      expect((await api.call('GET', path)).body, path).toMatchObject({ name, ...set });
    }
  }

  test('creates resources with the defaults of what it does not know', async () => {
    await applyForGood(workspace, declared('One'));
    expect(await workspace.state()).not.toHaveProperty(['svc_tcp_monitor.it', 'quorum']);
  });

  test('reads what it does not know, and leaves it when it changes something else', async () => {
    for (const [path, set] of await setElsewhere()) {
      const { body } = await api.call('GET', path);
      expect(await api.call('PUT', path, { ...(body as Body), ...set })).toMatchObject({ status: 200 });
    }
    await expectNothingToDo(workspace);
    await applyForGood(workspace, declared('Two'));
    await expectSetElsewhere('Two');
  });

  test('imports and looks up resources that have what it does not know', async () => {
    const state = await workspace.state();
    const imported = await openOlder();
    await imported.configure(declared('Two'));
    for (const [address, { id }] of Object.entries(state)) {
      expect(await imported.import(address, String(id))).toEqual([]);
    }
    const monitor = { id: state['svc_http_monitor.it']?.id };
    const channel = { id: state['svc_notification.it']?.id };
    await applyForGood(imported, {
      ...declared('Two'),
      data: { svc_monitor: { it: monitor }, svc_notification: { it: channel }, svc_monitors: { all: {} } },
    });
    expect(await imported.state()).toMatchObject({
      'svc_http_monitor.it': { regions: ['hosta-fra', 'office-berlin'] },
      'data.svc_monitor.it': { name: 'Two' },
      'data.svc_notification.it': { name: 'Two' },
    });
    await imported.dispose();
  });

  test('is replaced by one that knows the attributes, which the configuration then declares', async () => {
    const today = await opened(providerFor(api));
    await today.write('terraform.tfstate', (await workspace.run('state', 'pull')).stdout);
    const all = { monitors: OF_MONITORS, channels: OF_CHANNELS };
    await today.configure(declared('Two', all));
    await expectNothingToDo(today);
    await applyForGood(today, declared('Three', all));
    await expectSetElsewhere('Three');
    // This provider sends what the configuration leaves out as null, which is the default.
    await applyForGood(today, declared('Three'));
    expect(await today.state()).toMatchObject({
      'svc_tcp_monitor.it': { quorum: 'majority', confirm_after: 1, recover_after: 1 },
      'svc_notification.it': { notify_unknown: true, remind_every: null },
    });
    await destroy(today);
    await today.dispose();
  });
});

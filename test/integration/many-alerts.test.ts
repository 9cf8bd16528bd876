import { afterEach, beforeEach, expect, test } from 'vitest';
import { Deliverer } from '../../packages/coordinator/src/alerts/deliverer.ts';
import { storedChannels } from '../../packages/coordinator/src/alerts/stored-channels.ts';
import { COLLECT_MS, TOLD_ALONE } from '../../packages/coordinator/src/verdict/grouping.ts';
import { loopbackSender, PUBLIC_URL } from '../support/channel-sending.ts';
import { type ConfiguredStore, configuredStore, silentLog } from '../support/configured-store.ts';
import { queueAlerts } from '../support/coordinator/queue-alerts.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { TEST_IDS } from '../support/test-ids.ts';

/*
 * The messages that an ntfy server and a webhook get over HTTP when a host with 100 monitors goes down and
 * up.
 */

const MONITORS = Array.from({ length: 100 }, (_, index) => index + 1);

let parts: ConfiguredStore;
let receiver: Receiver;
let deliverer: Deliverer;

beforeEach(async () => {
  parts = await configuredStore();
  receiver = await startReceiver();
  receiver.answerWith(({ path }, response) => {
    if (path !== '/ntfy/') return response.end();
    const published = { id: 'a1', time: 1_767_225_602, event: 'message', topic: 'alerts' };
    return response.setHeader('content-type', 'application/json').end(JSON.stringify(published));
  });
  const { store, secrets, clock } = parts;
  deliverer = new Deliverer({
    store,
    secrets,
    ids: TEST_IDS,
    clock,
    log: silentLog,
    send: loopbackSender({ pushABaseUrl: 'http://127.0.0.1:1' }),
    source: storedChannels(store, secrets),
    publicUrl: PUBLIC_URL,
  });
  await deliverer.start();
});

afterEach(async () => {
  await deliverer.stop();
  await receiver.close();
  await parts.dispose();
});

function channel(provider_type: 'push_a' | 'webhook', settings: object): Promise<number> {
  const { configuration, workspaceId } = parts;
  const attributes = {
    name: null,
    provider_type,
    monitor_ids: [],
    group_alerts: true,
    notify_unknown: true,
    remind_every: null,
    settings,
  };
  return configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', attributes as never),
  );
}

/** Queues the change of all monitors for these channels. */
function change(channels: readonly number[], status: 'error' | 'recovered'): Promise<void> {
  const alerts = channels.flatMap((notificationId) =>
    MONITORS.map((id) => ({
      notificationId,
      monitorId: id,
      alert: {
        monitor: { id, name: `Shop ${id}.`, url: `https://shop.example/${id}`, type: 'http' as const },
        status,
        cronTimestamp: 1,
        at: parts.clock.wall(),
        reason: 'test',
        incident: `incident of ${id}`,
        regions: [],
        ...(status === 'error' ? { errorMessage: 'connection refused' } : {}),
      },
    })),
  );
  return queueAlerts(parts.store, parts.clock, deliverer, alerts);
}

async function delivered(count: number, step: number): Promise<void> {
  for (;;) {
    const rows = await parts.store.read
      .selectFrom('deliveries')
      .select('id')
      .where('state', '=', 'delivered')
      .execute();
    if (rows.length >= count) return expect(rows).toHaveLength(count);
    // The clock stands still, so sends under way do not time out.
    await expect.poll(() => deliverer.sending).toBe(0);
    await parts.clock.advanceSettling(step);
  }
}

type Pushed = { readonly title: string; readonly message: string };
const pushed = () =>
  receiver.requests.filter(({ path }) => path === '/ntfy/').map(({ json }) => json as Pushed);
const posted = () => receiver.requests.filter(({ path }) => path === '/hook').length;

test('people get few messages, which name or count all monitors, for down and for up; a webhook gets one for each monitor', async () => {
  const people = await channel('push_a', {
    topic: 'alerts',
    server_url: `${receiver.url}/ntfy`,
    token: null,
  });
  const machine = await channel('webhook', { endpoint: `${receiver.url}/hook`, headers: null });
  await change([people, machine], 'error');
  await delivered(200, 500);
  const down = pushed();
  expect(posted()).toBe(100);
  expect(told(down)).toBe(100);
  expect(down.length).toBeLessThan(TOLD_ALONE + 5);
  const [group] = down.filter(({ title }) => title.includes('monitors:'));
  expect(group?.message).toContain('Same error: connection refused\nSame host: shop.example\n');
  expect(group?.message).toMatch(/More: \d+ other monitors/);

  parts.clock.advance(10 * 60_000 + COLLECT_MS);
  await change([people, machine], 'recovered');
  await delivered(400, 500);
  const up = pushed().slice(down.length);
  expect(posted()).toBe(200);
  expect(told(up)).toBe(100);
  expect(up.length).toBeLessThan(TOLD_ALONE + 5);
});

/** Number of monitors that these messages name or count. */
function told(messages: readonly Pushed[]): number {
  return messages.reduce((sum, { title }) => sum + Number(/^(\d+) monitors:/.exec(title)?.[1] ?? 1), 0);
}

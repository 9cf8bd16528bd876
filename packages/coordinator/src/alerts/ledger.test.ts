import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import type { DeliveryStep } from '../store/alerts/delivery-ledger.ts';
import { Ledger } from './ledger.ts';

let parts: ConfiguredStore;
let ledger: Ledger;

beforeEach(async () => {
  parts = await configuredStore();
  const onQueued = () => {};
  ledger = new Ledger({ ...parts, ids: TEST_IDS, log: silentLog, publicUrl: 'http://svc.example', onQueued });
});
afterEach(() => parts.dispose());

async function queued(count: number): Promise<void> {
  const { store, clock, configuration, workspaceId } = parts;
  const settings = { endpoint: 'http://receiver.example/', headers: null };
  const channel = {
    name: null,
    provider_type: 'webhook' as const,
    monitor_ids: [],
    group_alerts: true,
    notify_unknown: true,
    remind_every: null,
    settings,
  };
  const notificationId = await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', channel),
  );
  const alerts = Array.from({ length: count }, (_, index) => ({
    notificationId,
    monitorId: index + 1,
    alert: {
      monitor: { id: index + 1, name: 'Shop', url: 'http://shop.example/', type: 'http' as const },
      status: 'error' as const,
      cronTimestamp: 1,
      at: 1,
      reason: 'test',
      incident: randomUUID(),
      regions: [],
    },
  }));
  await queueAlerts(store, clock, { deliverQueued: () => {} }, alerts);
}

function delivered(deliveryId: number): DeliveryStep {
  const result = { outcome: 'delivered', reason: null, statusCode: 200, error: null, reply: null };
  return {
    deliveryId,
    newestId: deliveryId,
    pair: { notificationId: 1, monitorId: deliveryId },
    attempt: { deliveryId, number: 1, at: 1, durationMs: 1, ...result },
    error: null,
    state: 'delivered',
    nextAttemptAt: null,
    waitMs: null,
    channel: null,
    announced: null,
    kept: null,
    isGroupKept: false,
  };
}

const states = async () => {
  const rows = await parts.store.read.selectFrom('deliveries').select('state').orderBy('id').execute();
  return rows.map(({ state }) => state);
};

test('at the close, a step that cannot be written does not prevent the others from being written', async () => {
  await queued(4);
  // The database already has the first attempt of this delivery.
  await parts.store.transaction((tx) =>
    tx.runEach(
      "INSERT INTO delivery_attempts (delivery_id, number, at, duration, outcome) VALUES (1, 1, 1, 1, 'x')",
      [[]],
    ),
  );
  const settled: number[] = [];
  for (const id of [1, 2, 3, 4]) ledger.recordStep(delivered(id), () => settled.push(id));
  await ledger.close();
  expect(settled).toEqual([2, 3, 4]);
  expect(await states()).toEqual(['pending', 'delivered', 'delivered', 'delivered']);
});

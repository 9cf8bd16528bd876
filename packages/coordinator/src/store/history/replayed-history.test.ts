import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../../test/support/configured-store.ts';
import { addRows } from '../../../../../test/support/store-rows.ts';
import { alertsIn, announcedAt } from './replayed-history.ts';

const MONITOR = 1;
const CHANNEL = 7;

let parts: TemporaryStore;

beforeEach(async () => {
  parts = await temporaryStore();
  await addRows(parts.store, 'incidents', {
    key: 'incident',
    workspace_id: 1,
    monitor_id: MONITOR,
    opened_at: 100,
    closed_at: null,
    closure: null,
    title: null,
  });
});
afterEach(() => parts.dispose());

async function deliver(at: number, status: AlertStatus, incident: string, more: Partial<Alert> = {}) {
  const monitor = { id: MONITOR, name: '"reminder":{', url: 'http://shop.example/', type: 'http' } as const;
  const alert: Alert = {
    monitor,
    status,
    cronTimestamp: at,
    at,
    reason: 'test',
    incident,
    regions: [],
    ...more,
  };
  await addRows(parts.store, 'deliveries', {
    ...{ uid: `delivery at ${at}`, notification_id: CHANNEL, monitor_id: MONITOR },
    ...{ alert: JSON.stringify(alert), incident, status, state: 'delivered', created_at: at },
    ...{ next_attempt_at: null, last_error: null, replayed_at: null, finished_at: at },
  });
}

const facts = { title: 'Region hosta-fra fails', lines: [], facts: [] };

test('notices and reminders are neither announcements nor alerts of a replayed time', async () => {
  await deliver(50, 'degraded', 'notice', { notice: facts });
  await deliver(100, 'error', 'incident');
  await deliver(200, 'error', 'incident', { reminder: { number: 1, lastsMs: 100 } });
  await deliver(300, 'recovered', 'incident');
  await deliver(400, 'degraded', 'other notice', { notice: facts });

  const announced = (at: number) =>
    announcedAt(parts.store, { monitorId: MONITOR, notificationId: CHANNEL, at });
  const nothing = { announced: 'active', incident: null };
  expect(await announced(99)).toEqual(nothing);
  expect(await announced(250)).toEqual({ announced: 'error', incident: 'incident' });
  expect(await announced(400)).toEqual(nothing);

  expect(await alertsIn(parts.store, MONITOR, { from: 0, until: 1_000 })).toEqual([
    { notificationId: CHANNEL, status: 'error', at: 100 },
    { notificationId: CHANNEL, status: 'recovered', at: 300 },
  ]);
});

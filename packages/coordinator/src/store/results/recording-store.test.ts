import type { Alert } from '@svc/shared/channels/alert.ts';
import { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { HeldReads } from '../../../../../test/support/held-reads.ts';
import { rowsOf } from '../../../../../test/support/store-rows.ts';
import { type NewDelivery, noWrites } from '../../verdict/writes.ts';
import { nextDeliveries } from '../alerts/delivery-queue.ts';
import { readMasked } from '../alerts/stored-alerts.ts';
import { StoreError } from '../errors.ts';
import type { Database } from '../schema.ts';
import { MAX_WAITING_READS } from '../serial-store.ts';
import { sqliteDialect } from '../sqlite/sqlite-dialect.ts';
import type { Store } from '../store.ts';
import { createRecordingStore } from './recording-store.ts';

let reads: HeldReads;
let parts: ConfiguredStore;
let channel: number;

beforeEach(async () => {
  reads = new HeldReads();
  parts = await configuredStore(reads.workers);
  const { configuration, workspaceId } = parts;
  channel = await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', {
      name: null,
      provider_type: 'webhook',
      monitor_ids: [],
      group_alerts: true,
      notify_unknown: true,
      remind_every: null,
      settings: { endpoint: 'http://receiver.example/', headers: null },
    }),
  );
});
afterEach(async () => {
  reads.release();
  await parts.dispose();
});

const ALERT: Alert = {
  monitor: { id: 1, name: 'Shop', url: 'http://shop.example/', type: 'http' },
  status: 'error',
  cronTimestamp: 1,
  at: 1,
  reason: 'test',
  incident: 'test',
  regions: [],
};

const delivery = (uid: string, notificationId = channel): NewDelivery => ({
  uid,
  notificationId,
  monitorId: 1,
  alert: ALERT,
  queuedAt: 1,
});

const batch = (...deliveries: NewDelivery[]) => ({
  writes: { ...noWrites(1), deliveries },
  positions: [],
  changesUntil: null,
  exportNote: null,
});

const unreadable = new Kysely<Database>({
  dialect: sqliteDialect(async () => {
    throw new StoreError('store-reader-lost', 'the database does not answer');
  }),
});

/** A store that loses the answer to each commit, and then cannot be read. */
const answeringNothing = (store: Store): Store => ({
  read: unreadable,
  work: unreadable,
  transaction: (work) => store.transaction(work),
  declare: (work) => store.declare(work),
  declarations: 0,
  close: () => store.close(),
  async commit(steps) {
    await store.commit(steps);
    throw new StoreError('store-unanswered', 'the answer was lost');
  },
});

test('a batch returns which of its deliveries were queued: not one whose channel was removed', async () => {
  const queued = await createRecordingStore(parts.store, parts.secrets).record(
    batch(delivery('first'), delivery('gone', channel + 1), delivery('second')),
  );
  expect(queued).toEqual([true, false, true]);
});

test('a batch whose commit was not answered counts as written, even if the database cannot be read', async () => {
  const recording = createRecordingStore(answeringNothing(parts.store), parts.secrets);
  expect(await recording.record(batch(delivery('gone', channel + 1), delivery('a')))).toEqual([true, true]);
  expect(await rowsOf(parts.store, 'deliveries')).toMatchObject([{ uid: 'a' }]);
});

test('the query of a monitor’s address is sealed in the ledger, and sent in clear text', async () => {
  const url = 'https://shop.example/?key=hush';
  const alert = { ...ALERT, monitor: { ...ALERT.monitor, url } };
  await createRecordingStore(parts.store, parts.secrets).record(batch({ ...delivery('a'), alert }));
  const [row] = await rowsOf(parts.store, 'deliveries');
  expect(row?.alert).not.toContain('hush');
  expect(readMasked(row?.alert ?? '')?.monitor.url).toBe('https://shop.example/?********');
  const search = { notificationId: channel, exceptMonitors: [], limit: 1 };
  const [head] = await nextDeliveries(parts.store, parts.secrets, search);
  expect(head?.alert).toEqual(alert);
});

test('recorded outcomes are read even while the queue of reads for pages and the API is full', async () => {
  const recording = createRecordingStore(parts.store, parts.secrets);
  await rowsOf(parts.store, 'monitors');
  reads.holdFirst();
  const waiting = Promise.allSettled(
    Array.from({ length: MAX_WAITING_READS }, () => rowsOf(parts.store, 'monitors')),
  );
  expect(await recording.recordedOutcomes([{ monitorId: 1, slot: 1, region: 'hosta-fra' }])).toEqual([null]);
  reads.release();
  await waiting;
});

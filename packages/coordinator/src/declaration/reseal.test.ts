import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { parseResource } from '@svc/shared/resources/registry.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { insertDeliveries } from '../store/alerts/delivery-queue.ts';
import { alertText, openAlert } from '../store/alerts/stored-alerts.ts';
import { checkSecretKey, Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import type { AttributesOf } from './kinds/kind-tables.ts';
import { Reading } from './reading.ts';
import { resealWhereDue } from './reseal.ts';

const URL = 'https://a.example/?key=hush-1';
const BODY = 'token=hush-2';

let parts: ConfiguredStore;
beforeEach(async () => {
  parts = await configuredStore();
});
afterEach(() => parts.dispose());

async function createMonitor(): Promise<number> {
  const parsed = parseResource(
    'svc_http_monitor',
    { ...VALID.svc_http_monitor, url: URL, body: BODY },
    'api',
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, (change) =>
    change.create('svc_http_monitor', parsed.value),
  );
}

async function changeBody(id: number, body: string): Promise<void> {
  const { configuration, workspaceId, secrets } = parts;
  const attributes = await attributesOf(id, secrets, 'open');
  await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.update('svc_http_monitor', id, { ...attributes, body }),
  );
}

async function attributesOf(id: number, secrets: Secrets, shown: 'open' | 'masked') {
  const found = await new Reading(parts.store, secrets).findStored(
    'monitors',
    { workspaceId: parts.workspaceId },
    id,
    shown,
  );
  return found?.attributes as AttributesOf<'svc_http_monitor'>;
}

test('secrets are encrypted again only once for a new key', async () => {
  await createMonitor();
  await resealWhereDue(parts.store, parts.secrets, silentLog);
  const before = await rowsOf(parts.store, 'monitors');
  await resealWhereDue(parts.store, parts.secrets, silentLog);
  expect(await rowsOf(parts.store, 'monitors')).toEqual(before);
});

test('a start with both keys replaces the former key by the new one', async () => {
  const key = randomBytes(32);
  const id = await createMonitor();
  await checkSecretKey(parts.store, parts.secrets);
  const other = new Secrets(key);
  await expect(checkSecretKey(parts.store, other)).rejects.toThrow('is not the key of this database');

  await resealWhereDue(parts.store, new Secrets(key, parts.secretKey), silentLog);
  await checkSecretKey(parts.store, other);
  expect(await attributesOf(id, other, 'open')).toMatchObject({ url: URL, body: BODY });
  await expect(attributesOf(id, parts.secrets, 'open')).rejects.toThrow('cannot open the secret');
});

test('a secret that another coordinator changes while all are encrypted again stays changed', async () => {
  const id = await createMonitor();
  await checkSecretKey(parts.store, parts.secrets);
  const { store } = parts;
  let transactions = 0;
  const changing: Store = Object.assign(Object.create(store) as Store, {
    read: store.read,
    async transaction(...work: Parameters<Store['transaction']>) {
      transactions += 1;
      // The first transaction prepares the database. The second one writes the monitor, which was read before.
      if (transactions === 2) await changeBody(id, 'token=hush-3');
      return store.transaction(...work);
    },
  });
  const key = randomBytes(32);
  await resealWhereDue(changing, new Secrets(key, parts.secretKey), silentLog);
  expect(transactions).toBeGreaterThan(2);
  expect(await attributesOf(id, new Secrets(key), 'open')).toMatchObject({ body: 'token=hush-3' });
});

test('a repeated request is recognized under the new key', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const kept = new Secrets(first).fingerprint('a.b', 'text');
  expect(new Secrets(second, first).isFingerprint(kept, 'a.b', 'text')).toBe(true);
  expect(new Secrets(second).isFingerprint(kept, 'a.b', 'text')).toBe(false);
});

test('addresses of alerts in the ledger are encrypted under the new key', async () => {
  const channel = await parts.configuration.transaction(
    { workspaceId: parts.workspaceId, actor: 'api' },
    (change) =>
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
  const alert: Alert = {
    monitor: { id: 1, name: 'Shop?', url: URL, type: 'http' },
    status: 'error',
    cronTimestamp: 1,
    at: 1,
    reason: 'test',
    incident: 'test',
    regions: [],
  };
  const plain = { ...alert, monitor: { ...alert.monitor, url: 'https://a.example/' } };
  const rows = [alert, plain].map((one, index) => ({
    uid: String(index),
    notificationId: channel,
    monitorId: 1,
    alert: alertText(parts.secrets, one),
    incident: one.incident,
    status: one.status,
    createdAt: 1,
  }));
  await parts.store.commit([insertDeliveries(rows)]);

  const key = randomBytes(32);
  await resealWhereDue(parts.store, new Secrets(key, parts.secretKey), silentLog);
  const [again, untouched] = await rowsOf(parts.store, 'deliveries');
  expect(untouched?.alert).toBe(rows[1]?.alert);
  expect(openAlert(new Secrets(key), again?.alert ?? '')).toEqual(alert);
  expect(openAlert(parts.secrets, again?.alert ?? '')?.monitor.url).toBe('https://a.example/?********');
});

// PostgreSQL reuses the room of deleted rows when it cleans up by itself.
test.skipIf(IS_POSTGRES)('the database file keeps nothing that the former key can decrypt', async () => {
  const id = await createMonitor();
  const [row] = await rowsOf(parts.store, 'monitors');
  const sealed = Buffer.from(row?.secrets_sealed ?? []);
  await resealWhereDue(parts.store, new Secrets(randomBytes(32), parts.secretKey), silentLog);
  expect((await rowsOf(parts.store, 'monitors'))[0]).toMatchObject({
    id,
    row_version: row?.row_version,
    updated_at: row?.updated_at,
  });
  await parts.store.close();
  expect(sealed.length).toBeGreaterThan(20);
  expect((await readFile(parts.database.file)).includes(sealed)).toBe(false);
});

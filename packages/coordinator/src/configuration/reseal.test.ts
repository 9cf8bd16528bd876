import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { parseResource } from '@svc/shared/resources/registry.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { makeOldDatabase } from '../../../../test/support/coordinator/old-database.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { openStoreInProcess } from '../../../../test/support/store-in-process.ts';
import { changeRow, rowsOf } from '../../../../test/support/store-rows.ts';
import { insertDeliveries } from '../store/delivery-queue.ts';
import { checkSecretKey, Secrets } from '../store/secrets.ts';
import { openAlert } from '../store/stored-alerts.ts';
import type { AttributesOf } from './kinds/kinds.ts';
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

async function attributesOf(id: number, secrets: Secrets, shown: 'open' | 'masked') {
  const found = await new Reading(parts.store, secrets).find(
    'monitors',
    { workspaceId: parts.workspaceId },
    id,
    shown,
  );
  return found?.attributes as AttributesOf<'svc_http_monitor'>;
}

test('what an older version left in clear is sealed at the start, and nothing else changes', async () => {
  const id = await createMonitor();
  const [row] = await rowsOf(parts.store, 'monitors');
  const plain = { ...(JSON.parse(row?.attributes ?? '{}') as object), url: URL, body: BODY };
  await changeRow(parts.store, 'monitors', id, { attributes: JSON.stringify(plain), secrets_sealed: null });

  await resealWhereDue(parts.store, parts.secrets, silentLog);
  const [sealed] = await rowsOf(parts.store, 'monitors');
  expect(JSON.stringify(sealed)).not.toMatch(/hush/);
  expect(sealed).toMatchObject({ row_version: row?.row_version, updated_at: row?.updated_at });
  expect(await attributesOf(id, parts.secrets, 'open')).toMatchObject({ url: URL, body: BODY });
  const masked = await attributesOf(id, parts.secrets, 'masked');
  expect(masked).toMatchObject({ url: 'https://a.example/?********', body: '********' });
});

test('it is done once', async () => {
  await createMonitor();
  await resealWhereDue(parts.store, parts.secrets, silentLog);
  const before = await rowsOf(parts.store, 'monitors');
  await resealWhereDue(parts.store, parts.secrets, silentLog);
  expect(await rowsOf(parts.store, 'monitors')).toEqual(before);
});

test('a new key takes the place of the former over a start with both', async () => {
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

test('a repeated request is known again under the new key', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const kept = new Secrets(first).fingerprint('a.b', 'text');
  expect(new Secrets(second, first).isFingerprint(kept, 'a.b', 'text')).toBe(true);
  expect(new Secrets(second).isFingerprint(kept, 'a.b', 'text')).toBe(false);
});

test('addresses of alerts in the ledger are sealed, and sealed anew under another key', async () => {
  const channel = await parts.configuration.transaction(
    { workspaceId: parts.workspaceId, actor: 'api' },
    (change) =>
      change.create('svc_notification', {
        name: null,
        provider_type: 'webhook',
        monitor_ids: [],
        group_alerts: true,
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
    alert: JSON.stringify(one),
    incident: one.incident,
    status: one.status,
    createdAt: 1,
  }));
  await parts.store.commit([insertDeliveries(rows)]);

  await resealWhereDue(parts.store, parts.secrets, silentLog);
  const [sealed, untouched] = await rowsOf(parts.store, 'deliveries');
  expect(sealed?.alert).not.toContain('hush');
  expect(untouched?.alert).toBe(rows[1]?.alert);
  const key = randomBytes(32);
  await resealWhereDue(parts.store, new Secrets(key, parts.secretKey), silentLog);
  const [again] = await rowsOf(parts.store, 'deliveries');
  expect(openAlert(new Secrets(key), again?.alert ?? '')).toEqual(alert);
  expect(openAlert(parts.secrets, again?.alert ?? '')?.monitor.url).toBe('https://a.example/?********');
});

test('nothing of what is sealed stays in the database file', async () => {
  const id = await createMonitor();
  const [row] = await rowsOf(parts.store, 'monitors');
  // A body that takes pages of its own.
  const body = BODY.repeat(2_000);
  const plain = { ...(JSON.parse(row?.attributes ?? '{}') as object), url: URL, body };
  await changeRow(parts.store, 'monitors', id, { attributes: JSON.stringify(plain), secrets_sealed: null });
  await resealWhereDue(parts.store, parts.secrets, silentLog);
  expect(await attributesOf(id, parts.secrets, 'open')).toMatchObject({ body });
  await parts.store.close();
  expect((await readFile(parts.file)).includes('hush')).toBe(false);
});

test('nothing of what an older version left in clear stays in a page that a migration has freed', async () => {
  const path = join(dirname(parts.file), 'old.db');
  await makeOldDatabase(path, '0011-stream-positions', ({ runEach }) => {
    runEach('INSERT INTO workspaces (id, name, created_at) VALUES (1, ?, 1)', [['a']]);
    // It nearly fills its pages. While it has one column more, it takes another page, which is then freed.
    const attributes = { ...VALID.svc_http_monitor, url: URL, body: 'hush'.repeat(2_040) };
    const sql = `INSERT INTO monitors (workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
      VALUES (1, 'http', 'a', 1, ?, 1, 1, 1)`;
    runEach(sql, [[JSON.stringify(attributes)]]);
  });
  const store = await openStoreInProcess(path, silentLog);
  await resealWhereDue(store, parts.secrets, silentLog);
  await store.close();
  expect((await readFile(path)).includes('hush')).toBe(false);
});

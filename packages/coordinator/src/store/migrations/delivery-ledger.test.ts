import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../../test/support/configured-store.ts';
import { makeOldDatabase, type OldDatabase } from '../../../../../test/support/coordinator/old-database.ts';
import { openStoreInProcess } from '../../../../../test/support/store-in-process.ts';
import { pendingLanes } from '../delivery-queue.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const ALERT = JSON.stringify({ status: 'error', incident: 'i-1', monitor: { id: 7, name: 'Shop' } });

/** Deliveries in all states, one with an alert that nobody can read, and ids at the end that were given. */
function fill(old: OldDatabase): void {
  old.runEach("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'default', 0)", [[]]);
  old.runEach(
    `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
     VALUES (7, 1, 'http', 'Shop', 1, '{}', 0, 0, 0)`,
    [[]],
  );
  old.runEach(
    `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, state, state_reason,
       created_at, updated_at) VALUES (?, 1, 'webhook', x'00', ?, ?, 1, 2)`,
    [
      [3, 'failing', 'gone'],
      [4, 'ok', null],
    ],
  );
  old.runEach('INSERT INTO links (monitor_id, notification_id, announced, incident) VALUES (7, ?, ?, ?)', [
    [3, 'error', 'i-0'],
    [4, 'active', null],
  ]);
  old.runEach(
    `INSERT INTO deliveries (id, uid, notification_id, monitor_id, alert, state, attempts, next_attempt_at,
       last_error, created_at, replayed_at, finished_at) VALUES (?, ?, ?, 7, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      [11, 'a', 3, ALERT, 'pending', 2, 9_000, 'busy', 1_000, null, null],
      [12, 'b', 3, 'no JSON', 'pending', 0, null, null, 1_001, null, null],
      [13, 'c', 3, ALERT, 'dead', 1, null, 'gone', 1_002, 1_500, 1_600],
      [14, 'd', 4, ALERT, 'delivered', 1, null, null, 1_003, null, 1_700],
      [40, 'e', 4, ALERT, 'pending', 0, null, null, 1_004, null, null],
    ],
  );
  old.runEach('DELETE FROM deliveries WHERE id = 40', [[]]);
  old.runEach(
    `INSERT INTO delivery_attempts (delivery_id, number, at, duration, outcome, status_code, error)
     VALUES (?, ?, ?, 2.5, ?, ?, ?)`,
    [
      [11, 1, 2_000, 'retry', 503, 'busy'],
      [11, 2, 3_000, 'retry', null, 'no answer'],
      [13, 1, 1_550, 'permanent-channel', 410, 'gone'],
      [14, 1, 1_650, 'delivered', 200, null],
    ],
  );
  old.runEach('INSERT INTO changes (id, kind, monitor_id, notification_id, detail) VALUES (?, ?, ?, ?, ?)', [
    [5, 'linked', 7, 3, '{"a":1}'],
    [9, 'unlinked', 7, 4, null],
  ]);
  old.runEach('DELETE FROM changes WHERE id = 9', [[]]);
}

const COLUMNS = `id, uid, notification_id, monitor_id, alert, state, attempts, next_attempt_at, last_error,
  created_at, replayed_at, finished_at`;
const ATTEMPTS = 'delivery_id, number, at, duration, outcome, status_code, error';
const CHANGES = 'id, kind, monitor_id, notification_id, detail';

/** What both versions have. */
function commonRows(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string) => database.prepare(sql).all();
  const rows = {
    deliveries: all(`SELECT ${COLUMNS} FROM deliveries ORDER BY id`),
    attempts: all(`SELECT ${ATTEMPTS} FROM delivery_attempts ORDER BY delivery_id, number`),
    changes: all(`SELECT ${CHANGES} FROM changes ORDER BY id`),
    links: all('SELECT * FROM links ORDER BY notification_id'),
    channels: all('SELECT id, state, state_reason, row_version FROM notifications ORDER BY id'),
    sequences: all(
      "SELECT * FROM sqlite_sequence WHERE name IN ('deliveries', 'changes', 'notifications') ORDER BY name",
    ),
  };
  database.close();
  return rows;
}

test('an upgrade keeps all deliveries, attempts and changes, and gives no id twice', async () => {
  const path = join(folder.path, 'svc.db');
  await makeOldDatabase(path, '0013-export-totals', fill);
  const before = commonRows(path);
  expect(before.attempts).toHaveLength(4);

  const store = await openStoreInProcess(path, silentLog);
  expect(await pendingLanes(store, null, 10)).toEqual([
    {
      notificationId: 3,
      monitorId: 7,
      headId: 11,
      queuedAt: 1_000,
      nextAttemptAt: 9_000,
      lastAttemptAt: 3_000,
    },
  ]);
  await store.close();

  expect(commonRows(path)).toEqual(before);
  const database = new DatabaseSync(path);
  expect(database.prepare('SELECT id, incident, status FROM deliveries ORDER BY id').all()).toEqual([
    { id: 11, incident: 'i-1', status: 'error' },
    { id: 12, incident: null, status: null },
    { id: 13, incident: 'i-1', status: 'error' },
    { id: 14, incident: 'i-1', status: 'error' },
  ]);
  const heard = 'SELECT notification_id AS id, incident FROM delivery_threads ORDER BY id, incident';
  expect(database.prepare(heard).all()).toEqual([
    { id: 3, incident: 'i-0' },
    { id: 3, incident: 'i-1' },
    { id: 4, incident: 'i-1' },
  ]);
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  database.exec('PRAGMA foreign_keys = ON');
  expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
  // An attempt hangs on its delivery still.
  database.exec('DELETE FROM deliveries WHERE id = 11');
  expect(database.prepare('SELECT count(*) AS left FROM delivery_attempts').get()).toEqual({ left: 2 });
  expect(() =>
    database.exec(
      "INSERT INTO delivery_attempts (delivery_id, number, at, duration, outcome) VALUES (999, 1, 1, 1, 'retry')",
    ),
  ).toThrow('FOREIGN KEY');
  database.close();
});

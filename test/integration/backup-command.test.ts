/** `svc backup` and `svc restore` when files belong to other users. */

import { chown, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@svc/coordinator/store/open.ts';
import { pino } from 'pino';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { svc } from '../support/svc.ts';

const isRoot = process.getuid?.() === 0;
/** The user id of "nobody" in Linux distributions. */
const SERVICE_USER = 65_534;

let folder: string;
const place = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openStore({ path: place('data/svc.db'), log: pino({ enabled: false }) });
  await store.close();
  await writeFile(place('data/api-token'), 'svc_token\n', { mode: 0o600 });
});

const backup = (more: Record<string, string> = {}) =>
  svc(['backup', place('backup')], { SVC_DATA_DIR: place('data'), ...more });

test.skipIf(!isRoot)('files that root restores belong to the owner of the data folder', async () => {
  await mkdir(place('data/nats-server'));
  await writeFile(place('data/nats-server/coordinator.nk'), 'seed\n', { mode: 0o600 });
  expect(await backup()).toMatchObject({ code: 0 });
  await mkdir(place('new'), { mode: 0o700 });
  await chown(place('new'), SERVICE_USER, SERVICE_USER);
  expect(await svc(['restore', place('backup')], { SVC_DATA_DIR: place('new') })).toMatchObject({ code: 0 });
  const names = (await readdir(place('new'), { recursive: true })).sort();
  expect(names).toEqual(['api-token', 'nats-server', 'nats-server/coordinator.nk', 'svc.db', 'svc.db.lock']);
  for (const name of names) expect((await stat(place(`new/${name}`))).uid, name).toBe(SERVICE_USER);
});

test.skipIf(!isRoot)(
  'a file of SQLite that root copies a database to belongs to the owner of its folder',
  async () => {
    await mkdir(place('new'), { mode: 0o700 });
    await chown(place('new'), SERVICE_USER, SERVICE_USER);
    const used = new DatabaseSync(place('data/svc.db'));
    used.exec("INSERT INTO facts (key, value) VALUES ('installation_id', 'of the test')");
    used.exec("INSERT INTO workspaces (name, created_at) VALUES ('default', 1)");
    used.close();
    const from = { SVC_DATABASE_URL: `sqlite:${place('data/svc.db')}` };
    const to = ['migrate-store', '--to', `sqlite:${place('new/svc.db')}`];
    expect(await svc(to, from)).toMatchObject({ code: 0 });
    const names = (await readdir(place('new'))).sort();
    expect(names).toEqual(['svc.db', 'svc.db.lock']);
    for (const name of names) expect((await stat(place(`new/${name}`))).uid, name).toBe(SERVICE_USER);
    expect(await svc(to, from)).toMatchObject({
      code: 1,
      err: expect.stringContaining('move its file away'),
    });
  },
);

test('exported counts begin again at zero, because a receiver has seen higher ones', async () => {
  const withDatabase = <T>(path: string, work: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(place(path));
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  withDatabase('data/svc.db', (database) => {
    database.exec('PRAGMA foreign_keys = OFF');
    database.exec("INSERT INTO export_totals (monitor_id, until, totals) VALUES (1, 7, '{}')");
    database.exec("INSERT INTO export_notes (shard, id, note) VALUES (0, 8, x'00')");
  });
  expect(await backup()).toMatchObject({ code: 0 });
  expect(await svc(['restore', place('backup')], { SVC_DATA_DIR: place('new') })).toMatchObject({ code: 0 });
  const counted = (path: string) =>
    withDatabase(path, (database) =>
      database
        .prepare('SELECT count(*) AS rows FROM export_totals UNION ALL SELECT count(*) FROM export_notes')
        .all()
        .map(({ rows }) => rows),
    );
  expect([counted('backup/svc.db'), counted('new/svc.db')]).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

test('a folder that exists is refused, also when another backup has just made it', async () => {
  const told = expect.stringContaining(`${place('backup')} exists: name a folder that does not exist`);
  const both = await Promise.all([backup(), backup()]);
  expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(both.find(({ code }) => code === 1)).toMatchObject({ err: told });
  expect(await backup()).toMatchObject({ code: 1, err: told });
  expect((await readdir(folder)).sort()).toEqual(['backup', 'data']);
});

test('an unreadable folder of NATS ends the backup, which would lack the keys', async () => {
  await writeFile(place('no-folder'), '');
  expect(await backup({ SVC_NATS_DIR: place('no-folder') })).toMatchObject({
    code: 2,
    err: expect.stringContaining('no-folder'),
  });
  expect((await readdir(folder)).sort()).toEqual(['data', 'no-folder']);
});

test.each(['manifest.json', 'api-token'])(
  '%s that cannot be read is not taken for a damaged backup',
  async (name) => {
    expect(await backup()).toMatchObject({ code: 0 });
    await rm(place(`backup/${name}`));
    await mkdir(place(`backup/${name}`));
    expect(await svc(['restore', place('backup')], { SVC_DATA_DIR: place('new') })).toMatchObject({
      code: 1,
      err: expect.stringMatching(new RegExp(`backup/${name} cannot be read: EISDIR`)),
    });
  },
);

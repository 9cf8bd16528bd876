import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, temporaryFolder, temporaryStore } from '../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { runIn, temporaryDatabase } from '../../../../test/support/postgres-store.ts';
import { addRows, rowsOf } from '../../../../test/support/store-rows.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '../verdict/latency-histogram.ts';
import { COPIED_TABLES, copyStore } from './copy-store.ts';
import type { DatabaseUrl } from './database-url.ts';
import { TABLE_NAMES } from './dialect.ts';
import { refuseUnfinishedCopy, writeFact } from './facts.ts';
import { openDatabase } from './open.ts';
import { abstentionOf, insertReports } from './results/insert-reports.ts';
import { takeShard } from './shard-lease.ts';
import { countShards } from './shards.ts';
import type { Store } from './store.ts';

const SLOT = Date.UTC(2026, 0, 15);
/** Number of stored results: more than two pages of the copy. */
const RESULTS = 2_500;

test('every table is copied, except those about shards and coordinators, and those of the database itself', async () => {
  const { store, dispose } = await temporaryStore();
  const { rows } = await TABLE_NAMES.execute(store.read);
  await dispose();
  const names = rows
    .map(({ name }) => name)
    .filter((name) => !/^(kysely_|sqlite_|slot_results_|last_commits)/.test(name));
  expect(names.sort()).toEqual([...COPIED_TABLES, 'coordinators', 'shards'].sort());
});

describe('an installation is copied', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let file: DatabaseUrl;

  beforeEach(async () => {
    folder = await temporaryFolder();
    file = new Secret(`sqlite:${join(folder.path, 'svc.db')}`);
    await within(file, fill);
  });
  afterEach(() => folder.remove());

  async function within<T>(url: DatabaseUrl, work: (store: Store) => Promise<T>): Promise<T> {
    const store = await openDatabase(url, silentLog);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /**
   * Inserts rows of many kinds: with texts, bytes, fractions and nulls, rows that refer to other rows, and
   * rows for which triggers raise a version number.
   */
  async function fill(store: Store): Promise<void> {
    const now = { created_at: 1, updated_at: 2 };
    await store.transaction(({ db }) => writeFact(db, 'installation_id', 'of the tests'));
    const workspace_id = await addRows(store, 'workspaces', { name: 'default ä\0', created_at: 1 });
    await addRows(store, 'own_regions', { name: 'office-berlin' });
    const declared = { workspace_id, owner: null, local_name: null, ...now };
    const monitor = {
      type: 'http',
      name: 'a',
      active: 1,
      attributes: '{"public":true}',
      activated_at: 0,
    } as const;
    const first = await addRows(store, 'monitors', { ...declared, ...monitor, secrets_sealed: null });
    await addRows(store, 'monitors', { ...declared, ...monitor, secrets_sealed: new Uint8Array([0, 255]) });
    const last = await addRows(store, 'monitors', { ...declared, ...monitor, secrets_sealed: null });
    await store.transaction((tx) => tx.runEach('DELETE FROM monitors WHERE id = ?', [[last]]));
    const page = { slug: 's', custom_domain: null, attributes: '{}', secrets_sealed: null };
    const page_id = await addRows(store, 'status_pages', { ...declared, ...page });
    await addRows(store, 'components', {
      ...declared,
      page_id,
      group_id: null,
      monitor_id: first,
      attributes: '{}',
    });
    await addRows(store, 'monitor_states', {
      monitor_id: first,
      status: 'active',
      since: 3,
      incident: null,
      reason: null,
      version: 1,
    });
    await addRows(store, 'incidents', {
      key: 'k',
      workspace_id,
      monitor_id: first,
      opened_at: 5,
      closed_at: null,
      closure: null,
      title: null,
    });
    const delivery = {
      uid: 'u',
      notification_id: 1,
      monitor_id: 1,
      alert: '{}',
      incident: null,
      status: null,
      state: 'dead',
    } as const;
    const ended = {
      next_attempt_at: null,
      last_error: null,
      created_at: 1,
      replayed_at: null,
      finished_at: 2,
    };
    const delivery_id = await addRows(store, 'deliveries', { ...delivery, ...ended });
    const attempt = { number: 1, at: 1, duration: 1.5, outcome: 'retry', status_code: 503, error: null };
    await addRows(store, 'delivery_attempts', {
      delivery_id,
      ...attempt,
      reason: null,
      reply: null,
      next_attempt_at: null,
    });
    const histogram = emptyHistogram();
    addLatency(histogram, 7);
    const counts = { passed: 1, degraded: 0, failed: 0, not_run: 0, latency: encodeHistogram(histogram) };
    await addRows(store, 'rollup_hours', { monitor_id: first, at: 0, region: 'hosta-fra', ...counts });
    const abstentions = Array.from({ length: RESULTS }, (_, index) =>
      abstentionOf({
        monitorId: 1,
        version: 1,
        slot: SLOT + index * 60_000,
        region: 'hosta-fra',
        reason: 'no-agent',
      }),
    );
    await store.commit(insertReports(abstentions, SLOT));
  }

  /** All rows of the copied tables. */
  const contentOf = (url: DatabaseUrl) =>
    within(url, async (store) => {
      const content: Record<string, unknown> = {};
      for (const table of COPIED_TABLES)
        content[table] = (await rowsOf(store, table)).map((row) => JSON.stringify(row)).sort();
      return content;
    });
  const copy = (from: DatabaseUrl, to: DatabaseUrl, onPage: (table: string) => void = () => {}) =>
    copyStore({ from, to, log: silentLog, onPage });
  const inFolder = (name: string): DatabaseUrl => new Secret(`sqlite:${join(folder.path, name)}`);

  test('to SQLite, with every text as it is', async () => {
    const other = inFolder('other.db');
    await copy(file, other);
    expect(await within(other, (store) => rowsOf(store, 'workspaces'))).toMatchObject([
      { name: 'default ä\0' },
    ]);
    expect(await contentOf(other)).toEqual(await contentOf(file));
  });

  test.each([
    ['the first shard of the source', 'svc.db', 0],
    ['the second shard of the target', 'other.db', 1],
  ])('a copy fails if the lease of %s is lost, and stays unfinished', async (_name, database, shard) => {
    const other = inFolder('other.db');
    await within(other, (store) => countShards(store, 2));
    const stealLease = () => {
      const sqlite = new DatabaseSync(join(folder.path, database));
      sqlite.prepare("UPDATE shards SET term = 'other' WHERE id = ?").run(shard);
      sqlite.close();
    };
    await expect(copy(file, other, stealLease)).rejects.toMatchObject({ code: 'not-leading' });
    await within(other, async (store) => {
      await expect(refuseUnfinishedCopy(store)).rejects.toThrow('unfinished copy');
    });
  });

  describe.runIf(IS_POSTGRES)('with PostgreSQL', () => {
    let database: Awaited<ReturnType<typeof temporaryDatabase>>;

    beforeEach(async () => {
      database = await temporaryDatabase();
    });
    afterEach(() => database.remove());

    test('to PostgreSQL and back, with every row, and no id is assigned twice', async () => {
      const copied = await copy(file, database.url);
      expect(copied).toMatchObject({ slot_results: RESULTS, monitors: 2, workspaces: 1 });
      const inPostgres = await contentOf(database.url);
      const back = inFolder('back.db');
      await copy(database.url, back);
      expect(await contentOf(back)).toEqual(inPostgres);
      for (const url of [database.url, back]) {
        const id = await within(url, async (store) => {
          await refuseUnfinishedCopy(store);
          const [row] = await rowsOf(store, 'monitors');
          const { id: _, ...rest } = row as NonNullable<typeof row>;
          return addRows(store, 'monitors', rest);
        });
        // The monitor with id 3 was deleted, so the next id is 4.
        expect(id).toBe(4);
      }
    });

    test('a coordinator refuses an interrupted copy, which is no source either and can be continued', async () => {
      let pages = 0;
      const interrupted = copy(file, database.url, (table) => {
        // The failure comes in the middle of the results, after the second of three pages.
        if (table === 'slot_results') pages += 1;
        if (pages === 2) throw new Error('the power is gone');
      });
      await expect(interrupted).rejects.toThrow('the power is gone');
      await within(database.url, async (store) => {
        await expect(refuseUnfinishedCopy(store)).rejects.toThrow('unfinished copy');
      });
      const third = inFolder('third.db');
      await expect(copy(database.url, third)).rejects.toThrow('unfinished copy');
      const copied = await copy(file, database.url);
      expect(copied).toMatchObject({ slot_results: RESULTS, monitors: 2 });
    });

    test('a database with rows is refused as a target, and a database with a leader is refused as a source', async () => {
      await copy(file, database.url);
      await expect(copy(file, database.url)).rejects.toMatchObject({ code: 'store-foreign' });
      await within(database.url, async (store) => {
        await takeShard(
          store,
          { shard: 0, term: 'other', holder: 'machine, process 7', coordinator: 'b' },
          true,
        );
        const back = inFolder('back.db');
        const inUse = {
          code: 'store-in-use',
          message: expect.stringMatching(/machine, process 7.* wait 4 s if it was killed/),
        };
        await expect(copy(database.url, back)).rejects.toMatchObject(inUse);
      });
    });

    test('an address without an installation is refused, and nothing is created there', async () => {
      const mistyped = join(folder.path, 'mistyped', 'svc.db');
      const refused = { code: 'store-foreign', message: expect.stringContaining('cannot copy') };
      await expect(copy(new Secret(`sqlite:${mistyped}`), database.url)).rejects.toMatchObject(refused);
      expect(existsSync(dirname(mistyped))).toBe(false);

      await runIn(database.url, 'CREATE SCHEMA mistyped');
      const empty = new Secret(`${database.url.reveal()}?options=-c%20search_path%3Dmistyped`);
      await expect(copy(empty, file)).rejects.toMatchObject(refused);
      // This statement fails if the schema has tables.
      await runIn(database.url, 'DROP SCHEMA mistyped');
    });

    test('a copy that is refused because of a shard of its target gives up all leases that it took', async () => {
      await within(database.url, async (store) => {
        await countShards(store, 2);
        await takeShard(store, { shard: 1, term: 'other', holder: 'other', coordinator: 'b' }, true);
      });
      await expect(copy(file, database.url)).rejects.toMatchObject({ code: 'store-in-use' });
      expect(await within(file, (store) => rowsOf(store, 'shards'))).toMatchObject([{ term: '' }]);
      expect(await within(database.url, (store) => rowsOf(store, 'shards'))).toMatchObject([
        { term: '' },
        { term: 'other' },
      ]);
    });

    test('a row that differs in the copy is found, and the copy stays unfinished', async () => {
      let comparing = 0;
      const changed = copyStore({
        from: file,
        to: database.url,
        log: silentLog,
        async onPage(table) {
          if (table !== 'workspaces') return;
          comparing += 1;
          if (comparing === 2) await runIn(database.url, 'UPDATE deliveries SET attempts = 9');
        },
      });
      await expect(changed).rejects.toMatchObject({
        code: 'store-error',
        message: expect.stringContaining('the table deliveries differs'),
      });
      await within(database.url, async (store) => {
        await expect(refuseUnfinishedCopy(store)).rejects.toThrow('unfinished copy');
      });
    });
  });
});

import { join } from 'node:path';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { temporaryDatabase } from '../../../../test/support/postgres-store.ts';
import { copyMigrated, STORE_IN_PROCESS } from '../../../../test/support/store-in-process.ts';
import { errorCodeOf, insertWorkspace, workspaceNames } from '../../../../test/support/transactions.ts';
import { StoreError } from './errors.ts';
import { openStore } from './open.ts';
import { openPostgres } from './postgres/open-postgres.ts';
import { STORE_THREADS } from './sqlite/store-threads.ts';
import type { Store } from './store.ts';

/** A migrated database on which no store is open. */
type Place = { readonly path: string; readonly url: Secret; remove(): Promise<void> };

let place: Place;
let store: Store;

const OPENERS: readonly (readonly [string, () => Promise<Store>])[] = IS_POSTGRES
  ? [['in PostgreSQL', () => openPostgres({ url: place.url, log: silentLog })]]
  : [
      ['on threads', () => openStore({ path: place.path, log: silentLog, workers: STORE_THREADS })],
      [
        'in the process of a test',
        () => openStore({ path: place.path, log: silentLog, workers: STORE_IN_PROCESS }),
      ],
    ];

async function newPlace(): Promise<Place> {
  if (IS_POSTGRES) return { path: '', ...(await temporaryDatabase()) };
  const folder = await temporaryFolder();
  const path = join(folder.path, 'svc.db');
  await copyMigrated(path, silentLog);
  return { path, url: new Secret(''), remove: () => folder.remove() };
}

beforeEach(async () => {
  place = await newPlace();
});

afterEach(async () => {
  await store.close();
  await place.remove();
});

const names = () => workspaceNames(store);

/** Resolves when `open` is called. */
function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

describe.each(OPENERS)('transactions %s', (_, open) => {
  beforeEach(async () => {
    store = await open();
  });

  test('a commit is read, even after the store was opened again', async () => {
    await store.transaction(insertWorkspace('a'));
    expect(await names()).toEqual(['a']);
    await store.close();
    store = await open();
    expect(await names()).toEqual(['a']);
  });

  test('a failing transaction leaves nothing and passes its error on', async () => {
    const boom = new Error('boom');
    const told: string[] = [];
    const failing = store.transaction(async (tx) => {
      await insertWorkspace('a')(tx);
      tx.onCommit(() => told.push('committed'));
      throw boom;
    });
    await expect(failing).rejects.toBe(boom);
    expect(await names()).toEqual([]);
    expect(told).toEqual([]);
  });

  test.skipIf(IS_POSTGRES)('a failing COMMIT leaves nothing', async () => {
    const told: string[] = [];
    const failing = store.transaction(async (tx) => {
      await tx.query('PRAGMA defer_foreign_keys = 1');
      await tx.query(
        "INSERT INTO tokens (workspace_id, name, scope, hash, created_at) VALUES (9, 'a', 'read', 'h', 1)",
      );
      tx.onCommit(() => told.push('committed'));
    });
    expect(await errorCodeOf(failing)).toBe('store-constraint');
    expect(told).toEqual([]);
    await store.transaction(insertWorkspace('next'));
    expect(await names()).toEqual(['next']);
  });

  test('readers see committed data only', async () => {
    await store.transaction(async (tx) => {
      await insertWorkspace('a')(tx);
      expect(await names()).toEqual([]);
      expect(await tx.db.selectFrom('workspaces').select('name').execute()).toEqual([{ name: 'a' }]);
    });
    expect(await names()).toEqual(['a']);
  });

  test('two transactions queue: the second starts after the commit and the tasks of the first', async () => {
    const steps: string[] = [];
    const { opened, open: openGate } = gate();
    const first = store.transaction(async (tx) => {
      steps.push('first begins');
      tx.onCommit(() => steps.push('first told'));
      await opened;
      steps.push('first ends');
    });
    const second = store.transaction(() => {
      steps.push('second');
    });
    await new Promise((resolve) => setImmediate(resolve));
    openGate();
    await Promise.all([first, second]);
    expect(steps).toEqual(['first begins', 'first ends', 'first told', 'second']);
  });

  test('tasks after a commit run in order, and one that throws stops no other', async () => {
    const told: number[] = [];
    await store.transaction((tx) => {
      tx.onCommit(() => told.push(1));
      tx.onCommit(() => {
        throw new Error('boom');
      });
      tx.onCommit(() => told.push(3));
    });
    expect(told).toEqual([1, 3]);
  });

  test('the event loop gets a turn only between tasks that hold the thread for long', async () => {
    const turned: boolean[] = [];
    let hasTurned = false;
    const spin = () => {
      setImmediate(() => {
        hasTurned = true;
      });
      for (const end = performance.now() + 15; performance.now() < end; );
    };
    await store.transaction((tx) => {
      for (const task of [() => {}, spin, () => {}]) {
        tx.onCommit(() => {
          turned.push(hasTurned);
          task();
        });
      }
    });
    expect(turned).toEqual([false, false, true]);
  });

  test('the writing connection refuses to work outside a transaction', async () => {
    const kept = await store.transaction(({ db }) => db);
    expect(
      await errorCodeOf(kept.insertInto('workspaces').values({ name: 'a', created_at: 1 }).execute()),
    ).toBe('store-error');
  });

  test.skipIf(IS_POSTGRES)(
    'a commit is on the disk before it is answered, so a power loss does not undo it',
    async () => {
      const modes = await store.transaction(async (tx) => [
        ...(await tx.query('PRAGMA synchronous')),
        ...(await tx.query('PRAGMA journal_mode')),
      ]);
      // 2 is FULL (sqlite.org/pragma.html#pragma_synchronous).
      expect(modes).toEqual([{ synchronous: 2 }, { journal_mode: 'wal' }]);
    },
  );

  test('closing waits for everything that was asked for before', async () => {
    const step = (name: string) => ({
      sql: 'INSERT INTO workspaces (name, created_at) VALUES (?, 1)',
      rows: [[name]],
    });
    const committing = ['a', 'b', 'c'].map((name) => errorCodeOf(store.commit([step(name)])));
    const writing = errorCodeOf(store.transaction(insertWorkspace('d')));
    await store.close();
    expect(await Promise.all([...committing, writing])).toEqual(['none', 'none', 'none', 'none']);
    expect(await errorCodeOf(store.commit([step('e')]))).toBe('store-closed');
    store = await open();
    expect((await names()).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('foreign keys are enforced', async () => {
    const orphan = store.transaction(({ db }) =>
      db
        .insertInto('links')
        .values({ monitor_id: 1, notification_id: 1, version: 1, incident: null })
        .execute(),
    );
    expect(await errorCodeOf(orphan)).toBe('store-constraint');
  });

  test.skipIf(IS_POSTGRES)(
    'a full disk is a retryable error, and the store continues once there is room',
    async () => {
      const pages = await store.transaction(async (tx) => {
        const [row] = await tx.query<{ page_count: number }>('PRAGMA page_count');
        await tx.query(`PRAGMA max_page_count = ${row?.page_count}`);
        return row?.page_count ?? 0;
      });
      const filling = store.transaction(({ db }) =>
        db
          .insertInto('facts')
          .values({ key: 'big', value: 'x'.repeat(1_000_000) })
          .execute(),
      );
      const error = await filling.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({
        code: 'store-full',
        retryable: true,
        message: 'database: database or disk is full: make room on its disk',
      });
      await store.transaction((tx) => tx.query(`PRAGMA max_page_count = ${pages * 1_000}`));
      await store.transaction(insertWorkspace('a'));
      expect(await names()).toEqual(['a']);
    },
  );
});

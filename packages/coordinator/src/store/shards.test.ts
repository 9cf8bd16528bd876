import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { errorCodeOf, insertWorkspace, workspaceNames } from '../../../../test/support/transactions.ts';
import { changeShards } from './change-shards.ts';
import { appendChanges, changesAfter } from './declaration/changes.ts';
import { type CountedResult, insertNote, lastNote, notesAfter } from './export-totals.ts';
import { FencedStore, takeShard } from './shard-lease.ts';
import {
  announceCoordinator,
  countShards,
  livingCoordinators,
  shardStates,
  withdrawCoordinator,
} from './shards.ts';
import type { Store } from './store.ts';

let temporary: TemporaryStore;
let store: Store;

beforeEach(async () => {
  temporary = await temporaryStore();
  store = temporary.store;
});
afterEach(() => temporary.dispose());

const take = (shard: number, coordinator = 'a') =>
  takeShard(store, { shard, term: `${coordinator} of ${shard}`, holder: 'host', coordinator }, false);

const resign = () => store.commit([{ sql: 'UPDATE shards SET expires_at = 0', rows: [[]] }]);

const ids = async () => (await shardStates(store)).map(({ id }) => id);

async function addMonitor(): Promise<void> {
  await store.transaction(async (tx) => {
    await insertWorkspace('w')(tx);
    await tx.runEach(
      `INSERT INTO monitors (workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
        SELECT id, 'http', 'm', 1, '{}', 0, 0, 0 FROM workspaces`,
      [[]],
    );
  });
}

test('a new database has one shard, and another number may be set until it has monitors', async () => {
  expect(await countShards(store, null)).toBe(1);
  expect(await countShards(store, 4)).toBe(4);
  expect(await ids()).toEqual([0, 1, 2, 3]);
  await addMonitor();
  expect([await countShards(store, null), await countShards(store, 4)]).toEqual([4, 4]);
  await expect(countShards(store, 2)).rejects.toMatchObject({
    code: 'wrong-shards',
    message: expect.stringContaining('npm run svc -- shards 2'),
  });
});

test('the number of shards cannot change while a coordinator leads', async () => {
  await take(0);
  expect(await errorCodeOf(countShards(store, 2))).toBe('wrong-shards');
  expect(await errorCodeOf(changeShards(store, 2))).toBe('store-in-use');
  expect(await ids()).toEqual([0]);
});

test('an entry about a monitor is for its shard, and one about a channel for each shard', async () => {
  await countShards(store, 3);
  await store.transaction((tx) =>
    appendChanges(tx, [
      { kind: 'monitor', monitorId: 4, removed: null },
      { kind: 'channel-removed', notificationId: 7 },
      { kind: 'monitor', monitorId: 5, removed: null },
    ]),
  );
  const kinds = async (id: number, count: number) =>
    (await changesAfter(store, 0, 100, { id, count })).map((change) =>
      change.kind === 'monitor' ? change.monitorId : change.kind,
    );
  const each = (count: number) => Promise.all(Array.from({ length: count }, (_, id) => kinds(id, count)));
  expect(await each(3)).toEqual([['channel-removed'], [4, 'channel-removed'], ['channel-removed', 5]]);
  await changeShards(store, 2);
  const removed = Array(3).fill('channel-removed');
  expect(await each(2)).toEqual([
    [4, ...removed],
    [...removed, 5],
  ]);
});

test('notes of the export move with their monitors, and keep the order of their ids', async () => {
  const result = (monitor: number): CountedResult => ({ monitor, region: 'hosta-fra', outcome: 'passed' });
  await countShards(store, 2);
  await store.commit([
    insertNote({ id: 5, results: [result(2), result(4)] }, { id: 0, count: 2 }),
    insertNote({ id: 5, results: [result(1)] }, { id: 1, count: 2 }),
    insertNote({ id: 6, results: [result(3)] }, { id: 1, count: 2 }),
  ]);
  await changeShards(store, 3);
  const monitorsOf = async (id: number) =>
    (await notesAfter(store, 0, { id, count: 3 })).map((note) => [
      note.id,
      ...note.results.map(({ monitor }) => monitor),
    ]);
  expect(await Promise.all([0, 1, 2].map(monitorsOf))).toEqual([[[6, 3]], [[5, 4, 1]], [[5, 2]]]);
  expect(await lastNote(store)).toBe(6);
});

test.each([1, 4])('after a change from 2 shards to %i, a former leader cannot write', async (count) => {
  await countShards(store, 2);
  await take(0);
  await take(1);
  const leaders = [0, 1].map(
    (shard) =>
      new FencedStore(store, {
        shard,
        term: `a of ${shard}`,
        now: () => 0,
        onRenewed: () => {},
        onLost: () => {},
      }),
  );
  for (const [shard, leader] of leaders.entries())
    await leader.transaction(insertWorkspace(`before ${shard}`));
  await resign();
  expect(await changeShards(store, count)).toBe(2);
  for (const leader of leaders) {
    expect(await errorCodeOf(leader.renew())).toBe('not-leading');
    expect(await errorCodeOf(leader.transaction(insertWorkspace('after')))).toBe('not-leading');
  }
  expect(await workspaceNames(store)).toEqual(['before 0', 'before 1']);
});

test('the leases of shards are independent, and a fenced write of one renews no other', async () => {
  await countShards(store, 2);
  await take(0, 'a');
  await take(1, 'b');
  expect((await shardStates(store)).map(({ coordinator }) => coordinator)).toEqual(['a', 'b']);
  await resign();
  const leader = new FencedStore(store, {
    shard: 1,
    term: 'b of 1',
    now: () => 0,
    onRenewed: () => {},
    onLost: () => {},
  });
  await leader.renew();
  expect((await shardStates(store)).map(({ isFree }) => isFree)).toEqual([true, false]);
});

test('a coordinator counts as living until its announcement is withdrawn or a lease old', async () => {
  await announceCoordinator(store, 'a');
  await announceCoordinator(store, 'b');
  await announceCoordinator(store, 'a');
  expect((await livingCoordinators(store)).sort()).toEqual(['a', 'b']);
  await withdrawCoordinator(store, 'a');
  await store.commit([{ sql: 'UPDATE coordinators SET seen_at = database_now() - 3600', rows: [[]] }]);
  expect(await livingCoordinators(store)).toEqual([]);
});

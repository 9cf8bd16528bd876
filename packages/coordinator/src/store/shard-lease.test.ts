import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { errorCodeOf, insertWorkspace, workspaceNames } from '../../../../test/support/transactions.ts';
import { FencedStore, LEASE_MS, resignShard, takeShard, type WriteCount } from './shard-lease.ts';
import { shardStates } from './shards.ts';
import type { SqlStep, Store } from './store.ts';

let temporary: TemporaryStore;
let store: Store;

beforeEach(async () => {
  temporary = await temporaryStore();
  store = temporary.store;
});
afterEach(() => temporary.dispose());

const take = (term: string, isAlone = false) =>
  takeShard(store, { shard: 0, holder: `host of ${term}`, coordinator: term, term }, isAlone);

const row = async () => {
  const [found] = await store.transaction((tx) =>
    tx.query<{ holder: string; epoch: number; left: number }>(
      'SELECT holder, epoch, expires_at - database_now() AS left FROM shards',
    ),
  );
  return found;
};

const expire = () => store.commit([{ sql: 'UPDATE shards SET expires_at = database_now() - 1', rows: [[]] }]);

const rows = () => store.transaction((tx) => tx.query<{ writes: number }>('SELECT * FROM shards'));

/** Sets the row of the shard to what it was, as after a fail-over to a replica that lagged behind. */
const goBackTo = (earlier: { writes: number } | undefined) =>
  store.commit([{ sql: 'UPDATE shards SET writes = ?', rows: [[earlier?.writes ?? 0]] }]);

/** The store of a leader, and the calls that its holder has received. */
function leaderOf(term: string) {
  const told: (number | 'lost')[] = [];
  let instant = 0;
  const leader = new FencedStore(store, {
    shard: 0,
    term,
    now: () => instant,
    onRenewed: (begunAt) => told.push(begunAt),
    onLost: () => told.push('lost'),
  });
  return { leader, told, passTo: (at: number) => (instant = at) };
}

const insert = (name: string): SqlStep => ({
  sql: 'INSERT INTO workspaces (name, created_at) VALUES (?, 1)',
  rows: [[name]],
});

test('a shard is taken once until its lease expires or is given up; takes are counted', async () => {
  expect(await take('a')).toBe(true);
  expect(await take('b')).toBe(false);
  expect(await row()).toMatchObject({ holder: 'host of a', epoch: 1 });
  await expire();
  expect(await take('b')).toBe(true);
  expect(await take('c')).toBe(false);
  await resignShard(store, { shard: 0, term: 'b' });
  expect(await take('c')).toBe(true);
  expect(await row()).toMatchObject({ holder: 'host of c', epoch: 3 });
});

test('a take that names the writes of the last leader fails if that leader has written since', async () => {
  await take('a');
  const { leader } = leaderOf('a');
  const seen = async () => (await shardStates(store))[0];
  const takeAsSeen = (written: WriteCount | undefined) =>
    takeShard(store, { shard: 0, holder: 'host of b', coordinator: 'b', term: 'b' }, false, written);
  const early = await seen();
  expect(early).toMatchObject({ isFree: false, isLapsing: false });
  await leader.renew();
  await expire();
  const late = await seen();
  expect(late).toMatchObject({ isFree: true, isLapsing: true });
  expect(await takeAsSeen(early?.written)).toBe(false);
  expect(await takeAsSeen({ term: 'former', writes: late?.written.writes ?? 0 })).toBe(false);
  expect(await takeAsSeen(late?.written)).toBe(true);
});

test('a leader is late before its lease expires', async () => {
  await take('a');
  const age = `UPDATE shards SET expires_at = database_now() + ${LEASE_MS} - ?`;
  await store.commit([{ sql: age, rows: [[LEASE_MS - 1_000]] }]);
  expect((await shardStates(store))[0]).toMatchObject({ isFree: false, isLapsing: true });
});

test('of many coordinators that take a shard at once, one gets it', async () => {
  const takes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((term) => take(term)));
  expect(takes.filter((isTaken) => isTaken)).toHaveLength(1);
});

test('the only coordinator of a database takes a shard from a holder that is gone', async () => {
  await take('a');
  expect(await take('b', true)).toBe(true);
});

test('resigning a lease that another coordinator holds does nothing', async () => {
  await take('a');
  await resignShard(store, { shard: 0, term: 'former' });
  expect(await take('b')).toBe(false);
});

describe('a leader', () => {
  const writes: [string, (leader: Store) => Promise<unknown>][] = [
    ['a batch', (leader) => leader.commit([insert('written')])],
    ['a transaction', (leader) => leader.transaction(insertWorkspace('written'))],
    ['a declaration', (leader) => leader.declare(insertWorkspace('written'))],
  ];

  test.each(writes)('renews its lease with %s, also one that has expired', async (_, write) => {
    await take('a');
    const { leader, told, passTo } = leaderOf('a');
    await expire();
    passTo(7);
    await write(leader);
    expect(await workspaceNames(store)).toEqual(['written']);
    expect(told).toEqual([7]);
    expect((await row())?.left).toSatisfy((left: number) => left > 0 && left <= LEASE_MS);
    expect(await take('b')).toBe(false);
  });

  test.each(writes)('that was replaced writes nothing with %s', async (_, write) => {
    await take('a');
    const { leader, told } = leaderOf('a');
    await expire();
    await take('b');
    const before = await row();
    expect(await errorCodeOf(write(leader))).toBe('not-leading');
    expect(await workspaceNames(store)).toEqual([]);
    expect(told).toEqual(['lost']);
    expect((await row())?.holder).toBe(before?.holder);
    await write(leaderOf('b').leader);
    expect(await workspaceNames(store)).toEqual(['written']);
  });

  test.each(writes)('that was replaced hears so when %s meets rows of the next leader', async (_, write) => {
    await take('a');
    const { leader, told } = leaderOf('a');
    await expire();
    await take('b');
    await write(leaderOf('b').leader);
    expect(await errorCodeOf(write(leader))).toBe('not-leading');
    expect(told).toEqual(['lost']);
  });

  test.each(writes)('that has given its lease up writes nothing with %s', async (_, write) => {
    await take('a');
    await resignShard(store, { shard: 0, term: 'a' });
    expect(await errorCodeOf(write(leaderOf('a').leader))).toBe('not-leading');
    expect(await workspaceNames(store)).toEqual([]);
    expect(await take('b')).toBe(true);
  });

  test('renews when a long transaction ends, not when it begins', async () => {
    await take('a');
    const { leader, told, passTo } = leaderOf('a');
    await leader.transaction(async (tx) => {
      await insertWorkspace('long')(tx);
      passTo(9_000);
    });
    expect(told).toEqual([9_000]);
  });

  test('whose last writes the database has lost is told so by the renewal of many leases', async () => {
    await take('a');
    const { leader, told, passTo } = leaderOf('a');
    await FencedStore.renewAll([leader]);
    const [earlier] = await rows();
    await expire();
    passTo(7);
    await FencedStore.renewAll([leader]);
    expect(await take('b')).toBe(false);
    await goBackTo(earlier);
    await FencedStore.renewAll([leader]);
    expect(told).toEqual([0, 7, 'lost']);
    expect(await rows()).toMatchObject([{ writes: earlier?.writes }]);
  });

  test('is refused by a database that does not have its take of the lease', async () => {
    const { leader, told } = leaderOf('a');
    expect(await errorCodeOf(leader.renew())).toBe('not-leading');
    expect(told).toEqual(['lost']);
  });

  test.each(writes)('whose last writes the database has lost writes nothing with %s', async (_, write) => {
    await take('a');
    const { leader, told } = leaderOf('a');
    await leader.renew();
    const [earlier] = await rows();
    await leader.renew();
    await goBackTo(earlier);
    expect(await errorCodeOf(write(leader))).toBe('not-leading');
    expect(await workspaceNames(store)).toEqual([]);
    expect(told).toEqual([0, 0, 'lost']);
  });

  test('keeps its lease when a write fails for another reason', async () => {
    await take('a');
    const { leader, told } = leaderOf('a');
    expect(await errorCodeOf(leader.commit([insert('same'), insert('same')]))).toBe('store-constraint');
    expect(told).toEqual([0]);
  });
});

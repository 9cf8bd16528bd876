import { REGIONS } from '@svc/shared/regions.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { EAST, FRA, log, PAR } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { forgetRegions } from '../../../../test/support/coordinator/dispatch-rig.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { Store } from '../store/store.ts';
import { RegionPresence } from './region-presence.ts';

const HOUR = 3_600_000;
let database: TemporaryStore;
let store: Store;
let clock: FakeClock;

beforeAll(async () => {
  database = await temporaryStore();
  store = database.store;
});
afterAll(() => database.dispose());
beforeEach(async () => {
  await forgetRegions(store);
  clock = new FakeClock();
});

async function loaded(): Promise<RegionPresence> {
  const presence = new RegionPresence({ store, clock, log, regions: REGIONS });
  await presence.load();
  return presence;
}

const absences = () =>
  store.read
    .selectFrom('region_absences')
    .select(['region', 'started_at', 'ended_at'])
    .orderBy('id')
    .execute();

test('a region that never had an agent is not electable', async () => {
  const presence = await loaded();
  expect(presence.hadAgentWithin24h(FRA)).toBe(false);
  expect(presence.lastSeenAt(FRA)).toBeNull();
  expect(presence.live()).toEqual([]);
});

test('for 24 h after its last agent a region is electable, over restarts too', async () => {
  const presence = await loaded();
  presence.regionCame(FRA);
  expect(presence.live()).toEqual([FRA]);
  presence.regionLost(FRA, clock.wall());
  await presence.stop();
  clock.advance(24 * HOUR - 1);
  expect((await loaded()).hadAgentWithin24h(FRA)).toBe(true);
  clock.advance(1);
  expect((await loaded()).hadAgentWithin24h(FRA)).toBe(false);
});

test('a region that becomes live while another one is being saved is saved right afterwards', async () => {
  const released = Promise.withResolvers<void>();
  const saves = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  const slowStore: Store = Object.create(store, {
    transaction: {
      value: async (work: Parameters<Store['transaction']>[0]) => {
        await store.transaction(work);
        saves[begun++]?.resolve();
        await released.promise;
      },
    },
  });
  const presence = new RegionPresence({ store: slowStore, clock, log, regions: REGIONS });
  await presence.load();
  presence.regionCame(FRA);
  await saves[0]?.promise;
  presence.regionCame(PAR);
  released.resolve();
  // A process that is killed now saves nothing more.
  await saves[1]?.promise;
  expect((await loaded()).hadAgentWithin24h(PAR)).toBe(true);
});

test('a region that becomes live as a save ends is saved right afterwards, in whichever microtask', async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const released = Promise.withResolvers<void>();
    let begun = 0;
    const heldStore: Store = Object.create(store, {
      transaction: {
        value: () => {
          begun += 1;
          return released.promise;
        },
      },
    });
    const presence = new RegionPresence({ store: heldStore, clock, log, regions: REGIONS });
    await presence.load();
    presence.regionCame(FRA);
    await new Promise((resolve) => setImmediate(resolve));
    released.resolve();
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    presence.regionCame(PAR);
    await new Promise((resolve) => setImmediate(resolve));
    expect([turns, begun]).toEqual([turns, 2]);
  }
});

test('an absence that the leaders of two shards see is stored once', async () => {
  const leaders = [await loaded(), await loaded()];
  for (const presence of leaders) presence.regionCame(FRA);
  for (const presence of leaders) {
    presence.regionLost(FRA, clock.wall());
    await presence.stop();
  }
  expect(await absences()).toEqual([{ region: FRA, started_at: clock.wall(), ended_at: null }]);
  clock.advance(HOUR);
  for (const presence of leaders) {
    presence.regionCame(FRA);
    await presence.stop();
  }
  expect(await absences()).toMatchObject([{ ended_at: clock.wall() }]);
});

test('while a region is live, its presence is stored again and again', async () => {
  const presence = await loaded();
  presence.start();
  presence.regionCame(FRA);
  clock.advance(5 * 60_000);
  await presence.stop();
  expect((await loaded()).lastSeenAt(FRA)).toBe(clock.wall());
});

test('an absence is one interval, over restarts too', async () => {
  const began = clock.wall();
  const first = await loaded();
  first.regionCame(PAR);
  first.regionLost(PAR, began);
  await first.stop();
  clock.advance(HOUR);
  const second = await loaded();
  second.judgeAbsences(() => true);
  second.regionCame(PAR);
  await second.stop();
  expect((await absences()).filter(({ region }) => region === PAR)).toEqual([
    { region: PAR, started_at: began, ended_at: began + HOUR },
  ]);
});

test('regions that are declared or were present before count as absent; others do not', async () => {
  const before = await loaded();
  before.regionCame(PAR);
  await before.stop();
  const seenAt = clock.wall();
  clock.advance(HOUR);
  const presence = await loaded();
  presence.regionCame(EAST);
  presence.judgeAbsences((region) => region === FRA || region === EAST);
  presence.judgeAbsences((region) => region === FRA);
  await presence.stop();
  expect(await absences()).toEqual([
    { region: FRA, started_at: clock.wall(), ended_at: null },
    { region: PAR, started_at: seenAt, ended_at: null },
  ]);
});

test('a region that never had an agent is absent only while monitors declare it; one that had an agent stays absent', async () => {
  const before = await loaded();
  before.regionCame(PAR);
  before.judgeAbsences((region) => region === FRA);
  await before.stop();
  const began = clock.wall();
  clock.advance(HOUR);
  const presence = await loaded();
  presence.judgeAbsences(() => false);
  clock.advance(HOUR);
  presence.judgeAbsences((region) => region === FRA);
  await presence.stop();
  expect(await absences()).toEqual([
    { region: FRA, started_at: began, ended_at: began + HOUR },
    { region: PAR, started_at: began, ended_at: null },
    { region: FRA, started_at: began + 2 * HOUR, ended_at: null },
  ]);
});

test('instants are stored as whole milliseconds, and edges of an absence in their order', async () => {
  const presence = await loaded();
  presence.regionCame(FRA);
  clock.advance(10.25);
  const wentAt = clock.wall() - 0.5;
  presence.regionLost(FRA, wentAt);
  clock.advance(1_000.5);
  presence.regionCame(FRA);
  presence.regionLost(FRA, clock.wall());
  await presence.stop();
  const [first, second] = await absences();
  expect(first).toEqual({
    region: FRA,
    started_at: Math.floor(wentAt),
    ended_at: Math.floor(clock.wall()),
  });
  expect(second).toEqual({ region: FRA, started_at: Math.floor(clock.wall()), ended_at: null });
  const seen = await store.read.selectFrom('region_presence').select('last_seen_at').execute();
  expect(seen).toEqual([{ last_seen_at: Math.floor(clock.wall()) }]);
});

test('a failed save is repeated later', async () => {
  let isBroken = true;
  const presence = new RegionPresence({
    regions: REGIONS,
    clock,
    log,
    store: {
      read: store.read,
      work: store.work,
      commit: (steps) => store.commit(steps),
      declare: (work) => store.declare(work),
      declarations: 0,
      close: async () => {},
      transaction: (work) => (isBroken ? Promise.reject(new Error('disk full')) : store.transaction(work)),
    },
  });
  presence.regionCame(FRA);
  presence.regionLost(FRA, clock.wall());
  await presence.stop();
  expect(await absences()).toEqual([]);
  isBroken = false;
  await presence.stop();
  expect(await absences()).toMatchObject([{ region: FRA, ended_at: null }]);
});

// The test reads a query plan of SQLite.
test.skipIf(IS_POSTGRES)('absences that last are looked up without those that ended', async () => {
  const plan = await store.transaction((tx) =>
    tx.query<{ detail: string }>(
      'EXPLAIN QUERY PLAN SELECT region, started_at FROM region_absences WHERE ended_at IS NULL',
    ),
  );
  expect(plan.map(({ detail }) => detail).join()).toContain('region_absences_lasting');
});

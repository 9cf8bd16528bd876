import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { settle } from '../../../../test/support/fake-clock.ts';
import { Retention } from './retention.ts';

const DAY = 24 * 3_600_000;
let parts: ConfiguredStore;
let retention: Retention;

beforeEach(async () => {
  parts = await configuredStore();
  const { store, clock } = parts;
  retention = new Retention({ store, clock, log: silentLog, resultRetentionDays: 14 });
  await rolledUpUntil(clock.wall());
});
afterEach(() => parts.dispose());

async function rolledUpUntil(hour: number): Promise<void> {
  const sql =
    'INSERT OR REPLACE INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, 0, 0, 0)';
  await parts.store.commit([{ sql, rows: [[hour]] }]);
}

/** One result per `every` ms from `from` to `to` of monitors 1 to `monitors`, none of which is declared. */
async function addResults(monitors: number, from: number, to: number, every: number): Promise<void> {
  const sql =
    "INSERT INTO results (monitor_id, slot, region, outcome, version, recorded_at) VALUES (?, ?, 'hosta-fra', 'passed', 1, 0)";
  const rows: number[][] = [];
  for (let id = 1; id <= monitors; id++)
    for (let slot = from; slot < to; slot += every) rows.push([id, slot]);
  await parts.store.commit([{ sql, rows }]);
}

const counts = () =>
  parts.store.read
    .selectFrom('results')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.min('slot').as('oldest')])
    .executeTakeFirstOrThrow();

/** Runs the clock on until `work` ends: it rests on the clock between chunks. */
async function driven<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  work.finally(() => {
    isDone = true;
  });
  while (!isDone) await parts.clock.advanceSettling(50);
  return work;
}

test('deletes exactly what is older than the retention, in more than one chunk', async () => {
  const now = parts.clock.wall();
  // Half a step off the edge: the clock goes on a little while it sweeps.
  await addResults(3, now - 20 * DAY + DAY / 200, now, DAY / 100);
  const { all: before } = await counts();
  const { results } = await driven(retention.sweep());
  const { all, oldest } = await counts();
  expect(oldest).toBe(now - 14 * DAY + DAY / 200);
  expect(all).toBe(3 * 1_400);
  expect(results).toBe(before - all);
  expect(await driven(retention.sweep())).toEqual({ results: 0, deliveries: 0 });
});

test('what is not rolled up yet stays, and so does an hour that is to be rolled up again', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 20 * DAY, now, DAY / 100);
  await rolledUpUntil(now - 16 * DAY);
  const repair = 'INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, 1)';
  await parts.store.commit([{ sql: repair, rows: [[now - 18 * DAY]] }]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 18 * DAY);
  await parts.store.commit([{ sql: 'DELETE FROM rollup_repairs', rows: [[]] }]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 16 * DAY);
  await parts.store.commit([{ sql: 'DELETE FROM rollup_progress', rows: [[]] }]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 16 * DAY);
});

test('slots off the grid are forgotten with their results', async () => {
  const now = parts.clock.wall();
  const slots = [now - 15 * DAY, now - 13 * DAY];
  await parts.store.transaction(({ db }) =>
    db
      .insertInto('off_grid_slots')
      .values(slots.map((slot) => ({ monitor_id: 1, slot })))
      .execute(),
  );
  await driven(retention.sweep());
  const left = await parts.store.read.selectFrom('off_grid_slots').select('slot').execute();
  expect(left).toEqual([{ slot: now - 13 * DAY }]);
});

test('finished deliveries go by their end, pending ones never', async () => {
  const now = parts.clock.wall();
  await parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, async (change) => {
    await change.create('svc_notification', {
      name: null,
      provider_type: 'email',
      monitor_ids: [],
      settings: { email: 'a@example.com' },
    });
    const finishedAt = { old: now - 15 * DAY, young: now - 13 * DAY, pending: null };
    for (const [uid, finished_at] of Object.entries(finishedAt)) {
      await change.tx.db
        .insertInto('deliveries')
        .values({
          uid,
          notification_id: 1,
          monitor_id: 1,
          alert: '{}',
          state: finished_at === null ? 'pending' : 'delivered',
          next_attempt_at: null,
          last_error: null,
          created_at: now - 16 * DAY,
          finished_at,
        })
        .execute();
    }
  });
  expect(await driven(retention.sweep())).toEqual({ results: 0, deliveries: 1 });
  const left = await parts.store.read.selectFrom('deliveries').select('uid').orderBy('uid').execute();
  expect(left.map(({ uid }) => uid)).toEqual(['pending', 'young']);
});

test('sweeps by itself, hour after hour, and stops', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 15 * DAY, now - 14 * DAY, DAY / 10);
  retention.start();
  for (let round = 0; (await counts()).all > 0 && round < 1_000; round++)
    await parts.clock.advanceSettling(1_000);
  expect((await counts()).all).toBe(0);
  await retention.stop();
  await settle();
  expect(parts.clock.pendingTimers).toBe(0);
});

test('stop ends a sweep between two chunks', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 40 * DAY, now - 14 * DAY, DAY / 100);
  retention.start();
  await parts.clock.advanceSettling(60_000);
  await retention.stop();
  expect(parts.clock.pendingTimers).toBe(0);
});

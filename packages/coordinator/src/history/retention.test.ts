import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { settle } from '../../../../test/support/fake-clock.ts';
import { type GivenResult, addResults as record } from '../../../../test/support/recorded-results.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { statusHistories } from '../store/states/transitions.ts';
import type { SqlValue } from '../store/store.ts';
import { TOLERANCE_MS } from '../verdict/believed-time.ts';
import { HOUR_MS } from '../verdict/summary-range.ts';
import { BelievedClock } from './believed-clock.ts';
import { Retention, type Swept } from './retention.ts';

const DAY = 24 * HOUR_MS;
const NOTHING: Swept = {
  results: 0,
  deliveries: 0,
  transitions: 0,
  incidents: 0,
  absences: 0,
  auditLines: 0,
};
let parts: ConfiguredStore;
let retention: Retention;

beforeEach(async () => {
  parts = await configuredStore();
  await rolledUpUntil(parts.clock.wall());
  retention = await started();
});
afterEach(() => parts.dispose());

/** Makes the retention as a starting coordinator does. */
async function started(newestSlot: number | null = null): Promise<Retention> {
  const { store, clock } = parts;
  const believed = await BelievedClock.load({ store, clock, log: silentLog }, newestSlot);
  return new Retention({ store, clock, believed, log: silentLog, resultRetentionDays: 14 });
}

const write = (sql: string, rows: readonly (readonly SqlValue[])[]) =>
  parts.store.transaction((tx) => tx.runEach(sql, rows));

async function rolledUpUntil(hour: number): Promise<void> {
  await write(
    `INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, 0, 0, 0)
     ON CONFLICT (id) DO UPDATE SET hour = excluded.hour`,
    [[hour]],
  );
}

/**
 * Records one result every `every` ms, from `from` on and before `to`, for each of the monitors 1 to
 * `monitors`. It does not declare the monitors.
 */
async function addResults(monitors: number, from: number, to: number, every: number): Promise<void> {
  const results: GivenResult[] = [];
  for (let id = 1; id <= monitors; id += 1)
    for (let slot = from; slot < to; slot += every)
      results.push({ monitor_id: id, slot, region: 'hosta-fra', outcome: 'passed', recorded_at: 0 });
  await record(parts.store, ...results);
}

/** Declares a monitor, whose history is read. */
async function addMonitor(id: number): Promise<void> {
  await write(
    `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
       updated_at) VALUES (?, ?, 'http', 'x', 1, '{}', 0, 0, 0)`,
    [[id, parts.workspaceId]],
  );
}

/** Records changes of status. */
async function addChanges(id: number, entries: readonly [from: string, to: string, at: number][]) {
  await write(
    `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
     VALUES (?, ?, ?, 'x', ?, '[]')`,
    entries.map((entry) => [id, ...entry]),
  );
}

const changesOf = async (id: number) => {
  const rows = await parts.store.read
    .selectFrom('transitions')
    .select(['to_status', 'at'])
    .where('monitor_id', '=', id)
    .orderBy('id')
    .execute();
  return rows.map(({ to_status, at }) => [to_status, at]);
};

const counts = () =>
  parts.store.read
    .selectFrom('slot_results')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.min('slot').as('oldest')])
    .executeTakeFirstOrThrow();

/** Advances the clock until `work` ends, because it pauses on the clock between chunks. */
async function driven<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  work.finally(() => {
    isDone = true;
  });
  // The clock advances only while a pause waits for it. Answers of the database take real time.
  while (!isDone) {
    if (parts.clock.pendingTimers > 0) parts.clock.advance(50);
    await settle();
  }
  return work;
}

test('deletes the hours that are older than the retention, in more than one chunk, and nothing younger', async () => {
  const now = parts.clock.wall();
  await addResults(3, now - 20 * DAY, now, DAY / 96);
  const { all: before } = await counts();
  const { results } = await driven(retention.sweep());
  const { all, oldest } = await counts();
  // The hour that contains the tolerance for the clock stays as a whole.
  expect(oldest).toBe(now - 14 * DAY - HOUR_MS);
  expect(all).toBe(3 * (14 * 96 + 4));
  expect(results).toBe(before - all);
  expect(await driven(retention.sweep())).toEqual(NOTHING);
});

test('the name of an agent stays as long as one of its results', async () => {
  const now = parts.clock.wall();
  const names = async () => (await rowsOf(parts.store, 'agent_names')).map(({ name }) => name);
  const result = { monitor_id: 1, region: 'hosta-fra', outcome: 'passed' } as const;
  const ofAgent = (agent: string, days: number) => ({ ...result, agent, slot: now - days * DAY });
  await record(parts.store, ofAgent('gone', 18), ofAgent('here', 12));
  await driven(retention.sweep());
  expect(await names()).toEqual(['here']);
  await write('DELETE FROM rollup_progress', [[]]);
  parts.clock.advance(30 * DAY);
  await driven(retention.sweep());
  expect(await names()).toEqual(['here']);
});

test('results stay until they are rolled up, and while their hour waits for a repair', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 20 * DAY, now, DAY / 100);
  await rolledUpUntil(now - 16 * DAY);
  await write('INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, 1)', [[now - 18 * DAY]]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 18 * DAY);
  await write('DELETE FROM rollup_repairs', [[]]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 16 * DAY);
  await write('DELETE FROM rollup_progress', [[]]);
  await driven(retention.sweep());
  expect((await counts()).oldest).toBe(now - 16 * DAY);
});

test('slots off the grid are deleted with their results', async () => {
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

test('finished deliveries are deleted by their end, and pending deliveries never', async () => {
  const now = parts.clock.wall();
  await parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, async (change) => {
    await change.create('svc_notification', {
      name: null,
      provider_type: 'email',
      monitor_ids: [],
      group_alerts: true,
      notify_unknown: true,
      remind_every: null,
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
  expect(await driven(retention.sweep())).toEqual({ ...NOTHING, deliveries: 1 });
  const left = await parts.store.read.selectFrom('deliveries').select('uid').orderBy('uid').execute();
  expect(left.map(({ uid }) => uid)).toEqual(['pending', 'young']);
});

test('the thread of an old incident is deleted, but not that of a notice which has not ended', async () => {
  const at = parts.clock.wall() - 500 * DAY;
  await addMonitor(1);
  await write('INSERT INTO monitor_notices (monitor_id, region, since, key, told) VALUES (?, ?, ?, ?, ?)', [
    [1, 'hosta-fra', at, 'open', '[]'],
  ]);
  await write('INSERT INTO delivery_threads (notification_id, incident, at) VALUES (?, ?, ?)', [
    [1, 'open', at],
    [1, 'over', at],
  ]);
  await driven(retention.sweep());
  expect(await rowsOf(parts.store, 'delivery_threads')).toMatchObject([{ incident: 'open' }]);
});

test('sweeps by itself, hour after hour, and stops', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 15 * DAY, now - 14 * DAY, DAY / 10);
  retention.start();
  for (let round = 0; (await counts()).all > 0 && round < 1_000; round += 1)
    await parts.clock.advanceSettling(1_000);
  expect((await counts()).all).toBe(0);
  await retention.stop();
  await settle();
  expect(parts.clock.pendingTimers).toBe(0);
});

test('a stop while a sweep saves the believed time leaves no timer behind', async () => {
  const { store, clock } = parts;
  const believed = await BelievedClock.load({ store, clock, log: silentLog }, null);
  const running = new Retention({ store, clock, believed, log: silentLog, resultRetentionDays: 14 });
  const saving = Promise.withResolvers<void>();
  const save = believed.save.bind(believed);
  believed.save = () => {
    saving.resolve();
    return save();
  };
  running.start();
  clock.advance(60_000);
  await saving.promise;
  await running.stop();
  expect(clock.pendingTimers).toBe(0);
});

test('stop ends a sweep between two chunks', async () => {
  const now = parts.clock.wall();
  await addResults(1, now - 40 * DAY, now - 14 * DAY, DAY / 100);
  retention.start();
  await parts.clock.advanceSettling(60_000);
  await retention.stop();
  expect(parts.clock.pendingTimers).toBe(0);
});

describe('the history', () => {
  test('changes of status are deleted after 400 days, except the last one before that edge', async () => {
    const now = parts.clock.wall();
    const edge = now - 400 * DAY - TOLERANCE_MS;
    for (const id of [1, 2, 3]) await addMonitor(id);
    await addChanges(1, [
      ['unknown', 'active', edge - 30 * DAY],
      ['active', 'error', edge - 20 * DAY],
      ['error', 'active', edge - 10 * DAY],
      ['active', 'error', edge + DAY],
    ]);
    // Monitor 2 has no change from `edge` on, and monitor 3 has no earlier change.
    await addChanges(2, [['unknown', 'active', edge - 300 * DAY]]);
    await addChanges(3, [['unknown', 'active', edge]]);
    const span = { from: edge, until: now };
    const before = await statusHistories(parts.store, [1, 2, 3], span);
    expect(await driven(retention.sweep())).toEqual({ ...NOTHING, transitions: 2 });
    expect(await changesOf(1)).toEqual([
      ['active', edge - 10 * DAY],
      ['error', edge + DAY],
    ]);
    expect(await changesOf(2)).toHaveLength(1);
    expect(await changesOf(3)).toHaveLength(1);
    expect(await statusHistories(parts.store, [1, 2, 3], span)).toEqual(before);
  });

  test('of several changes at one instant the last one stays', async () => {
    const at = parts.clock.wall() - 500 * DAY;
    await addMonitor(1);
    await addChanges(1, [
      ['unknown', 'active', at],
      ['active', 'error', at],
    ]);
    await driven(retention.sweep());
    expect(await changesOf(1)).toEqual([['error', at]]);
  });

  test('changes of only the reason are deleted with the results, and of a deleted monitor no change stays longer than 400 days', async () => {
    const now = parts.clock.wall();
    await addMonitor(1);
    await addChanges(1, [
      ['unknown', 'active', now - 20 * DAY],
      ['active', 'active', now - 15 * DAY],
      ['active', 'active', now - 13 * DAY],
    ]);
    await addChanges(7, [
      ['unknown', 'active', now - 401 * DAY],
      ['active', 'active', now - 15 * DAY],
      ['active', 'unknown', now - 399 * DAY],
    ]);
    expect(await driven(retention.sweep())).toEqual({ ...NOTHING, transitions: 3 });
    expect(await changesOf(1)).toEqual([
      ['active', now - 20 * DAY],
      ['active', now - 13 * DAY],
    ]);
    expect(await changesOf(7)).toEqual([['unknown', now - 399 * DAY]]);
  });

  test('a sweep deletes a change that comes after more changes that stay than a chunk has', async () => {
    const now = parts.clock.wall();
    const ids = Array.from({ length: 1_500 }, (_, index) => index + 1);
    await parts.store.transaction(async (tx) => {
      await tx.runEach(
        `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
           updated_at) VALUES (?, ?, 'http', 'x', 1, '{}', 0, 0, 0)`,
        ids.map((id) => [id, parts.workspaceId]),
      );
      await tx.runEach(
        `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
         VALUES (?, 'unknown', 'active', 'x', ?, '[]')`,
        ids.map((id) => [id, now - 500 * DAY]),
      );
    });
    await addChanges(9_000, [['unknown', 'active', now - 450 * DAY]]);
    expect(await driven(retention.sweep())).toEqual({ ...NOTHING, transitions: 1 });
    expect(await changesOf(9_000)).toEqual([]);
  });

  test('lines of the audit trail are deleted after 400 days', async () => {
    const now = parts.clock.wall();
    await write(
      "INSERT INTO audit (at, actor, action, object, outcome) VALUES (?, 'token', 'create', ?, 'done')",
      [
        [now - 401 * DAY, 'old'],
        [now - 399 * DAY, 'new'],
      ],
    );
    expect(await driven(retention.sweep())).toEqual({ ...NOTHING, auditLines: 1 });
    expect(await rowsOf(parts.store, 'audit')).toMatchObject([{ object: 'new' }]);
  });

  test('incidents and absences are deleted 400 days after their end, and stay while they last', async () => {
    const now = parts.clock.wall();
    await write('INSERT INTO incidents (key, monitor_id, opened_at, closed_at) VALUES (?, 1, ?, ?)', [
      ['old', now - 402 * DAY, now - 401 * DAY],
      ['long', now - 500 * DAY, now - 399 * DAY],
      ['open', now - 500 * DAY, null],
    ]);
    await write('INSERT INTO region_absences (region, started_at, ended_at) VALUES (?, ?, ?)', [
      ['hosta-fra', now - 402 * DAY, now - 401 * DAY],
      ['hosta-fra', now - 500 * DAY, now - 399 * DAY],
      ['hostb-par', now - 500 * DAY, null],
    ]);
    expect(await driven(retention.sweep())).toEqual({ ...NOTHING, incidents: 1, absences: 1 });
    const keys = await parts.store.read.selectFrom('incidents').select('key').orderBy('key').execute();
    expect(keys.map(({ key }) => key)).toEqual(['long', 'open']);
    const ends = await parts.store.read
      .selectFrom('region_absences')
      .select('ended_at')
      .orderBy('id')
      .execute();
    expect(ends.map(({ ended_at: at }) => at)).toEqual([now - 399 * DAY, null]);
  });

  test.each([
    [
      'transitions_changed',
      'from_status <> to_status AND (at, id) > (0, 0) AND at < 1 ORDER BY at, id',
      'transitions',
    ],
    ['transitions_reasons', 'from_status = to_status AND at < 1', 'transitions'],
    ['incidents_closed', 'closed_at < 1', 'incidents'],
    ['region_absences_ended', 'ended_at < 1', 'region_absences'],
  ])('a sweep uses the index %s', async (index, condition, table) => {
    const plan = await parts.store.transaction((tx) =>
      tx.query<{ detail: string }>(`EXPLAIN QUERY PLAN SELECT * FROM ${table} WHERE ${condition} LIMIT 5`),
    );
    expect(plan.map(({ detail }) => detail).join()).toMatch(new RegExp(`SEARCH .* ${index} `));
  });
});

describe('a clock that is wrong', () => {
  /** Adds results and a history that are not too old by the right clock. */
  async function addYoung(): Promise<void> {
    const now = parts.clock.wall();
    await addMonitor(1);
    // The oldest results are 20 h younger than the retention. No test lasts longer than that.
    await addResults(3, now - 14 * DAY + 20 * HOUR_MS, now, DAY / 96);
    await addChanges(1, [
      ['unknown', 'active', now - 399 * DAY],
      ['active', 'active', now - 13 * DAY],
      ['active', 'error', now - DAY],
    ]);
    await rolledUpUntil(now + 1_000 * DAY);
  }

  async function sweepHourly(swept: Retention, hours: number): Promise<void> {
    for (let hour = 0; hour < hours; hour += 1) {
      await driven(swept.sweep());
      parts.clock.advance(HOUR_MS);
    }
  }

  const rowsLeft = async () => ({ ...(await counts()), changes: (await changesOf(1)).length });

  test.each([
    ['30 days', 30 * DAY],
    ['three hours', 3 * HOUR_MS],
    ['ten years', 3_650 * DAY],
  ])('set forward by %s before the first sweep, and set back', async (_name, aheadMs) => {
    await addYoung();
    const before = await rowsLeft();
    parts.clock.stepWall(aheadMs);
    await sweepHourly(retention, 20);
    await retention.stop();
    parts.clock.stepWall(-aheadMs);
    expect(await driven((await started()).sweep())).toEqual(NOTHING);
    expect(await rowsLeft()).toEqual(before);
  });

  test('set forward by 30 days during a sweep, and set back', async () => {
    const now = parts.clock.wall();
    await addYoung();
    const before = await rowsLeft();
    await addResults(3, now - 40 * DAY, now - 15 * DAY, DAY / 100);
    const sweeping = retention.sweep();
    let isDone = false;
    sweeping.finally(() => {
      isDone = true;
    });
    // The clock jumps forth and back between the chunks.
    for (let step = 1; !isDone; step += 1) {
      parts.clock.stepWall(step % 2 === 1 ? 30 * DAY : -30 * DAY);
      await parts.clock.advanceSettling(50);
    }
    expect((await sweeping).results).toBe(3 * 2_500);
    expect(await rowsLeft()).toEqual(before);
  });

  test('found wrong during a sweep, and set right', async () => {
    const now = parts.clock.wall();
    await addResults(3, now - 40 * DAY, now - 15 * DAY, DAY / 100);
    const sweeping = retention.sweep();
    await settle();
    parts.clock.stepWall(-30 * DAY);
    // By the right clock nothing was too old. Only the data of the first chunk is deleted.
    expect((await driven(sweeping)).results).toBeLessThanOrEqual(1_000);
  });

  test('400 days ahead at a start, after results were recorded under the right clock, restarts included', async () => {
    await addYoung();
    const newest = parts.clock.wall() - DAY / 100;
    const before = await rowsLeft();
    parts.clock.stepWall(400 * DAY);
    for (let restart = 0; restart < 4; restart += 1) {
      // From the second start on, the newest slot is from the wrong clock.
      const running = await started(restart === 0 ? newest : parts.clock.wall());
      await sweepHourly(running, 5);
      await running.stop();
    }
    parts.clock.stepWall(-400 * DAY);
    expect(await driven((await started()).sweep())).toEqual(NOTHING);
    expect(await rowsLeft()).toEqual(before);
  });

  test('is believed in the end: data that was kept over a long standstill is deleted', async () => {
    const now = parts.clock.wall();
    await addResults(1, now - DAY, now, DAY / 10);
    await rolledUpUntil(now + 1_000 * DAY);
    await retention.stop();
    parts.clock.stepWall(30 * DAY);
    const running = await started();
    await sweepHourly(running, 7 * 24);
    expect((await counts()).all).toBe(10);
    await sweepHourly(running, 2);
    expect((await counts()).all).toBe(0);
  });

  test('a restart of some minutes is no jump of the clock: no data is kept longer', async () => {
    const now = parts.clock.wall();
    await addResults(1, now - 20 * DAY, now, DAY / 100);
    await retention.stop();
    parts.clock.stepWall(5 * 60_000);
    await driven((await started()).sweep());
    expect((await counts()).oldest).toBeGreaterThanOrEqual(now - 14 * DAY - HOUR_MS);
  });
});

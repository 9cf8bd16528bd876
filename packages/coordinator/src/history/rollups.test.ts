import type { Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { countsOf, naiveSummary, regionsOf } from '../../../../test/support/coordinator/naive-summary.ts';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { caughtUp, partsOf, rollupsOf } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { ReadingProgress } from '../checks/reading-progress.ts';
import type { Store, Transaction } from '../store/store.ts';
import { percentile } from '../verdict/latency-histogram.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';
import {
  DAY_MS,
  dayOf,
  HOUR_MS,
  hourOf,
  SUMMARY_RANGES,
  type SummaryRange,
} from '../verdict/summary-range.ts';
import { uptimePercent } from '../verdict/uptime.ts';
import { Rollups } from './rollups.ts';
import { readSummary } from './summary.ts';

const MINUTE = 60_000;
const [FRA, PAR] = THREE as [Region, Region, Region];
let recording: Recording;
let rollups: Rollups;

beforeEach(async () => {
  recording = await Recording.open();
  rollups = await rollupsOf(recording);
});
afterEach(() => recording.dispose());

const summary = (id: number, range: SummaryRange) =>
  readSummary(recording.store, id, range, recording.clock.wall());

/** Compares all ranges with a count of all results. */
async function expectTrue(id: number): Promise<void> {
  for (const range of Object.keys(SUMMARY_RANGES) as SummaryRange[]) {
    const found = await summary(id, range);
    const naive = await naiveSummary(recording, id, range, recording.clock.wall());
    const lengths = ({ latencies, ...counts }: typeof naive.total) => ({
      ...counts,
      latencies: latencies.length,
    });
    expect(countsOf(found.total), range).toEqual(lengths(naive.total));
    expect(found.times).toEqual(naive.times);
    expect(regionsOf(found)).toEqual(
      Object.fromEntries(Object.entries(naive.regions).map(([name, counts]) => [name, lengths(counts)])),
    );
    expect(
      found.buckets.map(({ at, tally, times }) => ({
        at,
        uptime: uptimePercent(times),
        counts: countsOf(tally),
      })),
    ).toEqual(naive.buckets.map((bucket) => ({ ...bucket, counts: lengths(bucket.counts) })));
    for (const share of [0.5, 0.75, 0.9, 0.95, 0.99]) {
      const { latencies } = naive.total;
      const exact = latencies[Math.ceil(share * latencies.length) - 1] ?? null;
      const near = percentile(found.total.latency, share);
      if (exact === null) expect(near).toBeNull();
      else expect(Math.abs((near ?? 0) - exact)).toBeLessThanOrEqual(exact * 0.05);
    }
  }
}

const naiveCounts = async (range: SummaryRange) => {
  const { total } = await naiveSummary(recording, 1, range, recording.clock.wall());
  return { ...total, latencies: total.latencies.length };
};

const hoursOf = (id: number) =>
  recording.rows<{ at: number; region: string; passed: number; not_run: number }>(
    'SELECT at, region, passed, not_run FROM rollup_hours WHERE monitor_id = ? ORDER BY at, region',
    id,
  );
const repairs = () => recording.rows('SELECT * FROM rollup_repairs');

/** First slot of the monitor in the hour, on its grid. */
const slotIn = (id: number, hour: number, index = 0) =>
  gridSlotFrom(hour, 30_000, phaseOf(id, 30_000)) + index * 30_000;

/**
 * Returns the store, the number of rows that each transaction changed, and a function that makes the next
 * transaction fail.
 */
function counting(store: Store): { store: Store; written: number[]; failNext: () => void } {
  const written: number[] = [];
  let fails = false;
  const changes = async (tx: Transaction) => {
    const [row] = await tx.query<{ many: number }>(
      IS_POSTGRES
        ? 'SELECT CAST(sum(n_tup_ins + n_tup_upd + n_tup_del) AS bigint) AS many FROM pg_stat_xact_user_tables'
        : 'SELECT total_changes() AS many',
    );
    return row?.many ?? 0;
  };
  const transaction: Store['transaction'] = (work) => {
    if (fails) {
      fails = false;
      return Promise.reject(new Error('disk full'));
    }
    return store.transaction(async (tx) => {
      const before = await changes(tx);
      const done = await work(tx);
      written.push((await changes(tx)) - before);
      return done;
    });
  };
  const failNext = () => {
    fails = true;
  };
  const commit: Store['commit'] = (steps) => store.commit(steps);
  return {
    store: {
      read: store.read,
      work: store.work,
      declare: transaction,
      declarations: 0,
      close: () => store.close(),
      commit,
      transaction,
    },
    written,
    failNext,
  };
}

describe('a summary equals a count of all results', () => {
  type Step =
    | { do: 'report'; monitor: number; region: number; ago: number; outcome: number; latency: number }
    | { do: 'pass'; minutes: number }
    | { do: 'roll-up'; steps: number }
    | { do: 'kill' | 'all' };
  const OUTCOMES = ['passed', 'degraded', 'failed', 'not_run'] as const;
  const report = fc.record({
    do: fc.constant('report' as const),
    monitor: fc.integer({ min: 1, max: 3 }),
    region: fc.integer({ min: 0, max: 2 }),
    /** Slots before now. Some of them are off the grid. */
    ago: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 400 })),
    outcome: fc.integer({ min: 0, max: 3 }),
    latency: fc.integer({ min: 1, max: 90_000 }),
  });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: report },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.integer({ min: 1, max: 900 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('roll-up' as const), steps: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'kill' }, { do: 'all' }) },
  );

  async function run(one: Step): Promise<void> {
    switch (one.do) {
      case 'report': {
        const isOffGrid = one.ago % 7 === 3;
        const slot = slotIn(one.monitor, recording.clock.wall(), -one.ago - 1) + (isOffGrid ? 1_234 : 0);
        const region = THREE[one.region] ?? FRA;
        const outcome = OUTCOMES[one.outcome] ?? 'passed';
        // Old results are reported again. The first one that is not `not_run` stays.
        await recording.report(one.monitor, slot, region, { outcome, latency: one.latency / 10 });
        return;
      }
      case 'pass':
        recording.clock.advance(one.minutes * MINUTE);
        await recording.recorder.flushed();
        return;
      case 'roll-up':
        for (let count = 0; count < one.steps; count += 1) await rollups.step();
        return;
      case 'all':
        await caughtUp(rollups);
        return;
      case 'kill': {
        // The process may end at any point: between reading and writing, or after writing.
        const cutOff = rollups.step().catch(() => {});
        await recording.restart();
        await cutOff;
        rollups = await rollupsOf(recording);
        return;
      }
    }
  }

  test('when results are late, repeated or replaced, or a restart comes in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        // A row of slots dates a change back, also to a day that is rolled up.
        for (const id of [1, 2, 3])
          await recording.declare(liveMonitor(id, { confirmAfter: id, recoverAfter: id }));
        for (const one of steps) await run(one);
        await caughtUp(rollups);
        for (const id of [1, 2, 3]) await expectTrue(id);
        await recording.dispose();
        recording = await Recording.open();
        rollups = await rollupsOf(recording);
      }),
      { numRuns: 15 },
    );
  });

  test('over weeks, with a status that changes', async () => {
    await recording.declare(liveMonitor(1));
    for (let round = 0; round < 100; round += 1) {
      const outcome = round % 7 === 3 ? 'failed' : round % 5 === 1 ? 'degraded' : 'passed';
      await recording.slot(1, { [FRA]: outcome, [PAR]: outcome });
      recording.clock.advance(7 * HOUR_MS + 30_000);
      await recording.recorder.flushed();
      if (round % 10 === 0) await caughtUp(rollups);
    }
    await caughtUp(rollups);
    await expectTrue(1);
    const [days] = await recording.rows<{ many: number }>('SELECT count(*) AS many FROM uptime_days');
    expect(days?.many).toBeGreaterThan(20);
  });
});

describe('a change that a row of slots dates back', () => {
  test.each([
    ['to the day before', 1],
    ['over several days', 3],
  ])('%s is in the uptime of these days, once they are repaired', async (_name, days) => {
    await recording.declare(liveMonitor(1, { confirmAfter: 2 }));
    const fail = () => recording.slot(1, { [FRA]: 'failed', [PAR]: 'failed' });
    await recording.slot(1, { [FRA]: 'passed', [PAR]: 'passed' });
    const midnight = dayOf(recording.clock.wall()) + DAY_MS;
    recording.clock.advance(midnight - MINUTE - recording.clock.wall());
    await recording.recorder.flushed();
    await fail();
    // Until the second slot of the row, these days keep their earlier status.
    recording.clock.advance((days - 1) * DAY_MS + 2 * HOUR_MS);
    await recording.recorder.flushed();
    await caughtUp(rollups);
    const erring = () =>
      recording.rows('SELECT at, error_ms FROM uptime_days WHERE error_ms > 0 ORDER BY at');
    expect(await erring()).toEqual([]);
    await fail();
    expect(await repairs()).toHaveLength(days);
    await caughtUp(rollups);
    expect(await repairs()).toEqual([]);
    expect(recording.changes.at(-1)).toMatchObject({ to: 'error' });
    await expectTrue(1);
  });
});

describe('hours', () => {
  test('are rolled up some minutes after their end, with one row per region', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    for (const region of [FRA, PAR]) await recording.report(1, slotIn(1, hour), region, 'passed');
    await recording.report(1, slotIn(1, hour, 1), FRA, 'not_run');
    recording.clock.advance(HOUR_MS + 4 * MINUTE);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([]);
    expect(rollups.behindMs).toBe(0);
    recording.clock.advance(3 * MINUTE);
    expect(rollups.behindMs).toBe(2 * MINUTE);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([
      { at: hour, region: FRA, passed: 1, not_run: 1 },
      { at: hour, region: PAR, passed: 1, not_run: 0 },
    ]);
    expect(rollups.behindMs).toBe(0);
  });

  test('a late result causes a repair of its hour and its day, and a repeated result changes nothing', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    await recording.report(1, slotIn(1, hour), FRA, 'not_run');
    recording.clock.advance(2 * DAY_MS);
    await caughtUp(rollups);
    await recording.report(1, slotIn(1, hour), FRA, 'passed');
    expect(await repairs()).toHaveLength(1);
    await caughtUp(rollups);
    expect(await repairs()).toEqual([]);
    expect(await hoursOf(1)).toEqual([{ at: hour, region: FRA, passed: 1, not_run: 0 }]);
    expect(await recording.rows('SELECT at, passed, not_run FROM rollup_days')).toEqual([
      { at: dayOf(hour), passed: 1, not_run: 0 },
    ]);
    await recording.report(1, slotIn(1, hour), FRA, 'failed');
    expect(await repairs()).toEqual([]);
  });

  test('a result that is recorded while its hour is read is not lost', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    await recording.report(1, slotIn(1, hour), FRA, 'passed');
    recording.clock.advance(HOUR_MS + 5 * MINUTE);
    const stepping = rollups.step();
    const reporting = recording.report(1, slotIn(1, hour, 1), FRA, 'passed');
    await Promise.all([stepping, reporting]);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([{ at: hour, region: FRA, passed: 2, not_run: 0 }]);
  });

  test('an hour is claimed before the writer is free: results that are queued meanwhile are marked', async () => {
    const { store, clock } = recording;
    const hour = clock.wall();
    clock.advance(HOUR_MS + 5 * MINUTE);
    const other = Promise.withResolvers<void>();
    const writing = store.transaction(() => other.promise);
    const stepping = rollups.step();
    expect(rollups.claimedUntil).toBe(hour + HOUR_MS);
    other.resolve();
    await Promise.all([writing, stepping]);
  });

  test('after a failed claim nothing is read until another claim succeeds', async () => {
    const { store, written, failNext } = counting(recording.store);
    const claiming = await Rollups.load({ ...partsOf(recording), store });
    recording.clock.advance(HOUR_MS + 5 * MINUTE);
    failNext();
    await expect(claiming.step()).rejects.toThrow('disk full');
    written.length = 0;
    await claiming.step();
    // The claim itself writes nothing. The roll-up of the hour follows the claim.
    expect(written[0]).toBe(0);
    expect(written.length).toBeGreaterThan(1);
  });

  test('a result that comes after the other hours of its day were deleted causes a repair of the whole day', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    await recording.report(1, slotIn(1, hour), FRA, 'passed');
    await recording.report(1, slotIn(1, hour + HOUR_MS), FRA, 'passed');
    recording.clock.advance(20 * DAY_MS);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([]);
    await recording.report(1, slotIn(1, hour + HOUR_MS, 1), FRA, 'passed');
    await caughtUp(rollups);
    await expectTrue(1);
    recording.clock.advance(DAY_MS);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([]);
    await expectTrue(1);
  });

  test('a result that is older than the kept results is not counted: it might be a repeated one', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    await recording.report(1, slotIn(1, hour), FRA, 'passed');
    recording.clock.advance(2 * DAY_MS);
    await caughtUp(rollups);
    await recording.store.transaction(async (tx) => {
      await tx.runEach('DELETE FROM slot_results', [[]]);
      await tx.runEach('UPDATE rollup_progress SET results_from = ?', [[hour + DAY_MS]]);
    });
    await recording.report(1, slotIn(1, hour, 1), FRA, 'not_run');
    expect(await repairs()).toHaveLength(1);
    await caughtUp(rollups);
    expect(await repairs()).toEqual([]);
    expect(await hoursOf(1)).toEqual([{ at: hour, region: FRA, passed: 1, not_run: 0 }]);
    expect((await summary(1, '7d')).total).toMatchObject({ passed: 1, notRun: 0 });
  });

  test('a result that comes after a restart within its hour, before the first step, is not lost', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    for (let index = 0; index < 3; index += 1)
      await recording.report(1, slotIn(1, hour, index), FRA, 'passed');
    recording.clock.advance(HOUR_MS + 5 * MINUTE);
    // Roll up until the part of the half minute that contains the monitor's slots, and no further.
    while ((await hoursOf(1)).length === 0) await rollups.step();
    const [progress] = await recording.rows<{ hour: number; phase: number }>(
      'SELECT hour, phase FROM rollup_progress',
    );
    expect(progress?.hour).toBe(hour);
    expect(progress?.phase).toBeGreaterThan(0);
    await recording.restart();
    rollups = await rollupsOf(recording);
    await recording.report(1, slotIn(1, hour, 3), FRA, 'passed');
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([{ at: hour, region: FRA, passed: 4, not_run: 0 }]);
  });

  test('results off the grid, which are read separately, are added', async () => {
    await recording.declare(liveMonitor(1));
    const hour = recording.clock.wall();
    await recording.report(1, slotIn(1, hour), FRA, { outcome: 'passed', latency: 10 });
    await recording.report(1, hour, FRA, { outcome: 'passed', latency: 1_000 });
    await recording.report(1, hour + 20, FRA, 'not_run');
    recording.clock.advance(HOUR_MS + 5 * MINUTE);
    await caughtUp(rollups);
    expect(await hoursOf(1)).toEqual([{ at: hour, region: FRA, passed: 2, not_run: 1 }]);
    await expectTrue(1);
  });

  test.each([
    ['an hour', HOUR_MS],
    ['two days', 2 * DAY_MS],
    // Longer than roll-ups are kept.
    ['500 days', 500 * DAY_MS],
  ])('continue after the clock was ahead by %s', async (_name, ahead) => {
    const aDay = async () => {
      for (let hours = 0; hours < 26; hours += 1) {
        await recording.slot(1, { [FRA]: 'passed', [PAR]: 'passed' });
        recording.clock.advance(HOUR_MS);
      }
    };
    await recording.declare(liveMonitor(1));
    recording.clock.stepWall(ahead);
    await aDay();
    await caughtUp(rollups);
    recording.clock.stepWall(-ahead - 26 * HOUR_MS);
    await recording.restart();
    rollups = await rollupsOf(recording);
    for (let days = 0; days < 3; days += 1) {
      await aDay();
      await caughtUp(rollups);
      const found = await summary(1, '30d');
      expect(countsOf(found.total)).toEqual(await naiveCounts('30d'));
      expect(countsOf((await summary(1, '24h')).total)).toEqual(await naiveCounts('24h'));
    }
  });

  test('time without results is skipped at once', async () => {
    await recording.declare(liveMonitor(1));
    await recording.report(1, slotIn(1, recording.clock.wall()), FRA, 'passed');
    recording.clock.advance(40 * DAY_MS);
    let steps = 0;
    while (await rollups.step()) steps += 1;
    // One step for each day, and a few steps for the hours.
    expect(steps).toBeLessThan(50);
    expect(rollups.behindMs).toBe(0);
  });
});

test('every transaction is small, even for the hour in which thousands of monitors were declared', async () => {
  const { store, clock } = recording;
  const hour = clock.wall();
  const addMonitors = async (from: number, to: number, at: number) => {
    const ids = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    await store.transaction((tx) =>
      tx.runEach(
        `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
           updated_at) VALUES (?, 1, 'http', 'x', 1, '{}', 0, 0, 0)`,
        ids.map((id) => [id]),
      ),
    );
    const result = { region: FRA, outcome: 'passed', recorded_at: 0 } as const;
    await addResults(store, ...ids.map((id) => ({ ...result, monitor_id: id, slot: slotIn(id, at) })));
  };
  await addMonitors(1, 1, hour);
  await addMonitors(2, 3_000, hour + HOUR_MS);
  clock.advance(2 * HOUR_MS + 5 * MINUTE);
  const { store: counted, written } = counting(store);
  const working = await Rollups.load({ ...partsOf(recording), store: counted });
  await caughtUp(working);
  const [hours] = await recording.rows<{ many: number }>('SELECT count(*) AS many FROM rollup_hours');
  expect(hours?.many).toBe(3_000);
  expect(Math.max(...written)).toBeLessThan(600);
});

describe('kept roll-ups', () => {
  test('hours are kept for two weeks, days for 400 days', async () => {
    await recording.declare(liveMonitor(1));
    const first = recording.clock.wall();
    for (let day = 0; day < 420; day += 1) {
      // The oldest kept days and the last days have results.
      if (day < 25 || day >= 400) await recording.slot(1, { [FRA]: 'passed', [PAR]: 'passed' });
      recording.clock.advance(DAY_MS);
      if (day % 13 === 0) await caughtUp(rollups);
    }
    recording.clock.advance(10 * MINUTE);
    await caughtUp(rollups);
    const today = dayOf(recording.clock.wall());
    const oldest = (table: string) => recording.rows<{ at: number }>(`SELECT min(at) AS at FROM ${table}`);
    expect(hourOf(first)).toBeLessThan(today - 400 * DAY_MS);
    expect(await oldest('rollup_hours')).toEqual([{ at: today - DAY_MS - 14 * DAY_MS }]);
    expect(await oldest('rollup_days')).toEqual([{ at: today - DAY_MS - 400 * DAY_MS }]);
    expect(await oldest('uptime_days')).toEqual([{ at: today - DAY_MS - 400 * DAY_MS }]);
  });

  test("a deleted monitor's roll-ups go, and do not come back", async () => {
    for (const id of [1, 2]) await recording.declare(liveMonitor(id));
    for (let day = 0; day < 3; day += 1) {
      for (const id of [1, 2]) await recording.slot(id, { [FRA]: 'passed', [PAR]: 'passed' });
      recording.clock.advance(DAY_MS);
      await caughtUp(rollups);
    }
    // One result is not rolled up yet, and one is late.
    await recording.report(1, slotIn(1, recording.clock.wall()), FRA, 'passed');
    await recording.report(1, slotIn(1, recording.clock.wall() - DAY_MS), FRA, 'passed');
    await recording.remove(1);
    await caughtUp(rollups);
    recording.clock.advance(DAY_MS);
    await caughtUp(rollups);
    for (const table of ['rollup_hours', 'rollup_days', 'uptime_days']) {
      expect(await recording.rows(`SELECT DISTINCT monitor_id FROM ${table}`), table).toEqual([
        { monitor_id: 2 },
      ]);
    }
    expect(await recording.rows('SELECT * FROM removed_monitors')).toEqual([]);
    expect(await repairs()).toEqual([]);
  });
});

test("a deleted monitor's roll-ups go a piece at a time, however many there are", async () => {
  await recording.declare(liveMonitor(1));
  await recording.store.transaction(async (tx) => {
    for (const [table, widthMs] of [
      ['rollup_hours', HOUR_MS],
      ['rollup_days', DAY_MS],
    ] as const) {
      await tx.runEach(
        `INSERT INTO ${table} (monitor_id, at, region, passed, degraded, failed, not_run)
         VALUES (1, ?, ?, 1, 0, 0, 0)`,
        Array.from({ length: 1_200 }, (_, index) => [
          Math.floor(index / 2) * widthMs,
          index % 2 === 0 ? FRA : PAR,
        ]),
      );
    }
  });
  await recording.remove(1);
  const left = async () => {
    const [row] = await recording.rows<{ hours: number; days: number; removed: number }>(`
      SELECT (SELECT count(*) FROM rollup_hours) AS hours, (SELECT count(*) FROM rollup_days) AS days,
        (SELECT count(*) FROM removed_monitors) AS removed`);
    return row;
  };
  await rollups.step();
  expect(await left()).toEqual({ hours: 200, days: 1_200, removed: 1 });
  await rollups.step();
  expect(await left()).toEqual({ hours: 0, days: 200, removed: 1 });
  await rollups.step();
  expect(await left()).toEqual({ hours: 0, days: 0, removed: 0 });
});

function whileReading(isCaughtUp: () => boolean): Promise<Rollups> {
  const { store, clock } = recording;
  return Rollups.load({
    store,
    clock,
    slotNow: () => clock.wall(),
    believedNow: () => clock.wall(),
    isCaughtUp,
    log: { error: () => {} } as never,
  });
}

test('the wait for a stream that is never read to its end is bounded', async () => {
  const { store, clock } = recording;
  await recording.declare(liveMonitor(1));
  await recording.report(1, slotIn(1, clock.wall()), FRA, 'passed');
  const working = await whileReading(() => false);
  working.start();
  await clock.advanceSettling(3 * HOUR_MS);
  const hours = () => store.read.selectFrom('rollup_hours').selectAll().execute();
  for (let round = 0; round < 100 && (await hours()).length === 0; round += 1) {
    await clock.advanceSettling(5_000);
  }
  expect(await hours()).toHaveLength(1);
  await working.stop();
});

test('the loop works, waits while old results are read, and stops', async () => {
  const { store, clock } = recording;
  const reading = Promise.withResolvers<void>();
  const progress = new ReadingProgress(clock);
  progress.follow({ caughtUp: () => reading.promise });
  await recording.declare(liveMonitor(1));
  await recording.report(1, slotIn(1, clock.wall()), FRA, 'passed');
  const working = await whileReading(() => progress.isCaughtUp());
  working.start();
  await clock.advanceSettling(2 * HOUR_MS);
  expect(await hoursOf(1)).toEqual([]);
  reading.resolve();
  // Each round reads the hours, so that the reads of the roll-ups before it have ended, however slow the
  // database is.
  const hours = () => store.read.selectFrom('rollup_hours').selectAll().execute();
  while ((await hours()).length === 0) await clock.advanceSettling(5_000);
  expect(await hours()).toHaveLength(1);
  await working.stop();
});

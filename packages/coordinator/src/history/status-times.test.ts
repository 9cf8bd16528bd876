import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording } from '../../../../test/support/coordinator/recording.ts';
import { caughtUp, rollupsOf } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { insertWindow, windowTimesOf } from '../store/incidents/maintenance-windows.ts';
import { DAY_MS, dayOf, HOUR_MS } from '../verdict/summary-range.ts';
import { addTimes, NO_TIMES, type StatusSince, type StatusTimes, timesBetween } from '../verdict/uptime.ts';
import type { Rollups } from './rollups.ts';
import { type DayTimes, dailyTimes } from './status-times.ts';

let recording: Recording;
let rollups: Rollups;

beforeEach(async () => {
  recording = await Recording.open();
  rollups = await rollupsOf(recording);
});
afterEach(() => recording.dispose());

async function addChange(id: number, { at, status }: StatusSince): Promise<void> {
  await recording.store.transaction((tx) =>
    tx.runEach(
      `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
       VALUES (?, 'x', ?, 'x', ?, '[]')`,
      [[id, status, at]],
    ),
  );
}

/**
 * Lets three days pass, with changes of status.
 *
 * @param rolledUpAfter number of changes after which the days that are over are rolled up
 */
async function daysPass(rolledUpAfter: number): Promise<StatusSince[]> {
  const changes: StatusSince[] = [];
  const change = async (status: StatusSince['status'], hours: number) => {
    recording.clock.advance(hours * HOUR_MS);
    changes.push({ at: recording.clock.wall(), status });
    await addChange(1, { at: recording.clock.wall(), status });
    if (changes.length === rolledUpAfter) await caughtUp(rollups);
  };
  await change('active', 5);
  await change('error', 20);
  await change('degraded', 1);
  await change('unknown', 30);
  await change('active', 7);
  recording.clock.advance(HOUR_MS / 2);
  return changes;
}

test.each([
  ['nothing is', 99],
  ['only some days are', 3],
  ['all days before today are', 5],
])('days are the same when %s rolled up', async (_name, rolledUpAfter) => {
  for (const id of [1, 2]) await recording.declare(liveMonitor(id));
  const changes = await daysPass(rolledUpAfter);
  const now = recording.clock.wall();
  const days = Array.from({ length: 90 }, (_, index) => dayOf(now) - (89 - index) * DAY_MS);
  const expected = timesBetween(changes, [...days, now]).map((times, index) => ({ at: days[index], times }));
  const found = await dailyTimes(recording.store, [2, 1], 90, now);
  expect(found.get(1)).toEqual(expected);
  // Monitor 2 has no changes.
  expect(found.get(2)).toHaveLength(90);
  expect(found.get(2)?.every(({ times }) => times.active + times.degraded + times.error === 0)).toBe(true);
});

test('days from a clock that was ahead do not replace the real days', async () => {
  await recording.declare(liveMonitor(1));
  const start = recording.clock.wall();
  await addChange(1, { at: start + HOUR_MS, status: 'active' });
  recording.clock.advance(3 * DAY_MS);
  await caughtUp(rollups);
  // The clock is set right again. By the right clock, the rolled-up days are in the future.
  const now = start + 30 * HOUR_MS;
  const found = await dailyTimes(recording.store, [1], 3, now);
  const unknown = (ms: number) => ({ ...NO_TIMES, active: DAY_MS - ms, degraded: 0, error: 0, unknown: ms });
  expect(found.get(1)?.map(({ times }) => times)).toEqual([
    unknown(DAY_MS),
    unknown(HOUR_MS),
    { ...unknown(0), active: 6 * HOUR_MS },
  ]);
});

test('no monitors give no times', async () => {
  expect(await dailyTimes(recording.store, [], 90, recording.clock.wall())).toEqual(new Map());
});

async function addWindow(
  ids: number | readonly number[],
  window: { startsAt: number; endsAt: number; isDaily?: boolean },
): Promise<void> {
  const { startsAt, endsAt, isDaily = false } = window;
  const daily = { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null } as const;
  await recording.store.transaction(async (tx) => {
    await insertWindow(
      tx,
      1,
      {
        title: 'Work',
        text: '',
        startsAt,
        endsAt,
        timeZone: 'UTC',
        repeat: isDaily ? daily : null,
        monitorIds: [ids].flat(),
        pageIds: [],
        componentIds: [],
      },
      0,
    );
  });
}

test.each([
  ['nothing is', 99],
  ['only some days are', 3],
  ['all days before today are', 5],
])(
  'maintenance is taken out of the days, also when it is declared after %s rolled up',
  async (_name, after) => {
    for (const id of [1, 2]) await recording.declare(liveMonitor(id));
    const began = recording.clock.wall();
    await daysPass(after);
    const now = recording.clock.wall();
    const before = (await dailyTimes(recording.store, [1], 5, now)).get(1) ?? [];
    // The error lasts from hour 25 to hour 26. The two windows overlap, and both span midnight.
    const error = began + 25 * HOUR_MS;
    await addWindow(1, { startsAt: error - 2 * HOUR_MS, endsAt: error + HOUR_MS / 4 });
    await addWindow(1, { startsAt: error - 3 * HOUR_MS, endsAt: error + HOUR_MS / 2 });
    const found = (await dailyTimes(recording.store, [1, 2], 5, now)).get(1) ?? [];
    const sum = (days: readonly DayTimes[]) => days.map(({ times }) => times).reduce(addTimes, NO_TIMES);
    expect(sum(found)).toEqual({
      ...sum(before),
      active: sum(before).active - 3 * HOUR_MS,
      error: HOUR_MS / 2,
      maintenance: 3.5 * HOUR_MS,
    });
    for (const [index, { times }] of found.entries()) {
      const whole = (each: StatusTimes | undefined) =>
        Object.values(each ?? NO_TIMES).reduce((a, b) => a + b, 0);
      expect(whole(times)).toBe(whole(before[index]?.times));
    }
  },
);

test('a window every night covers its hours of every day, and none after now', async () => {
  await recording.declare(liveMonitor(1));
  const began = recording.clock.wall();
  await daysPass(99);
  const now = dayOf(recording.clock.wall()) + 23 * HOUR_MS;
  const night = dayOf(began) + 22 * HOUR_MS;
  await addWindow(1, { startsAt: night, endsAt: night + 4 * HOUR_MS, isDaily: true });
  const found = (await dailyTimes(recording.store, [1], 3, now)).get(1) ?? [];
  const days = found.map(({ at, times }) => [(at - dayOf(began)) / DAY_MS, times.maintenance / HOUR_MS]);
  const today = (dayOf(now) - dayOf(began)) / DAY_MS;
  const usual = (day: number) => (day < 0 ? 0 : day === 0 ? 2 : 4);
  expect(days).toEqual([
    [today - 2, usual(today - 2)],
    [today - 1, usual(today - 1)],
    [today, 3],
  ]);
});

test('a window of several monitors is read once, and counts for each monitor', async () => {
  for (const id of [1, 2, 3]) await recording.declare(liveMonitor(id));
  const now = dayOf(recording.clock.wall()) + 23 * HOUR_MS;
  const day = dayOf(now) - DAY_MS;
  await addWindow([1, 2], { startsAt: day, endsAt: day + 4 * HOUR_MS, isDaily: true });
  await addWindow(2, { startsAt: day + HOUR_MS, endsAt: day + 5 * HOUR_MS });
  const windows = await windowTimesOf(recording.store, [1, 2, 3]);
  expect(windows.get(1)?.[0]).toBe(windows.get(2)?.[0]);
  const found = await dailyTimes(recording.store, [1, 2, 3], 2, now);
  const hours = [1, 2, 3].map((id) => found.get(id)?.map(({ times }) => times.maintenance / HOUR_MS));
  expect(hours).toEqual([
    [4, 4],
    [5, 4],
    [0, 0],
  ]);
});

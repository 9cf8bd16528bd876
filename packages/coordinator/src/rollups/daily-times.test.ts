import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording } from '../../../../test/support/coordinator/recording.ts';
import { caughtUp, rollupsOf } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { DAY_MS, dayOf, HOUR_MS } from '../domain/summary-range.ts';
import { type StatusSince, timesBetween } from '../domain/uptime.ts';
import { dailyTimes } from './daily-times.ts';
import type { Rollups } from './rollups.ts';

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

/** Three days with changes, of which none, two or all but today are rolled up. */
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
  // Of which nothing is known.
  expect(found.get(2)).toHaveLength(90);
  expect(found.get(2)?.every(({ times }) => times.active + times.degraded + times.error === 0)).toBe(true);
});

test('days of a clock that was ahead do not stand for those that come', async () => {
  await recording.declare(liveMonitor(1));
  const start = recording.clock.wall();
  await addChange(1, { at: start + HOUR_MS, status: 'active' });
  recording.clock.advance(3 * DAY_MS);
  await caughtUp(rollups);
  // The clock is set right again: by it, days are rolled up that have not come.
  const now = start + 30 * HOUR_MS;
  const found = await dailyTimes(recording.store, [1], 3, now);
  const unknown = (ms: number) => ({ active: DAY_MS - ms, degraded: 0, error: 0, unknown: ms });
  expect(found.get(1)?.map(({ times }) => times)).toEqual([
    unknown(DAY_MS),
    unknown(HOUR_MS),
    { ...unknown(0), active: 6 * HOUR_MS },
  ]);
});

test('nothing is asked, nothing is answered', async () => {
  expect(await dailyTimes(recording.store, [], 90, recording.clock.wall())).toEqual(new Map());
});

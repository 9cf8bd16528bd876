import { REGIONS } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { liveMonitor, Recording } from '../../../../test/support/coordinator/recording.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import type { Progress } from '../store/history/rollup-progress.ts';
import type { SqlValue } from '../store/store.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import { KEPT_HOURS_MS, repairHours, rollUpDay } from './rollup-steps.ts';

const DAY = Date.UTC(2026, 0, 20);
let recording: Recording;

beforeEach(async () => {
  recording = await Recording.open();
});
afterEach(() => recording.dispose());

/** Adds hours of the day, and of a day past its retention. */
async function addHours(monitorId: number, regions: readonly string[]): Promise<void> {
  const rows: SqlValue[][] = [];
  for (const day of [DAY, DAY - KEPT_HOURS_MS - DAY_MS]) {
    for (let at = day; at < day + DAY_MS; at += HOUR_MS) {
      for (const region of regions) rows.push([monitorId, at, region]);
    }
  }
  await recording.store.transaction((tx) =>
    tx.runEach(
      `INSERT INTO rollup_hours (monitor_id, at, region, passed, degraded, failed, not_run)
       VALUES (?, ?, ?, 1, 0, 0, 0)`,
      rows,
    ),
  );
}

/** Rolls up the day. Returns the number of rows that each transaction changed. */
async function rollUp(believedNow = DAY + DAY_MS): Promise<number[]> {
  const rowsChanged = async () => {
    if (IS_POSTGRES) return 0;
    const [row] = await recording.rows<{ many: number }>('SELECT total_changes() AS many');
    return row?.many ?? 0;
  };
  const written: number[] = [];
  let progress: Progress | null = { hour: DAY + DAY_MS, phase: 0, day: DAY, afterMonitor: 0 };
  for (let before = await rowsChanged(); ; ) {
    progress = await rollUpDay(recording.store, progress, believedNow);
    if (progress === null) return written;
    const after = await rowsChanged();
    written.push(after - before);
    before = after;
  }
}

// Only SQLite counts the rows that a connection has changed in all of its transactions.
test.skipIf(IS_POSTGRES).each([
  ['3 regions', 3, 2],
  ['all regions', REGIONS.length, 8],
])(
  'a transaction for monitors with %s writes a bounded number of rows',
  async (_name, many, transactions) => {
    const monitors = 30;
    for (let id = 1; id <= monitors; id += 1) {
      await recording.declare(liveMonitor(id));
      await addHours(id, REGIONS.slice(0, many));
    }
    const written = await rollUp();
    expect(written).toHaveLength(transactions);
    expect(Math.max(...written)).toBeLessThan(3_500);
    const days = await recording.rows('SELECT monitor_id, region FROM rollup_days WHERE passed = 24');
    expect(days).toHaveLength(monitors * many);
    expect(await recording.rows('SELECT 1 FROM rollup_hours WHERE at < ?', DAY)).toEqual([]);
  },
);

test('a clock that is ahead rolls up future days, and deletes no roll-ups because of their age', async () => {
  await recording.declare(liveMonitor(1));
  await addHours(1, REGIONS.slice(0, 1));
  const hours = () => recording.rows('SELECT at FROM rollup_hours ORDER BY at');
  const before = await hours();
  await rollUp(DAY - 2 * DAY_MS);
  expect(await hours()).toEqual(before);
  await rollUp(DAY);
  expect(await hours()).toHaveLength(24);
});

test('a repair removes the uptime of a day of which no status is known any more', async () => {
  await recording.declare(liveMonitor(1));
  // The votes expired before the day, which was found only after the day was rolled up.
  const uptimes = () => recording.rows('SELECT at FROM uptime_days ORDER BY at');
  for (const at of [DAY - DAY_MS, DAY]) {
    await recording.write('INSERT INTO uptime_days VALUES (1, ?, ?, 0, 0)', at, DAY_MS);
  }
  await recording.write('INSERT INTO rollup_repairs (hour, monitor_id) VALUES (?, 1)', DAY);
  const next = DAY + DAY_MS;
  await repairHours(recording.store, { hour: next, phase: 0, day: next, afterMonitor: 0 }, next);
  expect(await uptimes()).toEqual([{ at: DAY - DAY_MS }]);
});

import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { makeOldDatabase, type OldDatabase } from '../../../../test/support/coordinator/old-database.ts';
import { caughtUp } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { openStoreInProcess } from '../../../../test/support/store-in-process.ts';
import { gridSlotFrom, phaseOf } from '../domain/schedule.ts';
import { DAY_MS, HOUR_MS } from '../domain/summary-range.ts';
import type { Store } from '../store/store.ts';
import { Rollups } from './rollups.ts';
import { readSummary } from './summary.ts';

const NOW = Date.UTC(2026, 0, 15, 9, 30);
const MONITORS = 30;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: Store | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await store?.close();
  await folder.remove();
});

/** A result every two hours for three days, and one change of status. */
function fill(tx: OldDatabase): void {
  tx.runEach("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'default', 0)", [[]]);
  for (let id = 1; id <= MONITORS; id += 1) {
    tx.runEach(
      `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
         updated_at) VALUES (?, 1, 'http', 'x', 1, '{}', 0, 0, 0)`,
      [[id]],
    );
    tx.runEach(
      `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
       VALUES (?, 'unknown', 'active', 'all-passed', ?, '[]')`,
      [[id, NOW - 3 * DAY_MS]],
    );
    const slots: number[] = [];
    for (let at = NOW - 3 * DAY_MS; at < NOW - HOUR_MS; at += 2 * HOUR_MS) {
      slots.push(gridSlotFrom(at, 30_000, phaseOf(id, 30_000)));
    }
    tx.runEach(
      `INSERT INTO results (slot, monitor_id, region, outcome, version, latency, recorded_at)
       VALUES (?, ?, 'hosta-fra', 'passed', 1, 20, 0)`,
      slots.map((slot) => [slot, id]),
    );
  }
}

test('a database of the version before is rolled up from its oldest result on', async () => {
  const path = join(folder.path, 'svc.db');
  await makeOldDatabase(path, '0001-initial', fill);
  store = await openStoreInProcess(path, silentLog);
  const clock = new FakeClock(NOW);
  const slotNow = () => clock.wall();
  const rollups = await Rollups.load({
    store,
    clock,
    slotNow,
    believedNow: slotNow,
    isCaughtUp: () => true,
    log: silentLog,
  });
  const opened = store;
  const { read } = opened;
  const summary = async () => {
    const { total, times } = await readSummary(opened, 7, '30d', NOW);
    return { passed: total.passed, active: times.active };
  };
  // Before anything is rolled up, and after.
  expect(await summary()).toEqual({ passed: 36, active: 3 * DAY_MS });
  await caughtUp(rollups);
  expect(await summary()).toEqual({ passed: 36, active: 3 * DAY_MS });
  const sums = await read
    .selectFrom('rollup_days')
    .select(({ fn }) => ['at', fn.sum<number>('passed').as('passed')])
    .groupBy('at')
    .orderBy('at')
    .execute();
  const day = Date.UTC(2026, 0, 12);
  expect(sums.map(({ at }) => at)).toEqual([day, day + DAY_MS, day + 2 * DAY_MS]);
  expect(sums.map(({ passed }) => passed)).toEqual([8 * MONITORS, 12 * MONITORS, 12 * MONITORS]);
  const uptimes = await read.selectFrom('uptime_days').selectAll().where('monitor_id', '=', 7).execute();
  expect(uptimes.map(({ active_ms }) => active_ms)).toEqual([14.5 * HOUR_MS, DAY_MS, DAY_MS]);
});

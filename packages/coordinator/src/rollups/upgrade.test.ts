import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { gridSlotFrom, phaseOf } from '../domain/schedule.ts';
import { DAY_MS, HOUR_MS } from '../domain/summary-range.ts';
import * as initial from '../store/migrations/0001-initial.ts';
import { openStore } from '../store/open.ts';
import { sqliteDialect } from '../store/sqlite-dialect.ts';
import { Statements } from '../store/statements.ts';
import type { Store } from '../store/store.ts';
import { Rollups } from './rollups.ts';
import { readSummary } from './summary.ts';
import { caughtUp } from './test-support/rolled-up-recording.ts';

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

/** A database as the version without roll-ups left it: a result every two hours for three days. */
async function oldDatabase(path: string): Promise<void> {
  const sqlite = new DatabaseSync(path);
  sqlite.exec('PRAGMA journal_mode = WAL');
  const statements = new Statements(sqlite);
  const db = new Kysely({ dialect: sqliteDialect(async (text, values) => statements.run(text, values)) });
  const provider = { getMigrations: async () => ({ '0001-initial': initial }) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  expect(error).toBeUndefined();
  sqlite.exec("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'default', 0)");
  const monitor = sqlite.prepare(`INSERT INTO monitors (id, workspace_id, type, name, active, attributes,
    activated_at, created_at, updated_at) VALUES (?, 1, 'http', 'x', 1, '{}', 0, 0, 0)`);
  const change =
    sqlite.prepare(`INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, votes)
    VALUES (?, 'unknown', 'active', 'all-passed', ?, '[]')`);
  const result =
    sqlite.prepare(`INSERT INTO results (slot, monitor_id, region, outcome, version, latency, recorded_at)
    VALUES (?, ?, 'hosta-fra', 'passed', 1, 20, 0)`);
  for (let id = 1; id <= MONITORS; id += 1) {
    monitor.run(id);
    change.run(id, NOW - 3 * DAY_MS);
    for (let at = NOW - 3 * DAY_MS; at < NOW - HOUR_MS; at += 2 * HOUR_MS) {
      result.run(gridSlotFrom(at, 30_000, phaseOf(id, 30_000)), id);
    }
  }
  sqlite.close();
}

test('a database of the version before is rolled up from its oldest result on', async () => {
  const path = join(folder.path, 'svc.db');
  await oldDatabase(path);
  store = await openStore({ path, log: silentLog });
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
  const reading = store;
  const { read } = store;
  const summary = async () => {
    const { total, times } = await readSummary(reading, 7, '30d', NOW);
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

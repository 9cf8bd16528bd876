import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeOldDatabase, type OldDatabase } from '../../../../test/support/coordinator/old-database.ts';
import { liveMonitor, PERIOD, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';

let it: Recording;

beforeEach(async () => {
  it = await Recording.open(null, (path, now) =>
    makeOldDatabase(path, '0015-group-alerts', (old) => fill(old, now - PERIOD)),
  );
  it.monitors.set(liveMonitor(1));
  await it.restart();
});
afterEach(() => it.dispose());

/** A monitor in an outage that one of its two channels was told of, as the version before wrote it. */
function fill({ runEach }: OldDatabase, slot: number): void {
  runEach("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0)", [[]]);
  runEach(
    `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
     VALUES (1, 1, 'http', 'Monitor 1', 1, '{}', 0, 0, 0)`,
    [[]],
  );
  runEach(
    `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
     VALUES (?, 1, 'webhook', x'', 0, 0)`,
    [[10], [20]],
  );
  runEach('INSERT INTO links (monitor_id, notification_id, announced, incident) VALUES (1, ?, ?, ?)', [
    [10, 'error', 'before'],
    [20, 'active', null],
  ]);
  runEach("INSERT INTO incidents (key, monitor_id, opened_at) VALUES ('before', 1, ?)", [[slot]]);
  runEach(
    `INSERT INTO transitions (monitor_id, from_status, to_status, reason, at, slot, votes, incident)
     VALUES (1, 'active', 'error', 'majority-failed', ?, ?, '[]', 'before')`,
    [[slot, slot]],
  );
  runEach(
    `INSERT INTO monitor_states (monitor_id, status, since, reason, version, decided_slot, entered, votes, incident,
       written_at) VALUES (1, 'error', ?, 'majority-failed', 1, ?, 268435455, '[]', 'before', ?)`,
    [[slot, slot - PERIOD, slot - PERIOD]],
  );
  runEach(
    `INSERT INTO results (slot, monitor_id, region, outcome, version, latency, recorded_at, decided_after)
     VALUES (?, 1, ?, 'failed', 1, 10, ?, 100)`,
    THREE.map((region) => [slot, region, slot]),
  );
  runEach('INSERT INTO off_grid_slots (monitor_id, slot) VALUES (1, ?)', [[slot]]);
}

const told = () =>
  it.enqueued.map(({ notificationId, alert }) => [notificationId, alert.status, alert.incident]);

test('an outage from before an upgrade goes on: who was told is not told again, and its recovery has its key', async () => {
  expect(it.states.get(1)).toMatchObject({ status: 'error', incident: 'before' });
  expect(it.states.get(1)?.votes).toHaveLength(3);
  it.recorder.resumed();
  await it.recorder.flushed();
  expect(told()).toEqual([[20, 'error', 'before']]);
  await it.slot(1, Object.fromEntries(THREE.map((region) => [region, 'passed'])));
  await it.pass(1_000);
  expect(told().slice(1)).toEqual([
    [10, 'recovered', 'before'],
    [20, 'recovered', 'before'],
  ]);
  const incidents = await it.rows('SELECT id, key, workspace_id, closed_at IS NULL AS open FROM incidents');
  expect(incidents).toEqual([{ id: 1, key: 'before', workspace_id: 1, open: 0 }]);
  // Results of both versions are read back by the next start.
  const rows = await it.rows('SELECT outcome, set_backs FROM results ORDER BY slot, region');
  expect(rows).toEqual(
    ['failed', 'failed', 'failed', 'passed', 'passed', 'passed'].map((outcome) => ({
      outcome,
      set_backs: 0,
    })),
  );
  await it.restart();
  expect(it.status(1)).toBe('active');
});

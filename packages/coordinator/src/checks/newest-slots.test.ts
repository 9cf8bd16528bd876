import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { liveMonitor } from '../../../../test/support/coordinator/dispatch-parts.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import type { Store } from '../store/store.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';
import { loadNewestSlots, newestOf } from './newest-slots.ts';

let database: TemporaryStore;
let store: Store;

beforeAll(async () => {
  database = await temporaryStore();
  store = database.store;
});
afterAll(() => database.dispose());

/** `slotOf` returns the n-th slot on the monitor's grid after `BASE`. */
const BASE = Date.UTC(2026, 0, 1);
const slotOf = (id: number, n: number, periodMs = 30_000) =>
  gridSlotFrom(BASE, periodMs, phaseOf(id, periodMs)) + n * periodMs;
const monitors = new Map(Array.from({ length: 7 }, (_, index) => [index + 1, liveMonitor(index + 1)]));
monitors.set(5, liveMonitor(5, { periodMs: 3_600_000 }));

const addNotRun = (given: readonly (readonly number[])[]) =>
  addResults(
    store,
    ...given.map(
      ([id = 0, slot = 0]) => ({ monitor_id: id, slot, region: 'hosta-fra', outcome: 'not_run' }) as const,
    ),
  );

test('the newest slot is the latest that was decided or has a result', async () => {
  expect(await loadNewestSlots(store, monitors, BASE)).toEqual({ newest: new Map(), ahead: null });
  expect(newestOf(new Map())).toBeNull();
  const hour = 3_600_000;
  const decided = [
    [1, slotOf(1, 100)],
    [3, slotOf(3, 195)],
    [4, 0],
    [7, slotOf(7, 190)],
  ];
  const recorded = [
    [2, slotOf(2, 199)],
    [2, slotOf(2, 198)],
    [3, slotOf(3, 200)],
    [5, slotOf(5, 0, hour)],
    // This slot lies on no grid, and is stored separately.
    [6, slotOf(6, 190) + 7],
    // This slot is too old to matter, and older than the decided slot.
    [7, slotOf(7, 120)],
  ];
  await store.transaction(async (tx) => {
    await tx.runEach("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0)", [[]]);
    await tx.runEach(
      `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
         updated_at) VALUES (?, 1, 'tcp', 'test', 1, '{}', 0, 0, 0)`,
      [...monitors.keys()].map((id) => [id]),
    );
    await tx.runEach(
      "INSERT INTO monitor_votes (place, monitor_id, decided_slot, written_at, votes) VALUES (0, ?, ?, 0, '[]')",
      decided,
    );
    await tx.runEach('INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?)', [
      [6, slotOf(6, 100) + 7],
      [8, slotOf(8, 190) + 7],
      [6, slotOf(6, 190) + 7],
    ]);
  });
  // The last slot is of a monitor that was deleted.
  await addNotRun([...recorded, [8, slotOf(2, 199)]]);
  const { newest, ahead } = await loadNewestSlots(store, monitors, slotOf(3, 200));
  expect(ahead).toBeNull();
  expect(newest).toEqual(
    new Map([
      [1, slotOf(1, 100)],
      [2, slotOf(2, 199)],
      [3, slotOf(3, 200)],
      [5, slotOf(5, 0, hour)],
      [6, slotOf(6, 190) + 7],
      [7, slotOf(7, 190)],
    ]),
  );
  expect(newestOf(newest)).toBe(slotOf(3, 200));
});

test('slots that a clock recorded ahead are believed up to the present', async () => {
  const now = slotOf(2, 199) + 10_000;
  const until = slotOf(2, 500);
  await addNotRun(Array.from({ length: 301 }, (_, n) => [2, slotOf(2, 200 + n)]));
  await store.commit([
    {
      sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?)',
      rows: [[6, slotOf(6, 480) + 7]],
    },
    { sql: 'UPDATE monitor_votes SET decided_slot = ? WHERE monitor_id = 1', rows: [[slotOf(1, 490)]] },
  ]);
  const { newest, ahead } = await loadNewestSlots(store, monitors, now);
  expect(ahead).toBe(until);
  expect(newest.get(2)).toBe(slotOf(2, 199));
  expect(newest.get(6)).toBe(slotOf(6, 190) + 7);
  expect(newest.get(1)).toBeUndefined();
  for (const slot of newest.values()) expect(slot).toBeLessThanOrEqual(now);
  // Slots that are a minute ahead at most count like other slots.
  const later = await loadNewestSlots(store, monitors, until - 60_000);
  expect(later.ahead).toBeNull();
  expect(later.newest.get(2)).toBe(until);
});

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/configured-store.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { loadNewestSlots, newestOf } from './newest-slots.ts';
import { log } from './test-support/parts.ts';

let folder: { path: string; remove(): Promise<void> };
let store: Store;

beforeAll(async () => {
  folder = await temporaryFolder();
  store = await openStore({ path: join(folder.path, 'svc.db'), log });
});
afterAll(async () => {
  await store.close();
  await folder.remove();
});

test('the newest slot is the latest that was decided or has a result', async () => {
  expect(await loadNewestSlots(store)).toEqual(new Map());
  expect(newestOf(new Map())).toBeNull();
  await store.transaction(({ sqlite }) => {
    sqlite.exec(`
      INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0);
      INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
        VALUES (1, 1, 'tcp', 'decided', 1, '{}', 0, 0, 0), (2, 1, 'tcp', 'reported', 1, '{}', 0, 0, 0),
          (3, 1, 'tcp', 'both', 1, '{}', 0, 0, 0), (4, 1, 'tcp', 'new', 1, '{}', 0, 0, 0);
      INSERT INTO monitor_states (monitor_id, status, since, decided_slot)
        VALUES (1, 'active', 0, 100), (3, 'active', 0, 300), (4, 'unknown', 0, 0);
      INSERT INTO results (monitor_id, slot, region, outcome, version, recorded_at)
        VALUES (2, 200, 'hosta-fra', 'passed', 1, 0), (2, 190, 'hostb-par', 'passed', 1, 0),
          (3, 310, 'hosta-fra', 'passed', 1, 0)`);
  });
  const newest = await loadNewestSlots(store);
  expect(newest).toEqual(
    new Map([
      [1, 100],
      [2, 200],
      [3, 310],
    ]),
  );
  expect(newestOf(newest)).toBe(310);
});

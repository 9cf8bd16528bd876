import { expect, onTestFinished, test } from 'vitest';
import { configuredStore } from '../../../../../test/support/configured-store.ts';
import { NotedStatements } from '../../../../../test/support/noted-statements.ts';
import { newestIncidents } from './incidents.ts';

const statements = new NotedStatements();

test('the newest incidents of a monitor are found without those of other monitors, and without sorting', async () => {
  const { store, database, workspaceId, dispose } = await configuredStore(statements.workers);
  onTestFinished(dispose);
  statements.clear();
  for (const beforeId of [null, 9])
    await newestIncidents(store, { workspaceId, monitorId: 1, beforeId, limit: 10 });

  const plans = [...statements.plans(database.file).values()];
  expect(plans).toHaveLength(2);
  for (const plan of plans)
    expect(plan).toEqual([expect.stringContaining('(workspace_id=? AND monitor_id=?')]);
});

test('the open incidents are found without those that are over, and without sorting', async () => {
  const { store, database, workspaceId, dispose } = await configuredStore(statements.workers);
  onTestFinished(dispose);
  statements.clear();
  for (const beforeId of [null, 9])
    await newestIncidents(store, { workspaceId, isOpen: true, beforeId, limit: 10 });

  const plans = [...statements.plans(database.file).values()];
  expect(plans).toHaveLength(2);
  for (const plan of plans) expect(plan).toEqual([expect.stringContaining('INDEX incidents_ongoing')]);
});

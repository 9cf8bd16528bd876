import { afterAll, beforeAll, expect, test } from 'vitest';
import { addSampleCompany } from '../../../../test/screenshots/sample-company.ts';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

import { type Requested, requestEverything } from '../../../../test/support/contract/every-request.ts';
import { endConnections } from '../../../../test/support/contract/world.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { NotedStatements, postgresScans } from '../../../../test/support/noted-statements.ts';
import { addRows } from '../../../../test/support/store-rows.ts';
import type { WhatIfRunner } from '../api/api-parts.ts';
import { compare } from '../history/what-if/compare.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';

/** Tables that grow with time, and not with what is declared. */
const GROWING = [
  'slot_results',
  'off_grid_slots',
  'transitions',
  'rollup_hours',
  'rollup_days',
  'uptime_days',
  'region_absences',
  'incidents',
  'incident_updates',
  'deliveries',
  'delivery_attempts',
  'delivery_threads',
  'audit',
  'export_notes',
  'idempotency_keys',
] as const;

const statements = new NotedStatements();
let endNoting = () => {};
let api: RunningApi;
let requested: readonly Requested[];

beforeAll(async () => {
  // The rows of the company's monitors are younger than their history. So a replay takes 0 as the time of creation.
  const runner: WhatIfRunner = { compare: (asked) => compare(api.store, { ...asked, createdAt: 0 }) };
  api = await startApi({ whatIfs: runner }, {}, statements.workers);
  api.clock.advance(200 * DAY_MS + 13.75 * HOUR_MS);
  const { statusPath } = await addSampleCompany(api);
  const { store, workspaceId } = api;
  const key = { workspace_id: workspaceId, key: 'a', fingerprint: 'a', resource_id: 1, created_at: 1 };
  await addRows(store, 'idempotency_keys', key);
  await addRows(store, 'region_absences', { region: 'hosta-iad', started_at: 1, ended_at: 2 });
  await addRows(store, 'delivery_threads', { notification_id: 1, incident: 'a', thread: 'a', at: 1 });
  await addRows(store, 'export_notes', { shard: 0, id: 1, note: new Uint8Array(1) });
  if (IS_POSTGRES) endNoting = statements.noteConnections();
  statements.clear();
  requested = await requestEverything(api, statusPath);
});
afterAll(async () => {
  endNoting();
  endConnections();
  await api.dispose();
});

test('no statement of a request reads a whole table that grows with time', async () => {
  const noted = statements.all();
  expect(requested.filter(({ status }) => status >= 400)).toEqual([]);
  for (const table of GROWING) {
    const row = await api.store.read.selectFrom(table).selectAll().limit(1).execute();
    expect([table, row]).toEqual([table, [expect.anything()]]);
  }
  expect(noted.length).toBeGreaterThan(200);
  const scans = IS_POSTGRES
    ? await postgresScans(api.store, noted, GROWING)
    : statements.scans(api.database.file, GROWING);
  expect(scans).toEqual(new Map());
});

import type { Outcome } from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../../test/support/configured-store.ts';
import { addResults, type GivenResult, storedResults } from '../../../../../test/support/recorded-results.ts';
import { newestResults } from './newest-results.ts';

const SLOT = Date.UTC(2026, 0, 1);
const [A, B, C] = ['hosta-fra', 'hostb-par', 'hostc-asia-southeast1'] as const;
let opened: TemporaryStore;

beforeAll(async () => {
  opened = await temporaryStore();
});
afterAll(() => opened.dispose());
beforeEach(clear);

function clear() {
  const steps = ['slot_results', 'agent_names', 'off_grid_slots'].map((table) => `DELETE FROM ${table}`);
  return opened.store.commit(steps.map((sql) => ({ sql, rows: [[]] })));
}

function result(region: string, outcome: Outcome, more: Partial<GivenResult> = {}): GivenResult {
  return { slot: SLOT, monitor_id: 1, region, outcome, recorded_at: SLOT + 100, ...more };
}

const record = (...results: GivenResult[]) => addResults(opened.store, ...results);
const rows = () => opened.store.read.selectFrom('slot_results').selectAll().execute();
const outcomes = async () =>
  (await storedResults(opened.store)).map(({ region, outcome }) => [region, outcome]);

test('regions that report later join the row of their slot', async () => {
  await record(result(B, 'passed'));
  await record(result(C, 'failed'), result(A, 'not_run'));
  expect(await rows()).toMatchObject([{ slot: SLOT, monitor_id: 1 }]);
  expect(await outcomes()).toEqual([
    [A, 'not_run'],
    [B, 'passed'],
    [C, 'failed'],
  ]);
});

test('reports that are not new do not change the row', async () => {
  await record(result(A, 'failed'), result(B, 'not_run'));
  const before = await rows();
  await record(result(A, 'passed'), result(B, 'not_run'));
  await record(result(A, 'not_run'));
  expect(await rows()).toEqual(before);
});

test('a recorded report stays when other reports of the same batch are new', async () => {
  await record(result(A, 'failed'), result(B, 'not_run'));
  await record(result(A, 'passed'), result(B, 'degraded'), result(C, 'passed'));
  expect(await outcomes()).toEqual([
    [A, 'failed'],
    [B, 'degraded'],
    [C, 'passed'],
  ]);
});

test('whatever the batches are, each region keeps its first report that is not `not_run`', async () => {
  const some = fc.record({
    slot: fc.constantFrom(SLOT, SLOT + 100),
    monitor_id: fc.constantFrom(1, 2),
    region: fc.constantFrom(A, B, C),
    outcome: fc.constantFrom<Outcome>('passed', 'failed', 'not_run'),
  });
  const batches = fc.array(fc.array(some, { maxLength: 12 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      await clear();
      const expected = new Map<string, Outcome>();
      for (const batch of all) {
        await record(...batch.map(({ region, outcome, ...key }) => result(region, outcome, key)));
        for (const { slot, monitor_id, region, outcome } of batch) {
          const key = `${slot} ${monitor_id} ${region}`;
          if ((expected.get(key) ?? 'not_run') === 'not_run') expected.set(key, outcome);
        }
      }
      const stored = await storedResults(opened.store);
      const keyOf = ({ slot, monitor_id, region }: (typeof stored)[number]) =>
        `${slot} ${monitor_id} ${region}`;
      expect(stored).toHaveLength(expected.size);
      expect(new Map(stored.map((one) => [keyOf(one), one.outcome]))).toEqual(expected);
    }),
    { numRuns: 25 },
  );
});

test('the names of agents are stored once a day, and read with the results', async () => {
  const names = () => opened.store.read.selectFrom('agent_names').select(['name', 'noted_on']).execute();
  const DAY = 24 * 3_600_000;
  await record(result(A, 'passed', { agent: 'fra "1"' }), result(B, 'not_run'));
  await record(result(A, 'passed', { agent: 'fra "1"', slot: SLOT + 30_000, recorded_at: SLOT + 30_100 }));
  expect(await names()).toEqual([{ name: 'fra "1"', noted_on: SLOT }]);
  const next = { slot: SLOT + DAY, recorded_at: SLOT + DAY };
  await record(
    result(A, 'passed', { agent: 'fra "1"', ...next }),
    result(C, 'passed', { agent: 'fra-2', ...next }),
  );
  expect(new Set(await names())).toEqual(
    new Set([
      { name: 'fra "1"', noted_on: SLOT + DAY },
      { name: 'fra-2', noted_on: SLOT + DAY },
    ]),
  );
  await opened.store.commit([
    {
      sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?)',
      rows: [SLOT, SLOT + DAY].map((slot) => [1, slot]),
    },
  ]);
  const search = {
    monitorId: 1,
    since: 0,
    before: null,
    region: null,
    outcome: null,
    after: null,
    limit: 10,
  };
  const found = await newestResults(opened.store, search);
  expect(found.map(({ region, agent }) => [region, agent])).toEqual([
    [C, 'fra-2'],
    [A, 'fra "1"'],
    [B, null],
    [A, 'fra "1"'],
  ]);
});

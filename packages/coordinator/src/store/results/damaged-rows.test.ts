import { expect, onTestFinished, test } from 'vitest';
import { configuredStore } from '../../../../../test/support/configured-store.ts';
import { addResults } from '../../../../../test/support/recorded-results.ts';
import { gridSlotFrom, phaseOf } from '../../verdict/schedule.ts';
import { resultsAsRecorded } from '../history/replayed-history.ts';
import { newestResults } from './newest-results.ts';
import { createRecordingStore } from './recording-store.ts';
import { phasesOfSlots, seriesOfMonitor, seriesOfPhases } from './result-series.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const SLOTS = [0, 1, 2].map((at) => gridSlotFrom(START, 30_000, phaseOf(1, 30_000)) + at * 30_000);
const REGIONS = ['hosta-ams', 'hosta-fra'] as const;
const READ = ['hosta-ams', 'hosta-fra', 'hosta-ams', 'hosta-ams', 'hosta-fra'];

test.each([
  ['a report whose end is missing', (bytes: Buffer) => bytes.subarray(0, -3)],
  [
    'a report of length 0',
    (bytes: Buffer) => Buffer.concat([bytes.subarray(0, bytes.length / 2), Buffer.alloc(3)]),
  ],
])('%s hides the rest of its row, and makes no read fail', async (_, damage) => {
  const { store, secrets, dispose } = await configuredStore();
  onTestFinished(() => dispose());
  const found = { monitor_id: 1, outcome: 'passed', latency: 1, phases: { dns: 1 }, agent: 'a' } as const;
  await addResults(store, ...SLOTS.flatMap((slot) => REGIONS.map((region) => ({ ...found, slot, region }))));
  const rows = await store.read.selectFrom('slot_results').select(['slot', 'reports']).execute();
  const reports = rows.find(({ slot }) => slot === SLOTS[1])?.reports ?? new Uint8Array();
  const sql = 'UPDATE slot_results SET reports = ? WHERE slot = ?';
  await store.commit([{ sql, rows: [[damage(Buffer.from(reports)), SLOTS[1] ?? 0]] }]);

  const span = { from: START, until: START + HOUR_MS };
  const everything = {
    monitorId: 1,
    since: 0,
    before: null,
    region: null,
    outcome: null,
    after: null,
    limit: 9,
  };
  const page = await newestResults(store, everything);
  expect(page.map(({ region }) => region).reverse()).toEqual(READ);
  const replayed: string[] = [];
  for await (const rows of resultsAsRecorded(store, 1, span))
    replayed.push(...rows.map(({ region }) => region));
  expect(replayed).toEqual(READ);
  const counts = [
    { region: 'hosta-ams', passed: 3 },
    { region: 'hosta-fra', passed: 2 },
  ];
  expect(await seriesOfMonitor(store, 1, span)).toMatchObject(counts);
  expect(await seriesOfPhases(store, START, { from: 0, until: 30_000 })).toMatchObject(counts);
  const buckets = { from: START, bucketMs: HOUR_MS };
  const phases = await phasesOfSlots(store, SLOTS, { monitorId: 1, region: null, buckets });
  expect(phases).toMatchObject([{ results: 5, dns: 5 }]);
  const asked = REGIONS.map((region) => ({ monitorId: 1, slot: SLOTS[1] ?? 0, region }));
  expect(await createRecordingStore(store, secrets).recordedOutcomes(asked)).toEqual(['passed', null]);
});

import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { compareRegions, REGIONS } from '@svc/shared/regions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../../test/support/configured-store.ts';
import { addResults, storedResults } from '../../../../../test/support/recorded-results.ts';
import { FINEST_PERIOD_MS, phaseOf } from '../../verdict/schedule.ts';
import { Secrets } from '../declaration/secrets.ts';
import { newestResults, type ResultSearch } from './newest-results.ts';
import { createRecordingStore } from './recording-store.ts';
import { admitRegions, FIXED_NUMBERS, storedRegionNumbers } from './region-numbers.ts';
import { phasesOfSlots, seriesOfMonitor, seriesOfPhases } from './result-series.ts';

const HOUR = 3_600_000;
const SLOT = Date.UTC(2026, 0, 1) + phaseOf(1, FINEST_PERIOD_MS);
const SLOTS = [SLOT, SLOT + 30_000, SLOT + 60_000];
/** So many regions that the reports of a slot lie in five rows. */
const OWN = Array.from({ length: 100 }, (_, index) => `own-${index}`);
const FIRST = ['office-berlin', 'dc-2'];
const EVERY = [...REGIONS, ...FIRST, ...OWN];
const outcomeOf = (region: string): Outcome => (region === 'dc-2' ? 'failed' : 'passed');
const unnamed = (id: string) => ({ id, name: null });
let opened: TemporaryStore;

beforeAll(async () => {
  opened = await temporaryStore();
  await admitRegions(opened.store, FIRST.map(unnamed));
  await admitRegions(opened.store, [...OWN, 'dc-2'].map(unnamed));
  const phases = { dns: 1, connect: 2, first_byte: 3, transfer: 4 };
  await addResults(
    opened.store,
    ...SLOTS.flatMap((slot) =>
      EVERY.map((region) => ({
        ...{ slot, monitor_id: 1, region, outcome: outcomeOf(region), latency: 10, phases },
        recorded_at: slot + 100,
      })),
    ),
  );
});
afterAll(() => opened.dispose());

const search = (more: Partial<ResultSearch> = {}): ResultSearch => ({
  ...{ monitorId: 1, since: 0, before: null, region: null, outcome: null, after: null, limit: 1_000 },
  ...more,
});

test('a region keeps its number, whatever the settings of a later start name', async () => {
  const before = await storedRegionNumbers(opened.store);
  expect(FIRST.map((region) => before.numberOf(region))).toEqual([28, 29]);
  await admitRegions(opened.store, ['a-new-one', 'office-berlin'].map(unnamed));
  const after = await storedRegionNumbers(opened.store);
  for (const region of EVERY) expect(after.numberOf(region)).toBe(before.numberOf(region));
  expect(new Set([...EVERY, 'a-new-one'].map((region) => after.numberOf(region))).size).toBe(
    EVERY.length + 1,
  );
});

test('a region without a number is refused', () => {
  expect(() => FIXED_NUMBERS.numberOf('office-berlin')).toThrow('the region office-berlin has no number');
});

test('the reports of 130 regions about a slot lie in five rows', async () => {
  const rows = await opened.store.read.selectFrom('slot_results').select('part').distinct().execute();
  expect(rows.map(({ part }) => part).sort()).toEqual([0, 1, 2, 3, 4]);
  expect(new Set((await storedResults(opened.store)).map(({ region }) => region))).toEqual(new Set(EVERY));
});

test('a second report of an own region changes nothing', async () => {
  const rows = () => opened.store.read.selectFrom('slot_results').selectAll().execute();
  const before = await rows();
  await addResults(opened.store, { slot: SLOT, monitor_id: 1, region: 'own-99', outcome: 'failed' });
  expect(await rows()).toEqual(before);
});

test('a page of results may begin within a slot, whose reports lie in several rows', async () => {
  const all = await newestResults(opened.store, search());
  expect(all).toHaveLength(SLOTS.length * EVERY.length);
  const keys = all.map(({ slot, region }) => [slot, region] as const);
  const sorted = SLOTS.toReversed().flatMap((slot) =>
    [...EVERY]
      .sort()
      .toReversed()
      .map((region) => [slot, region]),
  );
  expect(keys).toEqual(sorted);
  for (const limit of [1, 7, EVERY.length, EVERY.length + 1]) {
    const paged: (readonly [number, string])[] = [];
    for (let after: ResultSearch['after'] = null; ; ) {
      const page = await newestResults(opened.store, search({ after, limit }));
      paged.push(...page.map(({ slot, region }) => [slot, region] as const));
      const last = page.at(-1);
      if (last === undefined) break;
      after = { slot: last.slot, region: last.region };
    }
    expect(paged).toEqual(keys);
  }
});

test('results are found by an own region, and by its outcome', async () => {
  const ofRegion = await newestResults(opened.store, search({ region: 'own-98' }));
  expect(ofRegion.map(({ slot, region }) => [slot, region])).toEqual(
    SLOTS.toReversed().map((slot) => [slot, 'own-98']),
  );
  const failed = await newestResults(opened.store, search({ outcome: 'failed' }));
  expect(new Set(failed.map(({ region }) => region))).toEqual(new Set(['dc-2']));
  expect(await newestResults(opened.store, search({ region: 'never-there' }))).toEqual([]);
});

test('sums contain every region', async () => {
  const counted = (rows: readonly { region: string; passed: number; failed: number }[]) =>
    rows
      .map(({ region, passed, failed }) => [region, passed + failed] as const)
      .sort(([a], [b]) => compareRegions(a, b));
  const each = [...EVERY].sort(compareRegions).map((region) => [region, SLOTS.length]);
  expect(counted(await seriesOfMonitor(opened.store, 1, { from: SLOT, until: SLOT + HOUR }))).toEqual(each);
  expect(counted(await seriesOfPhases(opened.store, SLOT, { from: 0, until: 30_000 }))).toEqual(each);
  const buckets = { from: SLOT, bucketMs: HOUR };
  const phases = (region: string | null) =>
    phasesOfSlots(opened.store, SLOTS, { monitorId: 1, region, buckets });
  expect(await phases('own-50')).toMatchObject([{ results: SLOTS.length, connect: 6 }]);
  expect(await phases(null)).toMatchObject([{ results: SLOTS.length * (EVERY.length - 1) }]);
  expect(await phases('never-there')).toEqual([]);
});

test('a start finds the recorded outcomes of own regions', async () => {
  const numbers = await storedRegionNumbers(opened.store);
  const recording = createRecordingStore(opened.store, new Secrets(Buffer.alloc(32, 1)), undefined, numbers);
  const keys = ['hosta-fra', 'dc-2', 'own-99'].map((region) => ({ monitorId: 1, slot: SLOT, region }));
  expect(await recording.recordedOutcomes([...keys, { monitorId: 2, slot: SLOT, region: 'dc-2' }])).toEqual([
    'passed',
    'failed',
    'passed',
    null,
  ]);
});

import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { addResults as record } from '../../../../../test/support/recorded-results.ts';
import { gridSlotFrom, phaseOf } from '../../verdict/schedule.ts';
import { newestResults, type ResultSearch } from './newest-results.ts';

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 15);
const REGIONS = ['hosta-fra', 'hostb-par'];
const EVERYTHING = {
  monitorId: 1,
  since: 0,
  before: null,
  region: null,
  outcome: null,
  after: null,
  limit: 10_000,
};
let parts: ConfiguredStore;

beforeEach(async () => {
  parts = await configuredStore();
});
afterEach(() => parts.dispose());

/** Adds rows of all regions at these slots. */
async function addResults(monitorId: number, slots: readonly number[], isOffGrid = false): Promise<void> {
  const results = slots.flatMap((slot) =>
    REGIONS.map(
      (region) => ({ monitor_id: monitorId, slot, region, outcome: 'passed', recorded_at: 0 }) as const,
    ),
  );
  await record(parts.store, ...results);
  await parts.store.commit([
    {
      sql: 'INSERT INTO off_grid_slots (monitor_id, slot) VALUES (?, ?)',
      rows: isOffGrid ? slots.map((slot) => [monitorId, slot]) : [],
    },
  ]);
}

function gridSlots(monitorId: number, period: number, from: number, until: number): number[] {
  const slots: number[] = [];
  for (let slot = gridSlotFrom(from, period, phaseOf(monitorId, period)); slot <= until; slot += period)
    slots.push(slot);
  return slots;
}

const found = async (search: Partial<ResultSearch> = {}) =>
  (await newestResults(parts.store, { ...EVERYTHING, ...search })).map(({ slot, region }) => [slot, region]);

/**
 * Adds the results of a monitor that had three periods, each with its first slot off the grid, and results of
 * another monitor.
 */
async function addHistory(): Promise<(string | number)[][]> {
  const onGrid = [
    ...gridSlots(1, HOUR, NOW - 14 * 24 * HOUR, NOW - 48 * HOUR),
    ...gridSlots(1, 30_000, NOW - 47 * HOUR, NOW - 46 * HOUR),
    ...gridSlots(1, 600_000, NOW - 10 * HOUR, NOW),
  ];
  const offGrid = [NOW - 14 * 24 * HOUR - 5, NOW - 47 * HOUR - 1, NOW - 3].map(
    (slot) => slot - (slot % 1_000) + 7,
  );
  await addResults(1, onGrid);
  await addResults(1, offGrid, true);
  await addResults(2, gridSlots(2, 30_000, NOW - 2 * HOUR, NOW + HOUR));
  return [...onGrid, ...offGrid]
    .toSorted((a, b) => b - a)
    .flatMap((slot) => REGIONS.toReversed().map((region) => [slot, region]));
}

test('every result is found, whatever the period was, newest first', async () => {
  const expected = await addHistory();
  expect(await found()).toEqual(expected);
  expect(await found({ limit: 5 })).toEqual(expected.slice(0, 5));
  expect(await found({ region: 'hosta-fra' })).toEqual(
    expected.filter(([, region]) => region === 'hosta-fra'),
  );
});

test('pages follow each other without a gap or a repeat', async () => {
  const expected = await addHistory();
  const pages: (string | number)[][] = [];
  for (let after: ResultSearch['after'] = null; ; ) {
    const page = await found({ after, limit: 37 });
    pages.push(...page);
    const last = page.at(-1);
    if (last === undefined) break;
    after = { slot: Number(last[0]), region: String(last[1]) };
  }
  expect(pages).toEqual(expected);
});

test('no result before the start of the search is found', async () => {
  const expected = await addHistory();
  const since = NOW - 46.5 * HOUR;
  expect(await found({ since })).toEqual(expected.filter(([slot = 0]) => Number(slot) >= since));
});

test('a monitor without results has none', async () => {
  expect(await found()).toEqual([]);
  await addResults(2, [NOW]);
  expect(await found()).toEqual([]);
  expect(await found({ after: { slot: NOW, region: 'hosta-fra' } })).toEqual([]);
});

test('results of a time span with one outcome', async () => {
  const expected = await addHistory();
  const [until, since] = [NOW - 46.2 * HOUR, NOW - 46.8 * HOUR];
  const within = expected.filter(([slot = 0]) => Number(slot) >= since && Number(slot) < until);
  expect(within.length).toBeGreaterThan(100);
  expect(await found({ since, before: until })).toEqual(within);
  expect(await found({ since, before: Number(within[0]?.[0]) })).toEqual(within.slice(2));
  expect(await found({ since: until, before: since })).toEqual([]);
  expect(await found({ outcome: 'passed' })).toEqual(expected);
  expect(await found({ outcome: 'failed' })).toEqual([]);
});

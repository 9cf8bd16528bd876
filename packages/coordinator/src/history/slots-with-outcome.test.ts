import type { Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { caughtUp } from '../../../../test/support/coordinator/rolled-up-recording.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { addRows } from '../../../../test/support/store-rows.ts';
import { newestResults } from '../store/results/newest-results.ts';
import { markForRepair } from '../store/results/recording-store.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';
import { DAY_MS, HOUR_MS, hourOf } from '../verdict/summary-range.ts';
import { Rollups } from './rollups.ts';
import { slotsWithOutcome } from './slots-with-outcome.ts';

const NOW = Date.UTC(2026, 0, 15, 12, 30);
const OUTCOMES = ['passed', 'degraded', 'failed', 'not_run'] as const;
const REGIONS = ['hosta-fra', 'hostb-par'] as const;
type Outcome = (typeof OUTCOMES)[number];
let parts: ConfiguredStore;
let id: number;

beforeEach(async () => {
  parts = await configuredStore();
  const monitor = { type: 'http', name: 'x', active: 1, attributes: '{}', activated_at: 0 } as const;
  const dates = { created_at: 0, updated_at: 0 };
  id = await addRows(parts.store, 'monitors', { workspace_id: parts.workspaceId, ...monitor, ...dates });
});
afterEach(() => parts.dispose());

async function addResult(hoursAgo: number, region: Region, outcome: Outcome): Promise<number> {
  const slot = gridSlotFrom(NOW - hoursAgo * HOUR_MS, 30_000, phaseOf(id, 30_000));
  await addResults(parts.store, { slot, monitor_id: id, region, outcome, latency: 1 });
  return slot;
}

async function rollUp(): Promise<void> {
  const { store, clock } = parts;
  const slotNow = () => NOW;
  const given = { store, clock, slotNow, believedNow: slotNow, isCaughtUp: () => true, log: silentLog };
  await caughtUp(await Rollups.load(given));
}

const asking = (region: Region | null, outcome: Outcome) => ({
  ...{ monitorId: id, since: 0, before: null, after: null, limit: 1_000 },
  ...{ region, outcome },
});

/** The newest results that a search by roll-ups finds, and the function by which it skips slots. */
async function search(region: Region | null, outcome: Outcome) {
  const asked = asking(region, outcome);
  const mayHave = await slotsWithOutcome(parts.store, asked, NOW);
  return { narrowed: await newestResults(parts.store, { ...asked, mayHave }), mayHave };
}

test('a search with roll-ups finds the same results as a search through everything', async () => {
  const result = fc.record({
    hoursAgo: fc.integer({ min: 0, max: 14 * 24 }),
    region: fc.constantFrom(...REGIONS),
    outcome: fc.constantFrom(...OUTCOMES),
  });
  const unique = {
    selector: ({ hoursAgo, region }: { hoursAgo: number; region: string }) => `${hoursAgo} ${region}`,
  };
  const [results = []] = fc.sample(fc.uniqueArray(result, { ...unique, minLength: 60, maxLength: 60 }), {
    numRuns: 1,
    seed: 12,
  });
  for (const { hoursAgo, region, outcome } of results) await addResult(hoursAgo, region, outcome);
  const searches = OUTCOMES.flatMap((outcome) =>
    [null, ...REGIONS].map((region) => [region, outcome] as const),
  );
  const whole = [];
  for (const one of searches) whole.push(await newestResults(parts.store, asking(...one)));
  for (const found of whole) expect(found.length).toBeGreaterThan(0);
  for (const isRolledUp of [false, true]) {
    if (isRolledUp) await rollUp();
    for (const [index, one] of searches.entries())
      expect((await search(...one)).narrowed).toEqual(whole[index]);
  }
});

test('rolled-up hours without the outcome are skipped', async () => {
  const failed = await addResult(30, 'hosta-fra', 'failed');
  const passed = await addResult(50, 'hosta-fra', 'passed');
  expect((await search(null, 'failed')).mayHave(passed)).toBe(true);
  await rollUp();
  const { mayHave } = await search(null, 'failed');
  expect([mayHave(failed), mayHave(passed), mayHave(NOW)]).toEqual([true, false, true]);
  expect((await search('hostb-par', 'failed')).mayHave(failed)).toBe(false);
  // The roll-ups of so old hours may be deleted.
  expect(mayHave(NOW - 20 * DAY_MS)).toBe(true);
});

test('an hour with a late result is searched before its repair', async () => {
  await addResult(50, 'hosta-fra', 'passed');
  await rollUp();
  const late = await addResult(30, 'hosta-fra', 'failed');
  expect((await search(null, 'failed')).narrowed).toEqual([]);
  await parts.store.commit([markForRepair([{ monitorId: id, slot: late }])]);
  expect((await search(null, 'failed')).narrowed).toMatchObject([{ slot: late }]);
  await rollUp();
  const { narrowed, mayHave } = await search(null, 'failed');
  expect(narrowed).toMatchObject([{ slot: late }]);
  expect(mayHave(hourOf(late))).toBe(true);
});

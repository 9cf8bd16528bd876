import { type PhaseSums, phasesOfSlots } from '../store/results/result-phases.ts';
import { firstSlotFrom } from '../store/results/result-series.ts';
import type { Store } from '../store/store.ts';
import { candidateSlots } from '../verdict/candidate-slots.ts';
import { sampledSlots } from '../verdict/sampled-slots.ts';
import {
  regionBuckets,
  type SeriesBuckets,
  type SeriesRange,
  seriesBuckets,
} from '../verdict/series-range.ts';

/** Most results that are read: some 30 ms of the reading thread. */
const MOST_RESULTS = 6_000;

export type PhaseSeries = {
  readonly buckets: SeriesBuckets;
  /** One in how many slots was read. */
  readonly every: number;
  /** Sums by the beginning of their bucket, epoch ms. Buckets without such results have none. */
  readonly sums: ReadonlyMap<number, PhaseSums>;
};

/**
 * Reads how the time of a monitor's checks was spent, by buckets of a range. Roll-ups do not have the phases, so
 * this reads results: all of them, or an even sample where they are many. A phase that did not happen counts as 0, so the
 * means add up to the mean latency.
 *
 * @param asked.region      null: all of them together
 * @param asked.regionCount number of regions that the monitor is checked from
 * @param asked.periodMs    the monitor's present period, ms
 * @param now               the slots' clock, epoch ms
 */
export async function readPhases(
  store: Pick<Store, 'read'>,
  monitorId: number,
  asked: { range: SeriesRange; region: string | null; regionCount: number; periodMs: number },
  now: number,
): Promise<PhaseSeries> {
  const { range, region, periodMs } = asked;
  const buckets = regionBuckets(range, seriesBuckets(range, now, periodMs));
  const from = (await firstSlotFrom(store, buckets.from)) ?? now;
  const slotCount = (now - from) / periodMs;
  const regionCount = region === null ? Math.max(1, asked.regionCount) : 1;
  const every = Math.max(1, Math.ceil((slotCount * regionCount) / MOST_RESULTS));
  // First slots, which are off the grid, are too few to matter.
  const all = candidateSlots(monitorId, periodMs, { from, until: now }, []);
  const slots = [...sampledSlots(all, every)];
  const sums = await phasesOfSlots(store, slots, { monitorId, region, buckets });
  return { buckets, every, sums: new Map(sums.map((sum) => [sum.at, sum])) };
}

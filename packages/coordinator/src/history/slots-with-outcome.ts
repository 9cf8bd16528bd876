import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { markedHours } from '../store/history/rollup-repairs.ts';
import { hoursWith } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import { hourOf } from '../verdict/summary-range.ts';
import { closedUntil, readProgress } from './progress.ts';
import { KEPT_HOURS_MS } from './rollup-steps.ts';

/**
 * Makes a function that says of a slot whether it may have a result of this outcome. A search for the few
 * failures among many results asks it first: 14 days have up to a million results, and their roll-ups have
 * 336 hours.
 *
 * Slots outside of the hours that are rolled up, and those of hours that wait for a repair, may have any
 * result.
 *
 * @param search.region null: any region
 * @param now           the slots' clock, epoch ms
 */
export async function slotsWithOutcome(
  store: Pick<Store, 'read'>,
  search: { monitorId: number; region: string | null; outcome: Outcome },
  now: number,
): Promise<(slot: number) => boolean> {
  const progress = await readProgress(store, now);
  const from = progress.day - KEPT_HOURS_MS;
  // Later hours were rolled up under a clock that was ahead, and may get more results.
  const until = Math.min(progress.hour, closedUntil(now));
  // The marks are read first: an hour that is repaired meanwhile is then among the hours.
  const marked = await markedHours(store, search.monitorId);
  const hours = await hoursWith(store, search, { from, until });
  return (slot) => {
    const hour = hourOf(slot);
    return hour < from || hour >= until || hours.has(hour) || marked.has(hour);
  };
}

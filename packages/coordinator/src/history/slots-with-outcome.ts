import type { Outcome } from '@svc/shared/messages/check-result.ts';
import { markedHours } from '../store/history/rollup-progress.ts';
import { hoursWith } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import { hourOf } from '../verdict/summary-range.ts';
import { closedUntil, readProgress } from './progress.ts';
import { KEPT_HOURS_MS } from './rollup-steps.ts';

/**
 * Returns a function that says whether a slot may have a result with this outcome. A search for few failures
 * skips every slot for which the function says no. The function looks only at the hourly roll-ups: 14 days
 * have 336 of them, but up to a million results.
 *
 * It says yes for every slot whose hour is not rolled up yet, waits for a repair, or is so old that its
 * roll-up may be deleted.
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
  // If hours after `closedUntil(now)` are rolled up, the clock was ahead then. They may get more results, so
  // their roll-ups are not used.
  const until = Math.min(progress.hour, closedUntil(now));
  // The marks are read before the hours. So an hour that is repaired in between is found among the hours.
  const marked = await markedHours(store, search.monitorId);
  const hours = await hoursWith(store, search, { from, until });
  return (slot) => {
    const hour = hourOf(slot);
    return hour < from || hour >= until || hours.has(hour) || marked.has(hour);
  };
}

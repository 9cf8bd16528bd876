import { oldestRecorded, type Progress, storedProgress } from '../store/history/rollup-progress.ts';
import type { Readable } from '../store/reading-of.ts';
import { dayOf, hourOf } from '../verdict/summary-range.ts';

/** Time after its end at which an hour is rolled up, ms. Most late results have come by then. */
const SETTLE_MS = 5 * 60_000;

/** Beginning of the first hour that must not be rolled up yet. */
export function closedUntil(now: number): number {
  return hourOf(now - SETTLE_MS);
}

/**
 * The stored progress, or the initial one, which begins at the oldest result.
 *
 * @param now the slots' clock, epoch ms
 */
export async function readProgress(reading: Readable, now: number): Promise<Progress> {
  const stored = await storedProgress(reading);
  if (stored !== null) return stored;
  const { slot, transitionAt } = await oldestRecorded(reading);
  const hour = hourOf(Math.min(slot ?? now, now));
  const day = dayOf(Math.min(hour, transitionAt ?? now));
  return { hour, phase: 0, day, afterMonitor: 0 };
}

import { dayOf, hourOf } from '../domain/summary-range.ts';
import type { Readable } from '../store/reading-of.ts';
import { oldestRecorded, type Progress, storedProgress } from '../store/rollup-progress.ts';

/** An hour is rolled up when it has been over for so long: most late results are there then. */
const SETTLE_MS = 5 * 60_000;

/** Beginning of the first hour that is not to be rolled up yet. */
export function closedUntil(now: number): number {
  return hourOf(now - SETTLE_MS);
}

/**
 * The stored progress; before there is one, that with which rolling up begins: at the oldest result.
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

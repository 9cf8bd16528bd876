import { oldestRecorded, type Progress, storedProgress } from '../store/history/rollup-progress.ts';
import type { Readable } from '../store/queries.ts';
import { dayOf, hourOf } from '../verdict/summary-range.ts';

/** Wait from the end of an hour to its roll-up, ms. Most late results arrive within this time. */
export const SETTLE_MS = 5 * 60_000;

/** Start of the first hour that must not be rolled up yet, epoch ms. */
export function closedUntil(now: number): number {
  return hourOf(now - SETTLE_MS);
}

/**
 * The stored progress of the roll-ups. If none is stored, the roll-ups begin at the hour of the oldest
 * result, and at the day of the oldest result or change of status.
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

/**
 * The instants at which the usable roll-ups of hours and of days end, epoch ms. Later roll-ups were made
 * while the clock was ahead, and must not be used.
 */
export async function rolledUpUntil(
  reading: Readable,
  now: number,
): Promise<{ readonly hour: number; readonly day: number }> {
  const progress = await readProgress(reading, now);
  const hour = Math.min(progress.hour, closedUntil(now));
  return { hour, day: Math.min(progress.day, dayOf(hour)) };
}

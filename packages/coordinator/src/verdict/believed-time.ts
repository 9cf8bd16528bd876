import { DAY_MS } from './summary-range.ts';

/**
 * The time by which svc judges whether data is old enough to be deleted for good.
 *
 * The wall clock alone is not enough: a clock that is set forward by 30 days for an hour
 * would make a month of results look old enough to delete. No clock is known to be right.
 * So a step forward is believed only after it has lasted for a long time, and a step back
 * is believed at once. A late deletion costs disk space; an early deletion loses data.
 *
 *     wall clock within TOLERANCE, or behind ──▶ believed: follows the wall clock
 *     wall clock further ahead ──▶ doubted: goes on at the pace of the monotonic clock
 *     doubted for as long as the step is wide (at least a day, at most a week) ──▶ believed
 *     the step changes by more than TOLERANCE ──▶ a new doubt, from the beginning
 *
 * Time in which the coordinator was down or the machine slept counts as a step forward too, because it cannot
 * be distinguished from a clock that was set forward.
 *
 * Two simpler rules fail. If svc used the wall clock at the start plus the monotonic time since then, the
 * time would stay wrong on a machine whose clock starts in 1970 and is corrected later. If svc doubted every
 * step for a week, the doubt would never end on a coordinator that is restarted more often than once a week.
 */
export type BelievedTime = {
  /** The believed time, epoch ms. */
  readonly at: number;
  /**
   * Set while the wall clock is doubted: it is ahead by `aheadMs`, and has been so for `stoodMs` of monotonic
   * time. Null: the wall clock is believed.
   */
  readonly doubt: { readonly aheadMs: number; readonly stoodMs: number } | null;
};

/**
 * Largest step forward that is believed at once, such as a restart or a correction of the clock, ms. The age
 * of data can be wrong by this much.
 */
export const TOLERANCE_MS = 10 * 60_000;
const SHORTEST_DOUBT_MS = DAY_MS;
const LONGEST_DOUBT_MS = 7 * DAY_MS;

/**
 * The believed time at the first start.
 *
 * @param wall             epoch ms
 * @param newestRecordedAt newest instant that was recorded while the wall clock was
 *   right, epoch ms; null: nothing is recorded
 */
export function firstBelieved(wall: number, newestRecordedAt: number | null): BelievedTime {
  return { at: Math.min(wall, newestRecordedAt ?? wall), doubt: null };
}

/**
 * The believed time when `elapsedMs` have passed since `before`.
 *
 * @param wall      epoch ms
 * @param elapsedMs monotonic time since `before` was made, >= 0
 */
export function believe(before: BelievedTime, wall: number, elapsedMs: number): BelievedTime {
  const at = before.at + elapsedMs;
  const aheadMs = wall - at;
  if (aheadMs <= TOLERANCE_MS) return { at: wall, doubt: null };
  const { doubt } = before;
  const isSameStep = doubt !== null && Math.abs(aheadMs - doubt.aheadMs) <= TOLERANCE_MS;
  const stoodMs = isSameStep ? doubt.stoodMs + elapsedMs : 0;
  if (stoodMs >= doubtMs(aheadMs)) return { at: wall, doubt: null };
  return { at, doubt: { aheadMs: isSameStep ? doubt.aheadMs : aheadMs, stoodMs } };
}

/** How long a step forward is doubted, ms. */
export function doubtMs(aheadMs: number): number {
  return Math.min(Math.max(aheadMs, SHORTEST_DOUBT_MS), LONGEST_DOUBT_MS);
}

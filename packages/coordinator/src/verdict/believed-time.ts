import { DAY_MS } from './summary-range.ts';

/**
 * The time that decides how old data is before it is deleted for good.
 *
 * The wall clock alone is not enough: a clock that is set forward by 30 days for an hour would make a month
 * of results look old enough to delete. No clock is known to be right. So a step forward is believed only
 * after it has lasted for a long time, and a step back at once. A late deletion costs disk space; an early
 * one loses data.
 *
 *     wall clock within TOLERANCE, or behind ──▶ believed: follows the wall clock
 *     wall clock further ahead ──▶ doubted: goes on at the pace of the monotonic clock
 *     doubted for as long as the step is wide (at least a day, at most a week) ──▶ believed
 *     the step changes by more than TOLERANCE ──▶ a new doubt, from the beginning
 *
 * Time in which the coordinator was down or the machine slept counts as a step forward too, because it cannot
 * be distinguished from a clock that was set forward.
 *
 * Two simpler rules fail. The first: the wall clock at the start, plus the monotonic time since the start. It
 * would stay wrong on a machine whose clock starts in 1970 and is corrected later. The second: doubting every
 * step for a week. The doubt would never end if the coordinator is restarted more often than once a week.
 */
export type BelievedTime = {
  /** Epoch ms. */
  readonly at: number;
  /** The wall clock is ahead by `aheadMs`, and has been so for `stoodMs` of monotonic time. */
  readonly doubt: { readonly aheadMs: number; readonly stoodMs: number } | null;
};

/**
 * Largest step that is believed at once, such as a restart or a correction of the clock, ms. Ages can be
 * wrong by this much.
 */
export const TOLERANCE_MS = 10 * 60_000;
const SHORTEST_DOUBT_MS = DAY_MS;
const LONGEST_DOUBT_MS = 7 * DAY_MS;

/**
 * The believed time at a start.
 *
 * @param wall             epoch ms
 * @param newestRecordedAt newest instant in earlier records, epoch ms, at which the wall clock was right;
 *   null: there are no earlier records
 */
export function firstBelieved(wall: number, newestRecordedAt: number | null): BelievedTime {
  return { at: Math.min(wall, newestRecordedAt ?? wall), doubt: null };
}

/**
 * The believed time after some time has passed.
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

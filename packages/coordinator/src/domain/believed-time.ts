import { DAY_MS } from './summary-range.ts';

/**
 * The time by which ages are judged where something is deleted for good.
 *
 * The wall clock alone will not do: a clock that is set forward by 30 days for an hour would make a month of
 * results old. No clock is known to be right, so a step forward is believed only when it has stood for
 * long, and a step back at once: what is deleted too late costs disk, what is deleted too early is gone.
 *
 *     wall within TOLERANCE of it, or behind ──▶ believed: follows the wall clock
 *     wall further ahead ──▶ doubted: goes on at the pace of the monotonic clock
 *     doubted for as long as the step is wide (a day at least, a week at most) ──▶ believed
 *     the step changes by more than TOLERANCE ──▶ a new doubt, from the beginning
 *
 * Time in which nobody looked (the coordinator was down, the machine slept) is such a step as well: nobody
 * can tell it from a clock that was set forward.
 */
export type BelievedTime = {
  /** Epoch ms. */
  readonly at: number;
  /** The wall clock is ahead of it by `aheadMs`, and has been for `stoodMs` of monotonic time. */
  readonly doubt: { readonly aheadMs: number; readonly stoodMs: number } | null;
};

/** Steps that are believed at once: a restart, a correction of the clock. Ages are counted from so long before. */
export const TOLERANCE_MS = 10 * 60_000;
const SHORTEST_DOUBT_MS = DAY_MS;
const LONGEST_DOUBT_MS = 7 * DAY_MS;

/**
 * @param wall             epoch ms
 * @param newestRecordedAt of all that was recorded before, epoch ms: the wall clock was right once. Null: nothing was
 */
export function firstBelieved(wall: number, newestRecordedAt: number | null): BelievedTime {
  return { at: Math.min(wall, newestRecordedAt ?? wall), doubt: null };
}

/**
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

/** For how long a step forward is doubted, ms. */
export function doubtMs(aheadMs: number): number {
  return Math.min(Math.max(aheadMs, SHORTEST_DOUBT_MS), LONGEST_DOUBT_MS);
}

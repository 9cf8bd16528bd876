import { spreadOf } from './schedule.ts';

/**
 * Decides which slots run while more is asked for than can be done. Everything here is pure: the caller measures and acts.
 *
 * Slot n of a monitor runs when (n + a hash of the monitor) is a multiple of the factor: 1, 2, 4 … Factors are powers of
 * two, so a slot that runs under a factor also runs under every smaller one, in whatever region that one holds.
 */

/** Overload that lasts this long doubles the factor, ms. Agents tell of it every 2 s. */
const DOUBLES_AFTER_MS = 4_000;
/** Calm that lasts this long halves it, ms. */
const HALVES_AFTER_MS = 30_000;
const MOST = 64;

export type Thinning = {
  /** 1: every slot runs. */
  readonly factor: number;
  readonly isOverloaded: boolean;
  /** Since when that is so under this factor, monotonic ms. */
  readonly since: number;
};

/** @param now monotonic, ms */
export function unthinned(now: number): Thinning {
  return { factor: 1, isOverloaded: false, since: now };
}

/** The state after a look at `now` (monotonic, ms). */
export function nextThinning(before: Thinning, isOverloaded: boolean, now: number): Thinning {
  if (before.isOverloaded !== isOverloaded) return { ...before, isOverloaded, since: now };
  const forMs = now - before.since;
  if (isOverloaded && forMs >= DOUBLES_AFTER_MS && before.factor < MOST)
    return { factor: before.factor * 2, isOverloaded, since: now };
  if (!isOverloaded && forMs >= HALVES_AFTER_MS && before.factor > 1)
    return { factor: before.factor / 2, isOverloaded, since: now };
  return before;
}

/** Whether the monitor's slot (epoch ms, on its grid) runs under the factor. */
export function runsUnder(factor: number, monitorId: number, slot: number, periodMs: number): boolean {
  return (Math.floor(slot / periodMs) + spreadOf(monitorId, MOST)) % factor === 0;
}

/**
 * The factor of a workspace: as much as brings it under what is left to the largest one. A workspace that asks for less
 * than that is not thinned, so none takes the place of another.
 *
 * @param part slots a second that the workspace asks for, as a part of what the largest one does; 0 < part <= 1
 */
export function factorOfWorkspace(factor: number, part: number): number {
  let ofWorkspace = 1;
  while (ofWorkspace < factor * part) ofWorkspace *= 2;
  return ofWorkspace;
}

/** Fewer late ones say nothing. */
const LEAST_LATE = 20;
const LATE_PART = 0.1;

/** Whether so many of these came too late that there were too many of them. */
export function areTooMany(count: number, late: number): boolean {
  return late >= LEAST_LATE && late > count * LATE_PART;
}

/** What waits to be recorded. */
export type Backlog = {
  /** Results and events of dispatch. */
  readonly events: number;
  /** Age of the oldest event, ms; 0 without any. */
  readonly oldestMs: number;
};

/** Age of an unrecorded event from which on the recording lags, ms. */
export const LAG_MS = 5_000;

/**
 * Whether the recording cannot follow: it lags by some seconds, and by ever more although it works. Nothing is recorded by
 * a disk that stands still, and everything afterwards.
 */
export function isLagging(before: Backlog, now: Backlog, recorded: number): boolean {
  return recorded > 0 && now.oldestMs >= LAG_MS && now.oldestMs >= before.oldestMs;
}

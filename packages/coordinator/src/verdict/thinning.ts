import { spreadOf } from './schedule.ts';

/**
 * Decides which slots run while more is asked for than can be done. Everything here is pure: the caller
 * measures and acts.
 *
 * Slot n of a monitor runs when (n + a hash of the monitor) is a multiple of the factor: 1, 2, 4 … Factors
 * are powers of two, so a slot that runs under a factor also runs under every smaller one, in whatever region
 * that one holds.
 */

/** Overload that lasts this long doubles the factor, ms. Agents tell of it every 2 s. */
const DOUBLES_AFTER_MS = 4_000;
/** Calm that lasts this long halves it, ms. */
const HALVES_AFTER_MS = 10_000;
/** Longest calm that is required, ms. */
const MOST_CALM_MS = 80_000;
const MOST = 16;
/**
 * Longest time between two slots of a monitor of which others are left out, ms. An hourly monitor costs
 * little and loses much: under a factor of 16 it would not be checked for 16 hours.
 */
const LONGEST_THINNED_MS = 3_600_000;

export type Thinning = {
  /** 1: every slot runs. */
  readonly factor: number;
  readonly isOverloaded: boolean;
  /** Since when that is so under this factor, monotonic ms. */
  readonly since: number;
  /** The factor was halved last, and it is not known yet whether that was too early. */
  readonly isTrial: boolean;
  /** Calm after which the factor is halved, ms. */
  readonly calmMs: number;
};

/** @param now monotonic, ms */
export function unthinned(now: number): Thinning {
  return { factor: 1, isOverloaded: false, since: now, isTrial: false, calmMs: HALVES_AFTER_MS };
}

/**
 * The state after a look at `now` (monotonic, ms).
 *
 *     4 s of overload ──▶ doubled ── calm for 10 s ──▶ halved, on trial ── calm for 10 s ──▶ halved again, or whole
 *                            ▲                             │
 *                            └───── 4 s of overload ◀──────┘   and the next halving takes twice as long a calm
 */
export function nextThinning(before: Thinning, isOverloaded: boolean, now: number): Thinning {
  const { factor, isTrial } = before;
  if (before.isOverloaded !== isOverloaded) return { ...before, isOverloaded, since: now };
  const forMs = now - before.since;
  if (isOverloaded) {
    if (forMs < DOUBLES_AFTER_MS || factor === MOST) return before;
    const calmMs = isTrial ? Math.min(2 * before.calmMs, MOST_CALM_MS) : before.calmMs;
    return { factor: factor * 2, isOverloaded, since: now, isTrial: false, calmMs };
  }
  if (forMs < (isTrial ? HALVES_AFTER_MS : before.calmMs)) return before;
  if (factor === 1) return isTrial ? unthinned(now) : before;
  const calmMs = isTrial ? HALVES_AFTER_MS : before.calmMs;
  return { factor: factor / 2, isOverloaded, since: now, isTrial: true, calmMs };
}

/**
 * Whether the monitor's slot (epoch ms, on its grid) runs under the factor, which is smaller for a monitor
 * that would otherwise be checked less often than hourly.
 */
export function runsUnder(factor: number, monitorId: number, slot: number, periodMs: number): boolean {
  let ofMonitor = factor;
  while (ofMonitor > 1 && ofMonitor * periodMs > LONGEST_THINNED_MS) ofMonitor /= 2;
  return (Math.floor(slot / periodMs) + spreadOf(monitorId, MOST)) % ofMonitor === 0;
}

/**
 * The factor of a workspace: as much as brings it under what is left to the largest one. A workspace that
 * asks for less than that is not thinned, so none takes the place of another.
 *
 * @param part slots a second that the workspace asks for, as a part of what the largest one does; 0 < part <=
 *   1
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

/** Checks of the agents of a region, in the same few seconds. */
export type AgentLoad = {
  /** Begun or refused. */
  readonly begun: number;
  /** Of them, those that began 250 ms late or were refused. */
  readonly late: number;
  /** Of them, those that waited for seconds or were refused for want of room. */
  readonly behind: number;
  /** An agent waits for a CPU, which others have. */
  readonly isStarved: boolean;
};

/**
 * Whether a region's agents cannot run all of its checks. Where slots are left out, checks that do not begin
 * in time are refused and none waits for seconds: there most of them are late, and not because others have
 * the CPU. In a trial fewer late ones show that it was too early. Otherwise late checks say nothing: they
 * begin late beside other programs on the machine, and thinning does not help.
 */
export function isRegionOverloaded(
  { begun, late, behind, isStarved }: AgentLoad,
  { factor, isTrial }: Pick<Thinning, 'factor' | 'isTrial'>,
): boolean {
  if (areTooMany(begun, behind)) return true;
  return areTooMany(begun, late) && (isTrial || (factor > 1 && late > begun / 2 && !isStarved));
}

/**
 * Whether the coordinator cannot follow: it lags by some seconds, and by ever more. A backlog that shrinks is
 * none.
 */
export function isFallingBehind(beforeMs: number, nowMs: number): boolean {
  return nowMs >= LAG_MS && nowMs >= beforeMs;
}

/** What waits to be recorded. */
export type Backlog = {
  /** Results and events of dispatch. */
  readonly events: number;
  /** Age of the oldest event, ms; 0 without any. */
  readonly oldestMs: number;
};

/** Age of an unrecorded event, or of a slot that is not opened, from which on the coordinator lags, ms. */
export const LAG_MS = 5_000;

/**
 * Whether the recording cannot follow: it lags by some seconds, and by ever more although it works. Nothing
 * is recorded by a disk that stands still, and everything afterwards.
 */
export function isLagging(before: Backlog, now: Backlog, recorded: number): boolean {
  return recorded > 0 && isFallingBehind(before.oldestMs, now.oldestMs);
}

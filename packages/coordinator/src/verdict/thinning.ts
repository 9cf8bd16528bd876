import { spreadOf } from './schedule.ts';

/*
 * The functions of this file decide which slots run under overload. Everything here
 * is pure: the caller measures and acts.
 *
 * Slot n of a monitor runs if n plus a hash of the monitor is a multiple of the
 * factor: 1, 2, 4, 8 or 16. Factors are powers of two, so a slot that runs under a
 * factor also runs under every smaller factor, which another region may have.
 */

/** Overload that lasts this long doubles the factor, ms. Agents report overload every 2 s. */
const DOUBLES_AFTER_MS = 4_000;
/** Shortest time without overload that halves the factor, ms. */
const HALVES_AFTER_MS = 10_000;
/** Upper bound on the time without overload that is required before the factor is halved, ms. */
const MOST_CALM_MS = 80_000;
const MOST = 16;
/**
 * Thinning never makes the time between two slots of a monitor longer than this, ms. Thinning an hourly
 * monitor would save little, and under a factor of 16 the monitor would be checked only every 16 hours.
 */
const LONGEST_THINNED_MS = 3_600_000;

export type Thinning = {
  /** 1: every slot runs. */
  readonly factor: number;
  readonly isOverloaded: boolean;
  /** Since when `isOverloaded` has its value under this factor, monotonic ms. */
  readonly since: number;
  /** Whether the last change halved the factor, and it is not known yet whether that was too early. */
  readonly isTrial: boolean;
  /** Time without overload after which the factor is halved, ms. */
  readonly calmMs: number;
};

/**
 * The state in which every slot runs.
 *
 * @param now monotonic, ms
 */
export function unthinned(now: number): Thinning {
  return { factor: 1, isOverloaded: false, since: now, isTrial: false, calmMs: HALVES_AFTER_MS };
}

/**
 * The state after a measurement at `now` (monotonic, ms).
 *
 *     4 s of overload ──▶ doubled ── calm for `calmMs` ──▶ halved, on trial ── calm for 10 s ──▶ halved again,
 *                            ▲                                │                                  or the trial
 *                            └────── 4 s of overload ◀────────┘                                  ends at factor 1
 *
 * `calmMs` is 10 s at first. Overload in a trial doubles it, up to 80 s. After a
 * trial without overload it is 10 s again.
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
 * Whether the monitor's slot (epoch ms, on its grid) runs under the factor. The factor is halved until the
 * monitor is checked at least hourly, or until it is 1.
 */
export function runsUnder(factor: number, monitorId: number, slot: number, periodMs: number): boolean {
  let ofMonitor = factor;
  while (ofMonitor > 1 && ofMonitor * periodMs > LONGEST_THINNED_MS) ofMonitor /= 2;
  return (Math.floor(slot / periodMs) + spreadOf(monitorId, MOST)) % ofMonitor === 0;
}

/**
 * The factor of a workspace: the smallest factor that brings the workspace's rate down
 * to the rate that the factor leaves to the largest workspace. A workspace that
 * requests less than this rate is not thinned, so that no workspace displaces another.
 *
 * @param part slots a second that the workspace requests, divided by the
 *   slots a second that the largest workspace requests; 0 < part <= 1
 */
export function factorOfWorkspace(factor: number, part: number): number {
  let ofWorkspace = 1;
  while (ofWorkspace < factor * part) ofWorkspace *= 2;
  return ofWorkspace;
}

/** Minimum number of late checks that counts as a sign of overload. */
const LEAST_LATE = 20;
const LATE_PART = 0.1;

/** Whether `late` late checks among `count` checks are too many: at least 20, and more than a tenth. */
export function areTooMany(count: number, late: number): boolean {
  return late >= LEAST_LATE && late > count * LATE_PART;
}

/** Numbers of checks that a region's agents began or refused during the same few seconds. */
export type AgentLoad = {
  /** Number of checks that were begun or refused. */
  readonly begun: number;
  /** Number of checks that began more than 250 ms late or were refused. */
  readonly late: number;
  /** Number of checks that waited for seconds, or were refused because the agent had no room. */
  readonly behind: number;
  /** Whether an agent waits for a CPU that other programs use. */
  readonly isStarved: boolean;
};

/**
 * Whether a region's agents cannot run all of its checks. At least 20 checks must be behind or late, and one of
 * these must be so:
 *
 * - More than a tenth of the checks are behind.
 * - Slots are left out, more than half of the checks are late, and no other program takes the
 *   CPU. While slots are left out, late checks are refused early, so few checks are behind.
 * - The thinning factor was halved for a trial, and more than a tenth of the checks are late.
 *
 * In all other cases, late checks are no proof: checks also begin late because of
 * other programs on the machine, and thinning does not help against these.
 */
export function isRegionOverloaded(
  { begun, late, behind, isStarved }: AgentLoad,
  { factor, isTrial }: Pick<Thinning, 'factor' | 'isTrial'>,
): boolean {
  if (areTooMany(begun, behind)) return true;
  return areTooMany(begun, late) && (isTrial || (factor > 1 && late > begun / 2 && !isStarved));
}

/**
 * Whether the coordinator cannot keep up: its lag is {@link LAG_MS} or more, and the lag does not shrink.
 * Both arguments are lags, ms.
 */
export function isFallingBehind(beforeMs: number, nowMs: number): boolean {
  return nowMs >= LAG_MS && nowMs >= beforeMs;
}

/** The events that wait to be recorded. */
export type Backlog = {
  /** Results and events of dispatch. */
  readonly events: number;
  /** Age of the oldest event, ms; 0 without any. */
  readonly oldestMs: number;
};

/** Age of an unrecorded event, or of a slot that is not opened, from which on the coordinator lags, ms. */
export const LAG_MS = 5_000;

/**
 * Whether the recording cannot keep up: it lags by {@link LAG_MS} or more, and the lag does not shrink
 * although events are recorded. A disk that stands still is not overload: nothing is recorded until the disk
 * works again, and everything is recorded afterwards.
 */
export function isLagging(before: Backlog, now: Backlog, recorded: number): boolean {
  return recorded > 0 && isFallingBehind(before.oldestMs, now.oldestMs);
}

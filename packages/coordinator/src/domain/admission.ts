/**
 * Decides how many jobs a second may be opened when more are asked for than can be done. `pressure.ts` judges the
 * signs, and `fair-slots.ts` says whose jobs those are. Everything in the three is pure: the caller measures and acts.
 *
 *              overloaded              free, or 10 s
 *     open ───────────────▶ draining ───────────────▶ limited ──▶ open
 *      │                       ▲                       │ ▲  grows until everything that is asked for fits,
 *      │                       └────── overloaded ─────┘ │  and is lowered a little while checks begin late
 *      └───────────────────────── late ──────────────────┘
 *
 * The first sign of overload sets the limit to the recent throughput, because that is what can be done. Half
 * of the limit is admitted until the backlog is gone, so that checks run in time again. Then the limit grows.
 * It grows fast until it is near the former limit, which was lately enough. It lingers where it was too much, because
 * each time that it is too much costs more than what is given away, and while the thread waits for a CPU for much of the
 * time, which shows before checks begin late. It falls while the thread waits most of the time and less is done than
 * admitted. Beyond it grows faster and faster, until overload shows again or everything is admitted.
 *
 * When the only problem is that checks begin late, the limit is a little less than the recent throughput, and
 * at least half of what can be done. That works off the waiting jobs and gives little away.
 */

import type { CpuWaits, Pressure } from './pressure.ts';

/** Rate of jobs that is always admitted: no machine that runs svc is too weak for it. */
export const LEAST_PER_SECOND = 50;
/** Part of the limit that is admitted while a backlog is worked off. */
const DRAINING_PART = 0.5;
/** Longest draining, ms. A backlog that is not gone by then has another cause, for example a slow disk. */
const LONGEST_DRAIN_MS = 10_000;
/** Overload that lasts this long after a cut causes another cut, ms. */
const CUT_AGAIN_MS = 3_000;
/** A new limit lies between these parts of the former limit. */
const LEAST_CUT = 0.95;
const DEEPEST_CUT = 0.25;
/** Growth of the limit per second: at first, added for each second without overload, and at most. */
const GROWTH = 0.03;
const GROWTH_PER_SECOND = 0.005;
const MOST_GROWTH = 0.25;
/** Growth per second while there is some backlog. */
const BUSY_GROWTH = 0.01;
/**
 * Growth per second up to this part of the former limit. A machine that stood still for a moment can do as
 * much again.
 */
const FAST_GROWTH = 0.5;
const NEAR_FORMER = 0.8;
/** Growth per second between these parts of the rate that was too much, and while the thread waits for a CPU. */
const LINGERING_GROWTH = 0.01;
const LINGERS_FROM = 0.97;
const LINGERS_UNTIL = 1.03;
/**
 * Loss of the limit per second while the thread waits for a CPU most of the time and less than this part of the limit is
 * done: what is too much waits in all queues, and each part of the work costs more than before.
 */
const FALLING_BEHIND_LOSS = 0.05;
const FALLS_BEHIND_PART = 0.9;
/** Part of the rate that was too much that is still believed to be so, after another cut. */
const STILL_TOO_MUCH = 0.95;
/** Part by which the former limit follows, in each step of draining, a throughput that is higher: so much can be done. */
const LEARNS_PART = 0.3;
/**
 * Part of the former limit that is still believed after each further cut, because the machine may have become
 * slower.
 */
const BELIEVED_AGAIN = 0.8;
/**
 * While checks begin late: the part of the throughput that is admitted, and the least part of the former
 * limit.
 */
const LATE_CUT = 0.88;
const DEEPEST_LATE_CUT = 0.85;
/**
 * Least part of what can be done that is admitted however late checks begin. Half of it works off any backlog
 * within seconds.
 */
const LEAST_LATE_PART = 0.5;
/**
 * Part of the admitted rate. A lower throughput means that the rate cannot be done; smaller differences come
 * from the slots of monitors.
 */
const KEEPS_UP_PART = 0.7;
/** Time after which the effect of a lower limit shows, ms. */
const LATE_CUT_AGAIN_MS = 1_000;
/** The limit ends when it is this many times the rate that is asked for, unless the thread waits for a CPU. */
const ENOUGH = 1.1;

export type Load = {
  readonly pressure: Pressure;
  /** Whether a limit has just ended. Lateness is then judged by one step. */
  readonly hasJustEnded?: boolean;
  /** How much the thread that schedules waits for a CPU. */
  readonly waits: CpuWaits;
  /** Jobs per second that were done over the last seconds. */
  readonly donePerSecond: number;
  /** The same as an average of the time before, while there was no problem; 0: there was no such time. */
  readonly usualPerSecond: number;
  /** Jobs per second that all monitors ask for. */
  readonly askedPerSecond: number;
};

export type Admission =
  | { readonly is: 'open' }
  | {
      readonly is: 'draining' | 'limited';
      /** Jobs per second that can be done, as far as known. */
      readonly perSecond: number;
      /** The limit before the last cut, or what was done since. */
      readonly formerPerSecond: number;
      /** The limit that was too much lately; infinite: none was. */
      readonly tooMuchPerSecond: number;
      /** Lateness alone does not lower the limit below this rate. */
      readonly leastLatePerSecond: number;
      /** Time in this state, ms. */
      readonly forMs: number;
    };

type Limit = Exclude<Admission, { is: 'open' }>;

export const OPEN: Admission = { is: 'open' };

/** Jobs that may be opened, per second. */
export function admittedPerSecond(admission: Admission): number {
  switch (admission.is) {
    case 'open':
      return Number.POSITIVE_INFINITY;
    case 'draining':
      return Math.max(LEAST_PER_SECOND, admission.perSecond * DRAINING_PART);
    case 'limited':
      return admission.perSecond;
  }
}

/**
 * The state after a step.
 *
 * @param elapsedMs time since the step before, ms
 */
export function nextAdmission(before: Admission, load: Load, elapsedMs: number): Admission {
  if (load.askedPerSecond <= LEAST_PER_SECOND) return OPEN;
  if (before.is === 'open') return closed(load);
  const forMs = before.forMs + elapsedMs;
  if (load.pressure === 'overloaded') {
    const hasBeenCut = before.is === 'draining' && forMs < CUT_AGAIN_MS;
    return hasBeenCut ? { ...before, forMs } : cutAgain(before, load);
  }
  if (before.is === 'draining') {
    const isOver = load.pressure === 'free' || forMs >= LONGEST_DRAIN_MS;
    const drained = { ...before, formerPerSecond: learnt(before.formerPerSecond, load) };
    return isOver ? { ...drained, is: 'limited', forMs: 0 } : { ...drained, forMs };
  }
  if (load.pressure === 'late') return lowered({ ...before, forMs }, load);
  return grown({ ...before, forMs }, load, elapsedMs);
}

function closed(load: Load): Admission {
  if (load.pressure === 'overloaded') return firstCut(load);
  if (load.pressure !== 'late') return OPEN;
  const lately = cut(load.askedPerSecond, { ...load, donePerSecond: load.donePerSecond * LATE_CUT });
  // One step may be a pause, and says little about what can be done.
  const perSecond =
    load.hasJustEnded === true ? Math.max(lately, load.askedPerSecond * DEEPEST_LATE_CUT) : lately;
  return {
    is: 'limited',
    perSecond,
    formerPerSecond: perSecond,
    tooMuchPerSecond: Number.POSITIVE_INFINITY,
    leastLatePerSecond: leastLate(perSecond),
    forMs: 0,
  };
}

/**
 * Lowers the limit while checks begin late. The waiting jobs are worked off beside the admitted ones.
 *
 * Lateness that goes on at half of what can be done has another cause, such as an agent's machine that stands
 * still now and then, or slow storage of NATS. Skipping more jobs would not end it.
 */
function lowered(before: Limit, { donePerSecond }: Load): Admission {
  if (before.forMs < LATE_CUT_AGAIN_MS) return before;
  const { perSecond: was } = before;
  const keepsUp = donePerSecond >= was * KEEPS_UP_PART;
  const leastLatePerSecond = keepsUp
    ? before.leastLatePerSecond
    : Math.min(before.leastLatePerSecond, leastLate(donePerSecond));
  const perSecond = Math.min(
    was,
    Math.max(was * DEEPEST_LATE_CUT, donePerSecond * LATE_CUT, leastLatePerSecond, LEAST_PER_SECOND),
  );
  const formerPerSecond = Math.max(was, before.formerPerSecond * BELIEVED_AGAIN);
  return {
    ...before,
    perSecond,
    formerPerSecond,
    tooMuchPerSecond: tooMuch(before),
    leastLatePerSecond,
    forMs: 0,
  };
}

/** A rate that is cut is too much. Of cuts that follow each other the first was nearest to what can be done. */
function tooMuch({ perSecond, tooMuchPerSecond }: Limit): number {
  return tooMuchPerSecond === Number.POSITIVE_INFINITY
    ? perSecond
    : Math.max(perSecond, tooMuchPerSecond * STILL_TOO_MUCH);
}

/**
 * The first limit. Nobody knows how much of the asked rate could ever be done, but the usual rate is known.
 */
function firstCut(load: Load): Admission {
  const perSecond = cut(load.askedPerSecond, load);
  const usual = Math.min(load.usualPerSecond, load.askedPerSecond);
  const formerPerSecond = Math.max(perSecond, usual);
  return {
    is: 'draining',
    perSecond,
    formerPerSecond,
    tooMuchPerSecond: Number.POSITIVE_INFINITY,
    leastLatePerSecond: leastLate(perSecond),
    forMs: 0,
  };
}

function cutAgain(before: Limit, load: Load): Admission {
  const was = Math.min(before.perSecond, load.askedPerSecond);
  // Where nothing at all is done, the recording stands still. That says nothing about what can be done.
  const believedPart = load.donePerSecond === 0 ? 1 : BELIEVED_AGAIN;
  const formerPerSecond = Math.max(was, before.formerPerSecond * believedPart);
  const perSecond = cut(was, load);
  return {
    is: 'draining',
    perSecond,
    formerPerSecond,
    tooMuchPerSecond: tooMuch({ ...before, perSecond: was }),
    leastLatePerSecond: leastLate(perSecond),
    forMs: 0,
  };
}

/** What the backlog is worked off with can be done. */
function learnt(formerPerSecond: number, { donePerSecond, askedPerSecond }: Load): number {
  const shown = Math.min(donePerSecond, askedPerSecond);
  return formerPerSecond + Math.max(0, shown - formerPerSecond) * LEARNS_PART;
}

function leastLate(perSecond: number): number {
  return perSecond * LEAST_LATE_PART;
}

function cut(was: number, { donePerSecond }: Load): number {
  const perSecond = Math.min(was * LEAST_CUT, Math.max(was * DEEPEST_CUT, donePerSecond));
  return Math.max(LEAST_PER_SECOND, perSecond);
}

function grown(before: Limit, load: Load, elapsedMs: number): Admission {
  const { pressure, askedPerSecond, donePerSecond } = load;
  const { perSecond: was, formerPerSecond, tooMuchPerSecond, forMs } = before;
  const near = formerPerSecond * NEAR_FORMER;
  const isFast = pressure === 'free' && was < near;
  const isTooMuch = was >= tooMuchPerSecond * LINGERS_FROM && was < tooMuchPerSecond * LINGERS_UNTIL;
  const lingers = isTooMuch || load.waits !== 'little';
  const fallsBehind =
    load.waits === 'most' && donePerSecond < Math.min(was, askedPerSecond) * FALLS_BEHIND_PART;
  const slow = Math.min(MOST_GROWTH, GROWTH + (GROWTH_PER_SECOND * forMs) / 1_000);
  const growth = pressure === 'busy' ? BUSY_GROWTH : isFast ? FAST_GROWTH : lingers ? LINGERING_GROWTH : slow;
  const more = was * (1 + (growth * elapsedMs) / 1_000);
  const less = Math.max(was * (1 - (FALLING_BEHIND_LOSS * elapsedMs) / 1_000), before.leastLatePerSecond);
  const grownPerSecond = isFast ? Math.min(more, near) : fallsBehind ? Math.min(was, less) : more;
  const enoughPerSecond = askedPerSecond * ENOUGH;
  if (grownPerSecond >= enoughPerSecond && load.waits === 'little') return OPEN;
  const perSecond = Math.max(LEAST_PER_SECOND, Math.min(grownPerSecond, Math.max(was, enoughPerSecond)));
  // Jobs that are done in time can be done.
  const inTime = pressure === 'free' ? leastLate(Math.min(was, donePerSecond)) : 0;
  const leastLatePerSecond = Math.max(before.leastLatePerSecond, inTime);
  // The time of ever faster growth begins beyond the former limit.
  return {
    ...before,
    perSecond,
    leastLatePerSecond,
    forMs: isFast ? 0 : lingers ? Math.min(forMs, LATE_CUT_AGAIN_MS) : forMs,
  };
}

/**
 * Decides how many jobs a second may be opened when more are asked for than can be done, and whose jobs those
 * are. Everything here is pure: the caller measures and acts.
 *
 *              overloaded              free, or 10 s
 *     open ───────────────▶ draining ───────────────▶ limited ──▶ open
 *      │                       ▲                       │ ▲  grows until everything that is asked for fits,
 *      │                       └────── overloaded ─────┘ │  and is lowered a little while checks begin late
 *      └───────────────────────── late ──────────────────┘
 *
 * The first sign of overload sets the limit to the recent throughput, because that is what can be done. Half
 * of the limit is admitted until the backlog is gone, so that checks run in time again. Then the limit grows.
 * It grows fast until it is near the former limit, which was too much but lately enough. From there it grows
 * slowly at first, until overload shows again or everything is admitted.
 *
 * When the only problem is that checks begin late, the limit is a little less than the recent throughput, and
 * at least half of what can be done. That works off the waiting jobs and gives little away.
 */

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
/** The limit ends when it is this many times the rate that is asked for. */
const ENOUGH = 1.1;

/** `busy`: there is some backlog, but it does not grow. `late`: checks begin late, and nothing worse. */
export type Pressure = 'free' | 'busy' | 'late' | 'overloaded';

export type Load = {
  readonly pressure: Pressure;
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
      /** The limit before the last cut. */
      readonly formerPerSecond: number;
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
    return isOver ? { ...before, is: 'limited', forMs: 0 } : { ...before, forMs };
  }
  if (load.pressure === 'late') return lowered({ ...before, forMs }, load);
  return grown({ ...before, forMs }, load, elapsedMs);
}

function closed(load: Load): Admission {
  if (load.pressure === 'overloaded') return firstCut(load);
  if (load.pressure !== 'late') return OPEN;
  const perSecond = cut(load.askedPerSecond, { ...load, donePerSecond: load.donePerSecond * LATE_CUT });
  return {
    is: 'limited',
    perSecond,
    formerPerSecond: perSecond,
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
  return { is: 'limited', perSecond, formerPerSecond: perSecond, leastLatePerSecond, forMs: 0 };
}

/**
 * The first limit. Nobody knows how much of the asked rate could ever be done, but the usual rate is known.
 */
function firstCut(load: Load): Admission {
  const perSecond = cut(load.askedPerSecond, load);
  const usual = Math.min(load.usualPerSecond, load.askedPerSecond);
  const formerPerSecond = Math.max(perSecond, usual);
  return { is: 'draining', perSecond, formerPerSecond, leastLatePerSecond: leastLate(perSecond), forMs: 0 };
}

function cutAgain(before: Limit, load: Load): Admission {
  const was = Math.min(before.perSecond, load.askedPerSecond);
  const formerPerSecond = Math.max(was, before.formerPerSecond * BELIEVED_AGAIN);
  const perSecond = cut(was, load);
  return { is: 'draining', perSecond, formerPerSecond, leastLatePerSecond: leastLate(perSecond), forMs: 0 };
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
  const { perSecond: was, formerPerSecond, forMs } = before;
  const near = formerPerSecond * NEAR_FORMER;
  const isFast = pressure === 'free' && was < near;
  const slow = Math.min(MOST_GROWTH, GROWTH + (GROWTH_PER_SECOND * forMs) / 1_000);
  const growth = pressure === 'busy' ? BUSY_GROWTH : isFast ? FAST_GROWTH : slow;
  const more = was * (1 + (growth * elapsedMs) / 1_000);
  const perSecond = isFast ? Math.min(more, near) : more;
  if (perSecond >= askedPerSecond * ENOUGH) return OPEN;
  // Jobs that are done in time can be done.
  const inTime = pressure === 'free' ? leastLate(Math.min(was, donePerSecond)) : 0;
  const leastLatePerSecond = Math.max(before.leastLatePerSecond, inTime);
  // The time of slow growth begins near the former limit.
  return { ...before, perSecond, leastLatePerSecond, forMs: isFast ? 0 : forMs };
}

/** The events that wait to be recorded. */
export type Backlog = {
  /** Results and events of dispatch. */
  readonly events: number;
  /** Age of the oldest event, ms; 0 without any. */
  readonly oldestMs: number;
};

/** An event waits longer than a few transactions take, ms. */
const RECORDING_BUSY_MS = 500;
const RECORDING_LATE_MS = 1_500;
/** Most that may wait for any reason, because a disk that does not answer fills the memory too. */
const MOST_WAITING_MS = 15_000;
const MOST_WAITING_EVENTS = 100_000;

/** Recent rates of recorded and of opened jobs. */
export type Flow = {
  readonly donePerSecond: number;
  readonly openedPerSecond: number;
  /** Whether the recording has not paused. */
  readonly isSteady: boolean;
};

/**
 * Judges the backlog of the recording. A disk that does not answer for some seconds is not an overload:
 * nothing is recorded meanwhile, and everything afterwards. An overload is a backlog that grows although it
 * is steadily worked off.
 */
export function recordingPressure({ events, oldestMs }: Backlog, flow: Flow): Pressure {
  if (oldestMs >= MOST_WAITING_MS || events >= MOST_WAITING_EVENTS) return 'overloaded';
  const isGrowing = flow.isSteady && flow.donePerSecond < flow.openedPerSecond;
  if (oldestMs >= RECORDING_LATE_MS && isGrowing) return 'overloaded';
  return oldestMs >= RECORDING_BUSY_MS ? 'busy' : 'free';
}

/** Observations of a region's agents over the last two seconds. */
export type RegionSigns = {
  /** Published jobs, each offer counted. */
  readonly offers: number;
  /** Offers without a timely answer, while all agents were heard. */
  readonly unanswered: number;
  /** Jobs that were refused because there was no room, or accepted and not started in time. */
  readonly turnedAway: number;
  /** Jobs that the agents hold. */
  readonly held: number;
  /** Attempts that the agents run at once. */
  readonly capacity: number;
};

/** Parts of the offers from which the signs count, and their least number: a handful may have any reason. */
const TURNED_AWAY_PART = 0.05;
const UNANSWERED_PART = 0.2;
const LEAST_SIGNS = 5;
/** Part of the offers that came in the last second. */
const JUST_OFFERED_PART = 0.5;
/** Agents take up to four times their capacity. More than three times is nearly full. */
const HELD_OVERLOADED = 3;
const HELD_BUSY = 1.5;

export function regionPressure({ offers, unanswered, turnedAway, held, capacity }: RegionSigns): Pressure {
  // Just offered jobs wait for their slots, or their results wait for others; they take no place.
  const waiting = held - offers * JUST_OFFERED_PART;
  const isTurningAway = turnedAway >= Math.max(LEAST_SIGNS, offers * TURNED_AWAY_PART);
  const isMute = unanswered >= Math.max(LEAST_SIGNS, offers * UNANSWERED_PART);
  if (isTurningAway || isMute || waiting > capacity * HELD_OVERLOADED) return 'overloaded';
  return turnedAway > 0 || waiting > capacity * HELD_BUSY ? 'busy' : 'free';
}

/**
 * Delays from the planned start of a check to the receipt of its result, without the duration of the check.
 */
export type Delays = {
  /** Recent results, mostly of the last second. */
  readonly results: number;
  /** Results among them that were delayed by {@link LATE_RESULT_MS} or more. */
  readonly late: number;
  /** Results among them that were delayed by {@link VERY_LATE_RESULT_MS} or more. */
  readonly veryLate: number;
};

/**
 * Delay of a late result, ms. Agents collect results for 250 ms; the rest is the late start of checks and the
 * way of messages.
 */
export const LATE_RESULT_MS = 450;
export const VERY_LATE_RESULT_MS = 1_500;
/** A longer delay than jobs may wait was caused by an outage, ms. */
export const OUTAGE_RESULT_MS = 12_000;
const LATE_PART = 0.1;
const VERY_LATE_PART = 0.5;
/** Fewer results tell nothing. */
export const LEAST_RESULTS = 20;
/** Results of one agent that are enough to compare it with others. */
export const LEAST_BESIDE_OTHERS = 5;

/** When this part of the results comes in time from other agents, the late agents are slow by themselves. */
const IN_TIME_ELSEWHERE_PART = 1 / 3;

export type DelayPressure = 'free' | 'late' | 'overloaded';

/** Judges delays; null when there are fewer than `least` results. */
export function delayPressure(
  { results, late, veryLate }: Delays,
  least = LEAST_RESULTS,
): DelayPressure | null {
  if (results < least) return null;
  if (veryLate > results * VERY_LATE_PART) return 'overloaded';
  return late > results * LATE_PART ? 'late' : 'free';
}

/**
 * Like {@link delayPressure}, for a region with several agents. One slow agent would not get faster if all
 * agents got fewer jobs: it refuses what it cannot take, and the others are offered that.
 */
export function agentsPressure(agents: readonly Delays[]): DelayPressure | null {
  const all = sumOf(agents);
  const pressure = delayPressure(all);
  if (pressure === null || pressure === 'free') return pressure;
  const few = sumOf(agents.filter(({ results }) => results < LEAST_BESIDE_OTHERS));
  const groups = [...agents.filter(({ results }) => results >= LEAST_BESIDE_OTHERS), few];
  const inTime = sumOf(groups.filter((group) => delayPressure(group, 1) === 'free'));
  return inTime.results >= all.results * IN_TIME_ELSEWHERE_PART ? 'free' : pressure;
}

export function sumOf(all: readonly Delays[]): Delays {
  let [results, late, veryLate] = [0, 0, 0];
  for (const each of all) {
    results += each.results;
    late += each.late;
    veryLate += each.veryLate;
  }
  return { results, late, veryLate };
}

/**
 * Judges the ticks of dispatch. When most are late, this thread has too much to do. A single late tick is a
 * pause.
 */
export function tickPressure(ticks: number, lateTicks: number): Pressure {
  if (lateTicks >= LEAST_SIGNS && lateTicks > ticks / 2) return 'overloaded';
  return lateTicks > ticks / 4 ? 'busy' : 'free';
}

/**
 * The part of its jobs that each workspace is admitted. The limit is divided equally, and the unused share of
 * a workspace goes to the others. A workspace that asks for less than its share loses nothing.
 *
 * @param asked jobs per second by workspace
 * @returns parts below 1. A workspace that is missing is admitted whole
 */
export function fairParts(asked: ReadonlyMap<number, number>, perSecond: number): Map<number, number> {
  const parts = new Map<number, number>();
  const rising = [...asked].sort(([, a], [, b]) => a - b);
  let left = perSecond;
  rising.forEach(([workspaceId, wanted], index) => {
    const share = left / (rising.length - index);
    if (wanted > share) parts.set(workspaceId, share / wanted);
    left -= Math.min(wanted, share);
  });
  return parts;
}

/** The credit of a monitor after its last slot, and the admitted part at that time. */
export type Earned = { readonly credit: number; readonly part: number };

/**
 * The admitted jobs of a workspace in time. Slots that make up for others would come in waves, so the credit that a
 * slot needs rises and falls with what was admitted lately.
 */
export type Evenness = {
  /** Jobs that may be admitted, less those that were. */
  readonly left: number;
  /** Instant up to which they are counted, ms. */
  readonly at: number;
};

/** Time over which the admitted jobs are evened, ms, and how far the needed credit moves at most. */
const EVENED_OVER_MS = 400;
const MOST_EVENING = 0.2;

/** @param perMs jobs that are admitted */
export function evenedAt({ left, at }: Evenness, now: number, perMs: number): Evenness {
  if (now <= at) return { left, at };
  const most = perMs * EVENED_OVER_MS;
  return { left: Math.max(-most, Math.min(most, left + (now - at) * perMs)), at: now };
}

/** The credit that a slot needs to run: 1 where as much was admitted as may be. */
export function neededCredit({ left }: Evenness, perMs: number): number {
  const ahead = left / (perMs * EVENED_OVER_MS);
  return 1 - Math.max(-MOST_EVENING, Math.min(MOST_EVENING, ahead));
}

/** Whether a slot runs, and the monitor's credit after it. */
export type Earning = { readonly isAdmitted: boolean; readonly credit: number };

/**
 * Decides whether a monitor's next slot runs while only a part of its slots does.
 *
 * Each slot earns the part, and a slot that runs costs 1. The part changes between the slots, and monitors
 * meet it at different instants. So each slot also makes up for the difference between the last slot's part
 * and the average since then. Over any time, two monitors with the same period differ by one or two skipped
 * slots at most, and none starves.
 *
 * @param part in [0, 1]
 * @param averagePart average since the last slot, in [0, 1]
 * @param needed credit with which it runs: see {@link neededCredit}
 */
export function earn(before: Earned, part: number, averagePart: number, needed = 1): Earning {
  const credit = before.credit + part + averagePart - before.part;
  return credit >= needed ? { isAdmitted: true, credit: credit - 1 } : { isAdmitted: false, credit };
}

/** The same for a slot that is skipped whatever it has earned. One slot is owed to the monitor at most. */
export function passedOver({ isAdmitted, credit }: Earning): Earning {
  return { isAdmitted: false, credit: Math.min(1, isAdmitted ? credit + 1 : credit) };
}

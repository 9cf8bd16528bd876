/**
 * How many jobs a second may be opened when more are asked for than can be done, and whose. Values in,
 * values out: what is measured, and what follows, lies with the caller.
 *
 *              overloaded              free, or 10 s
 *     open ───────────────▶ draining ───────────────▶ limited ──▶ open
 *      │                       ▲                       │ ▲  grows until all that is asked fits,
 *      │                       └────── overloaded ─────┘ │  lowered a little while what runs is late
 *      └───────────────────────── late ──────────────────┘
 *
 * The first sign of overload makes what was done lately the limit, for that is what can be done. Half of
 * it is admitted until the backlog is gone, so that what runs is in time again; then the limit grows:
 * fast until it is near the one before, which was too much but lately enough; from there slowly at first,
 * until overload shows again or everything is admitted. Where nothing is the matter but that what runs is
 * late, the limit is what was done, less a little, and no less than half of it: that works off what waits,
 * and little is given away.
 */

/** Fewer jobs a second than these are never refused: no machine that runs this is too weak for them. */
export const LEAST_PER_SECOND = 50;
/** Part of the limit that is admitted while a backlog is worked off. */
const DRAINING_PART = 0.5;
/** A backlog that is not gone by then is one of something else, a slow disk for example, ms. */
const LONGEST_DRAIN_MS = 10_000;
/** Overload that goes on for so long after a cut calls for another one, ms. */
const CUT_AGAIN_MS = 3_000;
/** A new limit lies between these parts of the former one. */
const LEAST_CUT = 0.95;
const DEEPEST_CUT = 0.25;
/** Growth of the limit per second, at first and added for each second without overload. */
const GROWTH = 0.03;
const GROWTH_PER_SECOND = 0.005;
const MOST_GROWTH = 0.25;
/** Growth per second while there is some backlog. */
const BUSY_GROWTH = 0.01;
/** Growth per second up to this part of the former limit: a machine that stood still for a moment can do as much again. */
const FAST_GROWTH = 0.5;
const NEAR_FORMER = 0.8;
/** Of the former limit so much is believed after each further cut: by then the machine may have become slower. */
const BELIEVED_AGAIN = 0.8;
/** Of what was done so much is admitted when what runs is late, and never less than this part of the former limit. */
const LATE_CUT = 0.88;
const DEEPEST_LATE_CUT = 0.85;
/** Of what can be done at least so much is admitted whatever is late: half of it works off any backlog within seconds. */
const LEAST_LATE_PART = 0.5;
/** Who does less than this part of what is admitted cannot do it; more comes and goes with the slots of monitors. */
const KEEPS_UP_PART = 0.7;
/** What a lower limit has brought about shows after this time, ms. */
const LATE_CUT_AGAIN_MS = 1_000;
/** The limit ends when it is so many times what is asked. */
const ENOUGH = 1.1;

/** `busy`: there is some backlog, but it does not grow; `late`: what runs begins late, and nothing worse. */
export type Pressure = 'free' | 'busy' | 'late' | 'overloaded';

export type Load = {
  readonly pressure: Pressure;
  /** Jobs that were done, per second, over the last seconds. */
  readonly donePerSecond: number;
  /** As much, on the average of the time before, while nothing was the matter; 0: there was no such time. */
  readonly usualPerSecond: number;
  /** Jobs that all monitors ask for, per second. */
  readonly askedPerSecond: number;
};

export type Admission =
  | { readonly is: 'open' }
  | {
      readonly is: 'draining' | 'limited';
      /** What can be done, as far as known. */
      readonly perSecond: number;
      /** The limit before the last cut: what could be done before. */
      readonly formerPerSecond: number;
      /** The limit does not fall below it only because what runs is late. */
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

/** @param elapsedMs since the step before */
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
 * What waits is worked off beside what is admitted. Lateness that goes on at half of what can be done has other
 * reasons (an agent's machine that stands still now and then, slow storage of NATS): skipping more ends none of them.
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

/** Of what is asked nobody knows how much could ever be done; what was usual is known. */
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
  // The time of slow growth begins near the former limit.
  if (perSecond >= askedPerSecond * ENOUGH) return OPEN;
  // What is done in time can be done.
  const inTime = pressure === 'free' ? leastLate(Math.min(was, donePerSecond)) : 0;
  const leastLatePerSecond = Math.max(before.leastLatePerSecond, inTime);
  return { ...before, perSecond, leastLatePerSecond, forMs: isFast ? 0 : forMs };
}

/** What waits to be recorded. */
export type Backlog = {
  /** Results and what dispatch has told. */
  readonly events: number;
  /** Age of the oldest of them, ms; 0: none. */
  readonly oldestMs: number;
};

/** Something waits for longer than a few transactions take, ms. */
const RECORDING_BUSY_MS = 500;
const RECORDING_LATE_MS = 1_500;
/** As much as may wait whatever the reason: a disk that stands still fills the memory as well. */
const MOST_WAITING_MS = 15_000;
const MOST_WAITING_EVENTS = 100_000;

/** What was recorded lately, and what was opened. */
export type Flow = {
  readonly donePerSecond: number;
  readonly openedPerSecond: number;
  /** It has not paused. */
  readonly isSteady: boolean;
};

/**
 * A disk that stands still for some seconds is no overload: nothing is done meanwhile, and all of it
 * afterwards. Overload is a backlog that grows although it is steadily worked off.
 */
export function recordingPressure({ events, oldestMs }: Backlog, flow: Flow): Pressure {
  if (oldestMs >= MOST_WAITING_MS || events >= MOST_WAITING_EVENTS) return 'overloaded';
  const isGrowing = flow.isSteady && flow.donePerSecond < flow.openedPerSecond;
  if (oldestMs >= RECORDING_LATE_MS && isGrowing) return 'overloaded';
  return oldestMs >= RECORDING_BUSY_MS ? 'busy' : 'free';
}

/** What was seen of a region's agents over the last two seconds. */
export type RegionSigns = {
  /** Jobs published, every offer counted. */
  readonly offers: number;
  /** Offers that nobody answered in time, while all agents were heard of. */
  readonly unanswered: number;
  /** Jobs that were refused for want of room, or accepted and then not started in time. */
  readonly turnedAway: number;
  /** Jobs that the agents hold. */
  readonly held: number;
  /** Attempts that they run at once. */
  readonly capacity: number;
};

/** Parts of the offers from which on it counts, and the least number: a handful may have any reason. */
const TURNED_AWAY_PART = 0.05;
const UNANSWERED_PART = 0.2;
const LEAST_SIGNS = 5;
/** Of the offers, those of the last second. */
const JUST_OFFERED_PART = 0.5;
/** Agents take up to four times their capacity; more than three is nearly full. */
const HELD_OVERLOADED = 3;
const HELD_BUSY = 1.5;

export function regionPressure({ offers, unanswered, turnedAway, held, capacity }: RegionSigns): Pressure {
  // They wait for their slots, or with their results for others: that takes no place.
  const waiting = held - offers * JUST_OFFERED_PART;
  const isTurningAway = turnedAway >= Math.max(LEAST_SIGNS, offers * TURNED_AWAY_PART);
  const isMute = unanswered >= Math.max(LEAST_SIGNS, offers * UNANSWERED_PART);
  if (isTurningAway || isMute || waiting > capacity * HELD_OVERLOADED) return 'overloaded';
  return turnedAway > 0 || waiting > capacity * HELD_BUSY ? 'busy' : 'free';
}

/** From an instant at which a check was to begin until its result is here, the check itself not counted. */
export type Delays = {
  /** Results that came lately, mostly in the last second. */
  readonly results: number;
  /** Of these, those that were delayed by {@link LATE_RESULT_MS} or more. */
  readonly late: number;
  /** By {@link VERY_LATE_RESULT_MS} or more. */
  readonly veryLate: number;
};

/** Agents collect results for 250 ms; the rest is what checks begin late, and what messages take, ms. */
export const LATE_RESULT_MS = 450;
export const VERY_LATE_RESULT_MS = 1_500;
/** A result delayed by more than jobs may wait was kept back by an outage, ms. */
export const OUTAGE_RESULT_MS = 12_000;
const LATE_PART = 0.1;
const VERY_LATE_PART = 0.5;
/** Fewer results tell nothing. */
export const LEAST_RESULTS = 20;
/** So many tell whether it is as elsewhere. */
export const LEAST_BESIDE_OTHERS = 5;

/** Where this part of the results comes in time, from other agents, those that are late are slow for themselves. */
const IN_TIME_ELSEWHERE_PART = 1 / 3;

export type DelayPressure = 'free' | 'late' | 'overloaded';

/** What results show by when they come; null: there are fewer than `least`, too few to tell. */
export function delayPressure(
  { results, late, veryLate }: Delays,
  least = LEAST_RESULTS,
): DelayPressure | null {
  if (results < least) return null;
  if (veryLate > results * VERY_LATE_PART) return 'overloaded';
  return late > results * LATE_PART ? 'late' : 'free';
}

/**
 * As {@link delayPressure}, of a region with several agents. One that alone is slow would not be faster if all
 * were given less to do: what it cannot take it refuses, and others are offered that.
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

/** Most ticks are late: there is more to do than this thread can. A single late one is a pause. */
export function tickPressure(ticks: number, lateTicks: number): Pressure {
  if (lateTicks >= LEAST_SIGNS && lateTicks > ticks / 2) return 'overloaded';
  return lateTicks > ticks / 4 ? 'busy' : 'free';
}

/**
 * The part of its jobs that each workspace is admitted: the limit is divided equally, and what a
 * workspace does not need goes to the others. One that asks for less than its share loses nothing.
 *
 * @param asked jobs per second by workspace
 * @returns parts below 1; who is not in it is admitted whole
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

/** What a monitor has earned at its last slot, and the part that held then. */
export type Earned = { readonly credit: number; readonly part: number };

/**
 * Whether a monitor's next slot is run where only a part of its slots is. Each slot earns that part; one
 * that is run costs 1. The part changes between the slots, and monitors meet it at different instants: each
 * slot also makes up for the difference between the last one's part and the average since. So over any time
 * the numbers of skipped slots of two monitors with the same period differ by one or two at most, and none
 * starves.
 *
 * @param part in [0, 1]
 * @param averagePart since the last slot, in [0, 1]
 */
export function earn(
  before: Earned,
  part: number,
  averagePart: number,
): { readonly isAdmitted: boolean; readonly credit: number } {
  const credit = before.credit + part + averagePart - before.part;
  return credit >= 1 ? { isAdmitted: true, credit: credit - 1 } : { isAdmitted: false, credit };
}

/** Judges the signs of overload: what each of them means for `nextAdmission` (`admission.ts`). */

/** `busy`: there is some backlog, but it does not grow. `late`: checks begin late, and nothing worse. */
export type Pressure = 'free' | 'busy' | 'late' | 'overloaded';

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
  /** Results among them that were delayed by {@link DELAYED_RESULT_MS} or more. */
  readonly delayed: number;
  /** Results among them that were delayed by {@link LATE_RESULT_MS} or more. */
  readonly late: number;
  /** Results among them that were delayed by {@link VERY_LATE_RESULT_MS} or more. */
  readonly veryLate: number;
};

/**
 * Delays of results, ms, by how late they are. Agents collect results for 250 ms; the rest is the late start of checks
 * and the way of messages.
 */
export const DELAYED_RESULT_MS = 260;
export const LATE_RESULT_MS = 450;
export const VERY_LATE_RESULT_MS = 1_500;
/** A longer delay than jobs may wait was caused by an outage, ms. */
export const OUTAGE_RESULT_MS = 12_000;
const DELAYED_PART = 0.25;
const LATE_PART = 0.1;
const VERY_LATE_PART = 0.5;
/** Fewer results tell nothing. */
export const LEAST_RESULTS = 20;
/** Results of one agent that are enough to compare it with others. */
export const LEAST_BESIDE_OTHERS = 5;

/** When this part of the results comes in time from other agents, the late agents are slow by themselves. */
const IN_TIME_ELSEWHERE_PART = 1 / 3;

/** `busy`: checks begin somewhat late, as where there is always another one to begin. */
export type DelayPressure = 'free' | 'busy' | 'late' | 'overloaded';

/** Judges delays; null when there are fewer than `least` results. */
export function delayPressure(
  { results, delayed, late, veryLate }: Delays,
  least = LEAST_RESULTS,
): DelayPressure | null {
  if (results < least) return null;
  if (veryLate > results * VERY_LATE_PART) return 'overloaded';
  if (late > results * LATE_PART) return 'late';
  return delayed > results * DELAYED_PART ? 'busy' : 'free';
}

/** Whether checks begin so late that fewer should. */
export function isLate(pressure: DelayPressure | null): boolean {
  return pressure === 'late' || pressure === 'overloaded';
}

/**
 * Like {@link delayPressure}, for a region with several agents. One slow agent would not get faster if all
 * agents got fewer jobs: it refuses what it cannot take, and the others are offered that.
 */
export function agentsPressure(agents: readonly Delays[]): DelayPressure | null {
  const all = sumOf(agents);
  const pressure = delayPressure(all);
  if (!isLate(pressure)) return pressure;
  const few = sumOf(agents.filter(({ results }) => results < LEAST_BESIDE_OTHERS));
  const groups = [...agents.filter(({ results }) => results >= LEAST_BESIDE_OTHERS), few];
  const inTime = sumOf(groups.filter((group) => !isLate(delayPressure(group, 1))));
  return inTime.results >= all.results * IN_TIME_ELSEWHERE_PART ? 'free' : pressure;
}

export function sumOf(all: readonly Delays[]): Delays {
  let [results, delayed, late, veryLate] = [0, 0, 0, 0];
  for (const each of all) {
    results += each.results;
    delayed += each.delayed;
    late += each.late;
    veryLate += each.veryLate;
  }
  return { results, delayed, late, veryLate };
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
 * How much a thread waits for a CPU. `much`: it is about to come late. More work would go on in the same time, and each part
 * of it would take longer.
 */
export type CpuWaits = 'little' | 'much' | 'most';

/** Parts of the time. Up to a third a thread comes in time. */
const MUCH_PART = 0.4;
const MOST_PART = 0.55;

export function cpuWaits(waitedMs: number, elapsedMs: number): CpuWaits {
  if (waitedMs >= elapsedMs * MOST_PART) return 'most';
  return waitedMs >= elapsedMs * MUCH_PART ? 'much' : 'little';
}

/** Divides what is admitted: fairly over workspaces, over the monitors of each, and evenly in time. */

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

/**
 * The admitted jobs of a workspace in time. How long monitors have waited varies from second to second, so the wait that
 * a slot needs follows what was admitted lately.
 */
export type Evenness = {
  /** Jobs that may be admitted, less those that were. */
  readonly left: number;
  /** Instant up to which they are counted, ms. */
  readonly at: number;
};

/** What is admitted of a workspace: a part of the slots, its average of the last time, and jobs per ms. */
export type AdmittedFlow = { readonly part: number; readonly usualPart: number; readonly perMs: number };

/** Time over which the admitted jobs are evened, ms; so many slots at least, where few are asked for. */
const EVENED_OVER_MS = 200;
const LEAST_EVENED_SLOTS = 10;
/** Time over which the usual part is an average, ms: a backlog is worked off more quickly. */
const USUAL_OVER_MS = 15_000;
/** Slots by which the needed wait differs from the inverse of the part: below the usual one, above the present and the usual one. */
const MOST_BELOW_USUAL = 1.5;
const MOST_ABOVE = 1;
const MOST_ABOVE_USUAL = 0.7;

/** @param jobs of a slot */
export function evenedAt({ left, at }: Evenness, now: number, perMs: number, jobs: number): Evenness {
  if (now <= at) return { left, at };
  const most = mostLeft(perMs, jobs);
  return { left: Math.max(-most, Math.min(most, left + (now - at) * perMs)), at: now };
}

/** @param elapsedMs since the usual part was `before` */
export function usualPartAfter(before: number, part: number, elapsedMs: number): number {
  return before + (part - before) * Math.min(1, elapsedMs / USUAL_OVER_MS);
}

/**
 * The slots for which a monitor waits, until one of them runs. It is the inverse of the part where as much was admitted
 * as may be, more where more was, and less where less was. While the part is low for some seconds, because a backlog is
 * worked off, those run nevertheless that have waited longer than usual.
 *
 * @param jobs of a slot
 */
export function neededWait(
  { left }: Evenness,
  { part, usualPart, perMs }: AdmittedFlow,
  jobs: number,
): number {
  const ahead = Math.max(-1, Math.min(1, left / mostLeft(perMs, jobs)));
  const [even, usual] = [1 / part, 1 / usualPart];
  if (ahead <= 0) return Math.min(even - ahead * MOST_ABOVE, usual + MOST_ABOVE_USUAL);
  const least = Math.min(even, Math.max(1, usual - MOST_BELOW_USUAL));
  return even + ahead * (least - even);
}

function mostLeft(perMs: number, jobs: number): number {
  return Math.max(perMs * EVENED_OVER_MS, jobs * LEAST_EVENED_SLOTS);
}

/** What is remembered of a monitor whose slots are limited. */
export type Account = {
  /** Slots since one ran, with what is carried over from before. */
  readonly waited: number;
  /** Slots that have run less than the usual part. */
  readonly owed: number;
};

/** Most slots that are owed, either way, and the part of them that shortens or lengthens the next wait. */
const MOST_OWED = 3;
const OWED_PART = 0.6;
/** What a wait leaves over for the next one, in slots: less than one, so that no two slots run for one wait. */
const MOST_LEFT_OVER = 0.99;
/** What the next wait begins with, in slots: above one, two slots in a row run, because slots are owed. */
const LEAST_CARRIED = -0.9;
const MOST_CARRIED = 1.5;

/**
 * Decides whether a monitor's next slot runs while only a part of its slots does. Those run that have waited longest, in
 * slots of their own, so that no vote ages because its monitor has waited for much longer than others. What a monitor has
 * run more or less than others changes its next wait: monitors meet the needed wait at different instants, and without
 * that some would always meet a long one.
 *
 * @param sooner slots by which it need not wait, because it runs elsewhere; below 0: it waits for longer
 */
export function nextSlot(
  before: Account,
  needed: number,
  usualPart: number,
  sooner = 0,
): { readonly isAdmitted: boolean; readonly account: Account } {
  const waited = before.waited + 1;
  const isAdmitted = waited >= needed - sooner;
  const owed = before.owed + usualPart - (isAdmitted ? 1 : 0);
  const carried = Math.min(MOST_LEFT_OVER, waited - needed) + owed * OWED_PART;
  return {
    isAdmitted,
    account: {
      waited: isAdmitted ? Math.max(LEAST_CARRIED, Math.min(MOST_CARRIED, carried)) : waited,
      owed: Math.max(-MOST_OWED, Math.min(MOST_OWED, owed)),
    },
  };
}

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

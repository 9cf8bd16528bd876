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
 * Least part of the share that slots which ask early get: first slots that were skipped ask again long before their
 * periods are over. What the others leave is theirs as well.
 */
const LEAST_EARLY_PART = 0.1;

/** What is admitted of the jobs of a workspace: the part of a slot on the grid, and that of one that asks early. */
export type Parts = { readonly usual: number; readonly early: number };

/**
 * Divides the share of a workspace between its usual slots and those that ask early. However many ask early, usual ones
 * lose a tenth at most.
 *
 * @param share jobs per second, less than both together
 * @param usual jobs per second that are declared, > 0
 * @param early jobs per second that ask beside them
 */
export function partsOf(share: number, usual: number, early: number): Parts {
  const ofEarly = Math.min(early, Math.max(share * LEAST_EARLY_PART, share - usual));
  return { usual: Math.min(1, (share - ofEarly) / usual), early: early === 0 ? 1 : ofEarly / early };
}

/**
 * The admitted jobs of a workspace in time. Which monitors are due varies from second to second, so the credit that a
 * slot needs follows what was admitted lately.
 */
export type Evenness = {
  /** Jobs that may be admitted, less those that were. */
  readonly left: number;
  /** Instant up to which they are counted, ms. */
  readonly at: number;
};

/** Time over which the admitted jobs are evened, ms; so many slots at least, where few are asked for. */
const EVENED_OVER_MS = 200;
const LEAST_EVENED_SLOTS = 10;
/** Times of what is evened over by which too much may be admitted. */
const MOST_BEHIND = 4;

/** @param jobs of a slot, at most */
export function evenedAt({ left, at }: Evenness, now: number, perMs: number, jobs: number): Evenness {
  if (now <= at) return { left, at };
  const most = mostLeft(perMs, jobs);
  return { left: Math.max(-MOST_BEHIND * most, Math.min(most, left + (now - at) * perMs)), at: now };
}

/** Credit of a slot that has run, and the credit by which the needed one differs where as much is left as is evened over. */
const SLOT = 1;
const BESIDE = 0.3;

/**
 * The credit that a slot needs: one slot where as much was admitted as may be, more where more was, and less where less
 * was. However much more was, the monitors with the most credit run. In an instant when more slots come than may run,
 * others would run each time instead, and the last of them never.
 *
 * @param jobs of a slot, at most
 */
export function neededCredit({ left }: Evenness, perMs: number, jobs: number): number {
  return SLOT - Math.max(-MOST_BEHIND, Math.min(1, left / mostLeft(perMs, jobs))) * BESIDE;
}

function mostLeft(perMs: number, jobs: number): number {
  return Math.max(perMs * EVENED_OVER_MS, jobs * LEAST_EVENED_SLOTS);
}

/** Most credit, in slots: as much as any slot needs. What a monitor was refused for longer is lost, so that no burst follows. */
const MOST_CREDIT = SLOT + MOST_BEHIND * BESIDE;
/** Least credit: slots that run sooner, because they run elsewhere, make no monitor wait for long. */
const LEAST_CREDIT = -1;

/**
 * Decides whether a monitor's next slot runs while only a part of its slots does.
 *
 * Each slot earns the admitted part as credit, and one that runs costs a whole slot. So monitors run alike, however long
 * and however the part varies, and none waits for much longer than others. Credits that are spread evenly over a slot
 * stay so, because all move by the same part: at every instant about that part of the due monitors has enough.
 *
 * @param credit before this slot, in slots
 * @param part that is admitted now
 * @param needed see {@link neededCredit}
 * @param sooner slots by which it need not wait, because it runs elsewhere; below 0: it waits for longer
 */
export function nextSlot(
  credit: number,
  part: number,
  needed: number,
  sooner = 0,
): { readonly isAdmitted: boolean; readonly credit: number } {
  const earned = credit + part;
  const isAdmitted = earned >= needed - sooner * part;
  return {
    isAdmitted,
    credit: isAdmitted ? Math.max(LEAST_CREDIT, earned - SLOT) : Math.min(MOST_CREDIT, earned),
  };
}

/** The credit of a monitor that gets back so much of a slot, because the slot did not run. */
export function withCredit(credit: number, part: number): number {
  return Math.min(MOST_CREDIT, credit + part * SLOT);
}

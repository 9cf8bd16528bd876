import { NO_REGIONS, type RegionSet, sizeOf } from './region-set.ts';
import { statusOf, tally, type Vote } from './status.ts';

/** A slot whose results are not votes yet. */
export type OpenSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /** Regions that were given its job. */
  given: RegionSet;
  /** Of those: reported, abstained or skipped. */
  answered: RegionSet;
  /**
   * False for a slot put together from results after a restart, before dispatch has said who still
   * works on it: until then every region of the electorate may.
   */
  isGivenKnown: boolean;
  /** When it is decided with what there is, monotonic ms. */
  readonly deadline: number;
  /** One per region that reported an outcome. */
  reports: readonly Vote[];
};

export type SlotDecision =
  /** Every region that was given the slot has reported, abstained or been skipped. */
  | 'all-answered'
  /** Whatever the missing regions report, the status is the same. */
  | 'outcome-certain'
  /** One period has passed. */
  | 'period-over';

/** `votes` with `news` in their place: per region the newest slot's stays. Returns `votes` itself when nothing changes. */
export function castVotes(votes: readonly Vote[], news: readonly Vote[]): readonly Vote[] {
  let cast: Vote[] | null = null;
  for (const vote of news) {
    const current: readonly Vote[] = cast ?? votes;
    const index = current.findIndex((old) => old.region === vote.region);
    const old = current[index];
    if (old !== undefined && old.slot >= vote.slot) continue;
    // Not `push`: it makes room for sixteen more, and these arrays are kept for every monitor.
    cast = old === undefined ? current.concat(vote) : current.with(index, vote);
  }
  return cast ?? votes;
}

/**
 * Whether the slot is decided, and why; null while it is not.
 *
 * @param votes     the regions' votes before this slot, stragglers of earlier slots included
 * @param now       ms, as the votes' `expiresAt`
 * @param monotonic ms: a clock that jumps gives the regions no less time
 */
export function slotDecision(
  open: OpenSlot,
  votes: readonly Vote[],
  electorate: RegionSet,
  { now, monotonic }: { now: number; monotonic: number },
): SlotDecision | null {
  const expected = open.isGivenKnown ? open.given : open.given | electorate;
  const missing = expected & ~open.answered;
  if (missing === NO_REGIONS) return 'all-answered';
  if (monotonic >= open.deadline) return 'period-over';
  return isCertain(open, votes, electorate, missing & electorate, now) ? 'outcome-certain' : null;
}

/**
 * The status is monotonic in each missing vote, so three cases stand for all: all of them failed, all
 * passed, and none voted (their earlier votes may age out meanwhile).
 */
function isCertain(
  open: OpenSlot,
  votes: readonly Vote[],
  electorate: RegionSet,
  missing: RegionSet,
  now: number,
): boolean {
  const { failed, degraded, total } = tally(castVotes(votes, open.reports), electorate & ~missing, now);
  const absent = sizeOf(missing);
  const size = sizeOf(electorate);
  const status = statusOf(failed, degraded, total, size);
  return (
    status === statusOf(failed + absent, degraded, total + absent, size) &&
    status === statusOf(failed, degraded, total + absent, size)
  );
}

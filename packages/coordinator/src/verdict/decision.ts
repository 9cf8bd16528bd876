import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from './monitor.ts';
import { hasRegion, NO_REGIONS, type RegionSet, regionsOf, sizeOf } from './region-set.ts';
import { failedIn, failuresCoincide, statusOf, tally, type Vote } from './status.ts';

/** A slot whose results are not votes yet. */
export type OpenSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /** Regions that were given a job of the slot. */
  given: RegionSet;
  /** Regions that have reported, abstained or been skipped: nobody waits for them. */
  answered: RegionSet;
  /**
   * False for a slot that a restart knows from its reports, until dispatch has said which
   * regions still work on it. Until then every region of the electorate may.
   */
  isGivenKnown: boolean;
  /** When the slot is decided in any case, monotonic ms. */
  readonly deadline: number;
  /** One report for each region that reported an outcome. */
  reports: readonly Vote[];
};

export type SlotDecision =
  /** Every region that was given the slot has reported, abstained or been skipped. */
  | 'all-answered'
  /** The status is the same whatever the missing regions report. */
  | 'outcome-certain'
  /** One period has passed. */
  | 'period-over';

/** How long after a pass a region's target counts as up, ms. */
const UP_AFTER_PASS_MS = 5_000;

/** The time at which votes are cast. */
export type CastingTime = {
  /** ms, on the clock of the votes' `expiresAt`. */
  readonly now: number;
  /** Oldest slot whose reports may still become votes, epoch ms. */
  readonly oldestSlot: number;
};

/**
 * Puts `news` into `votes`. Of each region the vote about the newest slot stays. A failed vote continues its
 * region's run of failures. Returns `votes` itself when nothing changes.
 */
export function castVotes(votes: readonly Vote[], news: readonly Vote[], time: CastingTime): readonly Vote[] {
  /** A copy as soon as something changes: this is done twice for nearly every slot. */
  let cast: Vote[] | null = null;
  // By index: this runs for every report, where iterators and closures would be half of what is allocated.
  for (let each = 0; each < news.length; each += 1) {
    const vote = news[each] as Vote;
    const current: readonly Vote[] = cast ?? votes;
    const index = placeOf(current, vote.region);
    const old = current[index];
    if (old === undefined) {
      // `push` would make room for sixteen more, and these arrays are kept for every monitor.
      cast = current.concat(vote);
      continue;
    }
    const next = old.slot < vote.slot ? following(old, vote, time) : recounted(old, vote);
    if (next === old) continue;
    cast ??= votes.slice();
    cast[index] = next;
  }
  return cast ?? votes;
}

/** Index of the region's vote; the length when there is none. */
function placeOf(votes: readonly Vote[], region: Region): number {
  let index = 0;
  while (index < votes.length && votes[index]?.region !== region) index += 1;
  return index;
}

/**
 * Sets since when the region's target may be down: its first failed slot, or shortly after its last pass
 * where that is earlier. Of the simulated forms, this one announces every real outage in time and still
 * separates failures of different slots (decision 0152).
 */
function following(old: Vote, vote: Vote, { now, oldestSlot }: CastingTime): Vote {
  if (vote.failedSince === null) return vote;
  const { upSlot } = old;
  const isCounted = old.expiresAt > now;
  if (old.failedSince !== null) {
    // A run continues over an aged vote as long as another region may still report about its slot.
    const isRun = isCounted || old.slot >= oldestSlot;
    return { ...vote, upSlot, failedSince: isRun ? old.failedSince : vote.failedSince };
  }
  // A pass that does not count any more says nothing about when the failure began.
  if (!isCounted) return { ...vote, upSlot };
  return { ...vote, upSlot, failedSince: Math.min(vote.failedSince, old.endedAt + UP_AFTER_PASS_MS) };
}

/**
 * Applies a report about an older slot, which does not replace its region's vote. It may belong to the vote's
 * run of failures, which then began earlier, or break it.
 */
function recounted(vote: Vote, late: Vote): Vote {
  const { failedSince, slot, upSlot } = vote;
  if (failedSince === null || late.slot >= slot || late.slot <= upSlot) return vote;
  if (late.failedSince !== null) {
    return late.failedSince < failedSince ? { ...vote, failedSince: late.failedSince } : vote;
  }
  // The region's next check, which may have failed, began after the pass and long after its slot.
  const downAt = Math.min(slot, Math.max(late.endedAt + 1, late.slot + UP_AFTER_PASS_MS));
  return { ...vote, upSlot: late.slot, failedSince: Math.max(failedSince, downAt) };
}

/** The facts beside the slot itself that decide about it. */
export type DecisionInput = CastingTime & {
  /** The regions' votes before this slot. */
  readonly votes: readonly Vote[];
  /** Includes the slot's own regions. */
  readonly electorate: RegionSet;
  readonly status: MonitorStatus;
  /** Monotonic ms, so that a clock that jumps gives the regions no less time. */
  readonly monotonic: number;
};

/** Whether the slot is decided, and why; null while it is not. */
export function slotDecision(open: OpenSlot, standing: DecisionInput): SlotDecision | null {
  const { electorate, monotonic } = standing;
  const expected = open.isGivenKnown ? open.given : open.given | electorate;
  const missing = expected & ~open.answered;
  if (missing === NO_REGIONS) return 'all-answered';
  if (monotonic >= open.deadline) return 'period-over';
  return isCertain(open, standing, missing & electorate) ? 'outcome-certain' : null;
}

/**
 * Whether the missing votes cannot change the status.
 *
 * Four cases have every status that the numbers of votes may give: all missing regions failed, all were degraded, all
 * passed, and none voted (their earlier votes may age out meanwhile). A new `error` is certain only when the votes
 * that failed shared a moment, whoever else votes. Where they share none, whoever else fails, an `error` is the
 * standing status.
 */
function isCertain(open: OpenSlot, standing: DecisionInput, missing: RegionSet): boolean {
  const { electorate, now } = standing;
  const absent = sizeOf(missing);
  const size = sizeOf(electorate);
  // This many missing votes can always make an error or prevent one.
  if (absent * 2 > size) return false;
  // Reports count from the moment when they become votes, however long the slot has been open.
  const reports = areFresh(open.reports, now)
    ? open.reports
    : open.reports.map((report) => ({ ...report, expiresAt: Number.POSITIVE_INFINITY }));
  const cast = castVotes(standing.votes, reports, standing);
  const present = electorate & ~missing;
  const { failed, degraded, total } = tally(cast, present, now);
  const allFailed = statusOf(failed + absent, degraded, total + absent, size);
  const allPassed = statusOf(failed, degraded, total + absent, size);
  const noneVoted = statusOf(failed, degraded, total, size);
  const isSame = allFailed === allPassed && allFailed === noneVoted;
  if (allFailed !== 'error' || standing.status === 'error') return isSame;
  if (isSame && failuresCoincide(failedIn(cast, present, now), total + absent)) return true;
  const allDegraded = statusOf(failed, degraded + absent, total + absent, size);
  const isOther = (status: MonitorStatus) => status !== 'error' && status !== standing.status;
  if (isOther(allPassed) || isOther(noneVoted) || isOther(allDegraded)) return false;
  return !mayCoincide(open.slot, cast, standing, missing);
}

/**
 * Whether more than half of the votes may have failed at one moment, with failures of some missing regions about
 * `slot`. A failure that does not reach that moment would only make a majority harder, so that those regions do not
 * vote.
 *
 * @param cast the votes without those of the missing regions about `slot`
 */
function mayCoincide(
  slot: number,
  cast: readonly Vote[],
  standing: DecisionInput,
  missing: RegionSet,
): boolean {
  const { electorate, now } = standing;
  const { total } = tally(cast, electorate & ~missing, now);
  const supposed = regionsOf(missing).map((region) => failureOf(region, slot));
  const failures = failedIn(castVotes(cast, supposed, standing), electorate, now);
  return failures.some((begin) => {
    const moment = begin.failedSince ?? begin.slot;
    let down = 0;
    let joining = 0;
    for (const { failedSince, slot: own, endedAt, region } of failures) {
      if ((failedSince ?? own) > moment || endedAt < moment) continue;
      down += 1;
      if (hasRegion(missing, region)) joining += 1;
    }
    return down * 2 > total + joining;
  });
}

/** The longest failure that the region may report about the slot. */
function failureOf(region: Region, slot: number): Vote {
  return {
    region,
    outcome: 'failed',
    slot,
    at: slot,
    endedAt: Number.POSITIVE_INFINITY,
    failedSince: slot,
    upSlot: 0,
    expiresAt: Number.POSITIVE_INFINITY,
    latency: null,
    statusCode: null,
    errorMessage: null,
  };
}

function areFresh(votes: readonly Vote[], now: number): boolean {
  for (let index = 0; index < votes.length; index += 1) {
    if ((votes[index] as Vote).expiresAt <= now) return false;
  }
  return true;
}

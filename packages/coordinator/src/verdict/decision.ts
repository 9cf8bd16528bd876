import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from './monitor.ts';
import {
  bitOf,
  difference,
  hasRegion,
  intersection,
  NO_REGIONS,
  type RegionSet,
  regionsOf,
  sizeOf,
  union,
} from './region-set.ts';
import {
  failedIn,
  failuresCoincide,
  isBelowHalf,
  isFresh,
  needsNoOthers,
  statusOf,
  tally,
  type Vote,
  votesNeeded,
} from './status.ts';

/** An undecided slot. Its reports are not votes yet. */
export type OpenSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /** Regions that were given the slot. */
  given: RegionSet;
  /**
   * Regions that have reported, abstained, been skipped or been left out. The slot does not wait for them.
   */
  answered: RegionSet;
  /**
   * Whether dispatch has named the regions that were given the slot, or the recovery after a start has ended. Until
   * then, every region of the electorate may still work on the slot.
   */
  isGivenKnown: boolean;
  /** Instant at which the slot is decided even if regions are missing, monotonic ms. */
  readonly deadline: number;
  /** The reports so far: one for each region that reported an outcome. */
  reports: readonly Vote[];
};

export type SlotDecision =
  /** Every region that was given the slot has reported, abstained, been skipped or been left out. */
  | 'all-answered'
  /** The status is the same whatever the missing regions report. */
  | 'outcome-certain'
  /** One period has passed since the slot. */
  | 'period-over';

/** Time after the end of a passed or degraded check for which the target counts as up in the region, ms. */
const UP_AFTER_PASS_MS = 5_000;

/** The time at which votes are cast. */
export type CastingTime = {
  /** The present, ms on the clock of the votes' `expiresAt`. */
  readonly now: number;
  /** Oldest slot whose reports may still become votes, epoch ms. */
  readonly oldestSlot: number;
};

/**
 * Returns the votes after the votes in `news` were cast: each region keeps its vote about the newest slot,
 * and a failed vote continues the region's run of failures. Returns `votes` itself if nothing changes.
 */
export function castVotes(votes: readonly Vote[], news: readonly Vote[], time: CastingTime): readonly Vote[] {
  /**
   * A copy of the votes. It is made only at the first change, because this function
   * runs twice for nearly every slot.
   */
  let cast: Vote[] | null = null;
  // Loops by index: iterators and closures would make half of all allocations for a report.
  for (let each = 0; each < news.length; each += 1) {
    const vote = news[each] as Vote;
    const current: readonly Vote[] = cast ?? votes;
    const index = placeOf(current, vote.region);
    const old = current[index];
    if (old === undefined) {
      // `push` would reserve room for sixteen more votes, and every monitor keeps such an array.
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

/** Index of the region's vote; `votes.length` if the region has no vote. */
function placeOf(votes: readonly Vote[], region: Region): number {
  let index = 0;
  while (index < votes.length && votes[index]?.region !== region) index += 1;
  return index;
}

/**
 * Returns a new vote of a region with its `failedSince` set: to the first slot of the region's run of
 * failures, or to the instant {@link UP_AFTER_PASS_MS} after the end of the region's last passed or degraded
 * check if that instant is earlier. Among the rules that were simulated, this rule announces every real
 * outage in time and still separates failures of different slots (decision 0152).
 *
 * @param old the region's vote before, which is about an older slot
 */
function following(old: Vote, vote: Vote, { now, oldestSlot }: CastingTime): Vote {
  if (vote.failedSince === null) return vote;
  const { upSlot } = old;
  const isCounted = isFresh(old, now);
  if (old.failedSince !== null) {
    // A run continues over an expired vote as long as another region may still
    // report about the slot of that vote.
    const isRun = isCounted || old.slot >= oldestSlot;
    return { ...vote, upSlot, failedSince: isRun ? old.failedSince : vote.failedSince };
  }
  // An expired vote about a passed or degraded check says nothing about when the failure began.
  if (!isCounted) return { ...vote, upSlot };
  return { ...vote, upSlot, failedSince: Math.min(vote.failedSince, old.endedAt + UP_AFTER_PASS_MS) };
}

/**
 * Applies a report about a slot that is not newer than that of its region's vote. The report does not replace the
 * vote. If its slot is older, it may extend the vote's run of failures to an earlier beginning, or break the run.
 */
function recounted(vote: Vote, late: Vote): Vote {
  const { failedSince, slot, upSlot } = vote;
  if (failedSince === null || late.slot >= slot || late.slot <= upSlot) return vote;
  if (late.failedSince !== null) {
    return late.failedSince < failedSince ? { ...vote, failedSince: late.failedSince } : vote;
  }
  // The report is about a passed or degraded check. The region's next check may have failed already. So the run
  // begins right after the end of the reported check, but no earlier than UP_AFTER_PASS_MS after its slot, and no
  // later than the slot of the vote.
  const downAt = Math.min(slot, Math.max(late.endedAt + 1, late.slot + UP_AFTER_PASS_MS));
  return { ...vote, upSlot: late.slot, failedSince: Math.max(failedSince, downAt) };
}

/** The data on which the decision about a slot depends, except the slot itself. */
export type DecisionInput = CastingTime & {
  /** The regions' votes before this slot. */
  readonly votes: readonly Vote[];
  /** Regions whose votes count, including the regions that were given this slot. */
  readonly electorate: RegionSet;
  readonly status: MonitorStatus;
  readonly quorum: Quorum;
  /**
   * The present, monotonic ms, so that a jump of the wall clock does not shorten the time that regions have
   * to report. -Infinity: the slot's deadline does not apply yet.
   */
  readonly monotonic: number;
};

/** Why the slot is decided; null while it is undecided. */
export function slotDecision(open: OpenSlot, standing: DecisionInput): SlotDecision | null {
  const { electorate, monotonic } = standing;
  const expected = open.isGivenKnown ? open.given : union(open.given, electorate);
  const missing = difference(expected, open.answered);
  if (missing === NO_REGIONS) return 'all-answered';
  if (monotonic >= open.deadline) return 'period-over';
  const unheard = difference(missing, upSince(open.slot, standing.votes));
  return isCertain(open, standing, intersection(unheard, electorate)) ? 'outcome-certain' : null;
}

/** The regions that have passed or been degraded in a later slot, so that their reports of this slot change nothing. */
function upSince(slot: number, votes: readonly Vote[]): RegionSet {
  let regions = NO_REGIONS;
  for (let index = 0; index < votes.length; index += 1) {
    const vote = votes[index] as Vote;
    if (vote.slot > slot && vote.failedSince === null) regions = union(regions, bitOf(vote.region));
  }
  return regions;
}

/**
 * Whether the status is certain: no report of the `missing` regions can change it.
 *
 * Four cases give every status that the numbers of votes can give: the missing regions all fail, are all
 * degraded, all pass, or do not vote (their earlier votes may expire meanwhile). For an `error` the numbers
 * are not enough: as many votes as the quorum needs must have failed at one moment. So a new `error` is certain
 * only if the failed votes share such a moment already, whichever missing regions vote. If no reports of
 * missing regions can make such a moment, failures leave the status as it is.
 */
function isCertain(open: OpenSlot, standing: DecisionInput, missing: RegionSet): boolean {
  const { electorate, now, quorum } = standing;
  const absent = sizeOf(missing);
  const size = sizeOf(electorate);
  // If more than half of the electorate is missing, the status is `unknown` without these
  // regions and may be another one with them, unless failures alone reach the quorum.
  if (absent * 2 > size && !needsNoOthers(quorum, size)) return false;
  // Reports expire only after they have become votes, however long the slot has been open.
  const reports = areFresh(open.reports, now)
    ? open.reports
    : open.reports.map((report) => ({ ...report, expiresAt: Number.POSITIVE_INFINITY }));
  const cast = castVotes(standing.votes, reports, standing);
  const present = difference(electorate, missing);
  const { failed, degraded, total } = tally(cast, present, now);
  const statusWith = (failing: number, slow: number, voting: number) =>
    statusOf(failed + failing, degraded + slow, total + voting, size, quorum);
  const doCoincide = (voting: number) =>
    failuresCoincide(failedIn(cast, present, now), votesNeeded(quorum, total + voting, size));
  const allFailed = statusWith(absent, 0, absent);
  const allPassed = statusWith(0, 0, absent);
  let noneVoted = statusWith(0, 0, 0);
  // So few votes make an `error` only if their failures
  // share a moment, even if the status is `error` already.
  if (noneVoted === 'error' && isBelowHalf(total, size) && !doCoincide(0)) noneVoted = 'unknown';
  const isSame = allFailed === allPassed && allFailed === noneVoted;
  if (allFailed !== 'error' || standing.status === 'error') return isSame;
  if (isSame && doCoincide(absent)) return true;
  const allDegraded = statusWith(0, absent, absent);
  const isOther = (status: MonitorStatus) => status !== 'error' && status !== standing.status;
  if (isOther(allPassed) || isOther(noneVoted) || isOther(allDegraded)) return false;
  return !mayCoincide(open.slot, cast, standing, missing);
}

/**
 * Whether enough votes for an `error` may have failed at one moment, if some missing regions report failures
 * of `slot`. A missing region whose failure would not include that moment counts as not voting, because its
 * vote would only raise the number that is needed.
 *
 * @param cast the votes, without reports of the missing regions about `slot`
 */
function mayCoincide(
  slot: number,
  cast: readonly Vote[],
  standing: DecisionInput,
  missing: RegionSet,
): boolean {
  const { electorate, now, quorum } = standing;
  const { total } = tally(cast, difference(electorate, missing), now);
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
    return down >= votesNeeded(quorum, total + joining, sizeOf(electorate));
  });
}

/** A vote for the longest failure that the region may report about the slot. */
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
    if (!isFresh(votes[index] as Vote, now)) return false;
  }
  return true;
}

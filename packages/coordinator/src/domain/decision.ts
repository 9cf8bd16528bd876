import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from './monitor.ts';
import { NO_REGIONS, type RegionSet, sizeOf } from './region-set.ts';
import { addToTally, failedIn, failuresCoincide, statusOf, type Tally, type Vote } from './status.ts';

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

/** A region that has passed is believed to have been up for this long after it, ms. */
const UP_AFTER_PASS_MS = 5_000;

/**
 * `votes` with `news` in their place: per region the newest slot's stays. A failed vote goes on with its
 * region's run of failures. Returns `votes` itself when nothing changes.
 *
 * @param now ms, as the votes' `expiresAt`
 */
export function castVotes(votes: readonly Vote[], news: readonly Vote[], now: number): readonly Vote[] {
  let cast: Vote[] | null = null;
  for (const vote of news) {
    const index = indexOfRegion(cast ?? votes, vote.region);
    const old = (cast ?? votes)[index];
    if (old !== undefined && old.slot >= vote.slot) continue;
    cast ??= votes.slice();
    // Not `push`: it makes room for sixteen more, and these arrays are kept for every monitor.
    if (old === undefined) cast = cast.concat(vote);
    else cast[index] = following(old, vote, now);
  }
  return cast ?? votes;
}

function indexOfRegion(votes: readonly Vote[], region: Region): number {
  for (let index = 0; index < votes.length; index += 1) if (votes[index]?.region === region) return index;
  return -1;
}

/**
 * Since when the region's target may be down: its first failed slot, or shortly after it passed last where
 * that is earlier. Of the forms that were simulated this one announces every real outage in time and still
 * tells failures of different slots apart (decision 0152).
 */
function following(old: Vote, vote: Vote, now: number): Vote {
  if (vote.failedSince === null) return vote;
  // A run goes on however old its last vote is; a pass that counts no more says nothing.
  if (old.failedSince === null && old.expiresAt <= now) return vote;
  const failedSince = old.failedSince ?? Math.min(vote.failedSince, old.endedAt + UP_AFTER_PASS_MS);
  return failedSince === vote.failedSince ? vote : { ...vote, failedSince };
}

/** What a slot is decided on, beside itself. */
export type Standing = {
  /** The regions' votes before this slot. */
  readonly votes: readonly Vote[];
  /** The slot's own regions included. */
  readonly electorate: RegionSet;
  readonly status: MonitorStatus;
  /** ms, as the votes' `expiresAt`. */
  readonly now: number;
  /** ms: a clock that jumps gives the regions no less time. */
  readonly monotonic: number;
};

/** Whether the slot is decided, and why; null while it is not. */
export function slotDecision(open: OpenSlot, standing: Standing): SlotDecision | null {
  const { electorate, monotonic } = standing;
  const expected = open.isGivenKnown ? open.given : open.given | electorate;
  const missing = expected & ~open.answered;
  if (missing === NO_REGIONS) return 'all-answered';
  if (monotonic >= open.deadline) return 'period-over';
  return isCertain(open, standing, missing & electorate) ? 'outcome-certain' : null;
}

/**
 * The status is monotonic in each missing vote, so three cases stand for all: all of them failed, all
 * passed, and none voted (their earlier votes may age out meanwhile). An `error` that is to begin is certain
 * only where those that have failed shared a moment, whoever else votes.
 */
function isCertain(open: OpenSlot, standing: Standing, missing: RegionSet): boolean {
  const { electorate, now } = standing;
  const present = electorate & ~missing;
  const { failed, degraded, total } = tallyOfCast(standing.votes, open.reports, present, now);
  const absent = sizeOf(missing);
  const size = sizeOf(electorate);
  const status = statusOf(failed, degraded, total, size);
  const isSame =
    status === statusOf(failed + absent, degraded, total + absent, size) &&
    status === statusOf(failed, degraded, total + absent, size);
  if (!isSame || status !== 'error' || standing.status === 'error') return isSame;
  const cast = castVotes(standing.votes, open.reports, now);
  return failuresCoincide(failedIn(cast, present, now), total + absent);
}

/** The tally of what {@link castVotes} makes, without making it: this is asked after nearly every report. */
function tallyOfCast(
  votes: readonly Vote[],
  news: readonly Vote[],
  electorate: RegionSet,
  now: number,
): Tally {
  const sum = { failed: 0, degraded: 0, total: 0 };
  for (const vote of votes) {
    const index = indexOfRegion(news, vote.region);
    const report = news[index];
    addToTally(sum, report === undefined || report.slot <= vote.slot ? vote : report, electorate, now);
  }
  for (const report of news) {
    if (indexOfRegion(votes, report.region) < 0) addToTally(sum, report, electorate, now);
  }
  return sum;
}

import type { MonitorStatus } from './monitor.ts';
import { NO_REGIONS, type RegionSet, sizeOf } from './region-set.ts';
import { failedIn, failuresCoincide, statusOf, tally, type Vote } from './status.ts';

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

/** When votes are cast. */
export type CastingTime = {
  /** ms, as the votes' `expiresAt`. */
  readonly now: number;
  /** Oldest slot about which a report may still become a vote, epoch ms. */
  readonly oldestSlot: number;
};

/**
 * `votes` with `news` in their place: per region the newest slot's stays. A failed vote goes on with its
 * region's run of failures. Returns `votes` itself when nothing changes.
 */
export function castVotes(votes: readonly Vote[], news: readonly Vote[], time: CastingTime): readonly Vote[] {
  let cast: Vote[] | null = null;
  for (const vote of news) {
    const current: readonly Vote[] = cast ?? votes;
    const index = current.findIndex((old) => old.region === vote.region);
    const old = current[index];
    if (old === undefined) {
      // Not `push`: it makes room for sixteen more, and these arrays are kept for every monitor.
      cast = current.concat(vote);
      continue;
    }
    const next = old.slot < vote.slot ? following(old, vote, time) : recounted(old, vote);
    if (next !== old) cast = current.with(index, next);
  }
  return cast ?? votes;
}

/**
 * Since when the region's target may be down: its first failed slot, or shortly after it passed last where
 * that is earlier. Of the forms that were simulated this one announces every real outage in time and still
 * tells failures of different slots apart (decision 0152).
 */
function following(old: Vote, vote: Vote, { now, oldestSlot }: CastingTime): Vote {
  if (vote.failedSince === null) return vote;
  const { upSlot } = old;
  const isCounted = old.expiresAt > now;
  if (old.failedSince !== null) {
    // A run goes on over a vote that has aged as long as another region may still report about its slot.
    const isRun = isCounted || old.slot >= oldestSlot;
    return { ...vote, upSlot, failedSince: isRun ? old.failedSince : vote.failedSince };
  }
  // A pass that counts no more says nothing about when the failure began.
  if (!isCounted) return { ...vote, upSlot };
  return { ...vote, upSlot, failedSince: Math.min(vote.failedSince, old.endedAt + UP_AFTER_PASS_MS) };
}

/**
 * A report about an older slot does not take the place of its region's vote. It may belong to the vote's run
 * of failures, which began earlier then, or break it.
 */
function recounted(vote: Vote, late: Vote): Vote {
  const { failedSince, slot, upSlot } = vote;
  if (failedSince === null || late.slot >= slot || late.slot <= upSlot) return vote;
  if (late.failedSince !== null) {
    return late.failedSince < failedSince ? { ...vote, failedSince: late.failedSince } : vote;
  }
  // Its region's next check, which may have failed, began after the pass and long after its slot.
  const downAt = Math.min(slot, Math.max(late.endedAt + 1, late.slot + UP_AFTER_PASS_MS));
  return { ...vote, upSlot: late.slot, failedSince: Math.max(failedSince, downAt) };
}

/** What a slot is decided on, beside itself. */
export type DecisionInput = CastingTime & {
  /** The regions' votes before this slot. */
  readonly votes: readonly Vote[];
  /** The slot's own regions included. */
  readonly electorate: RegionSet;
  readonly status: MonitorStatus;
  /** ms: a clock that jumps gives the regions no less time. */
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
 * The status is monotonic in each missing vote, so three cases stand for all: all of them failed, all
 * passed, and none voted (their earlier votes may age out meanwhile). An `error` that is to begin is certain
 * only where those that have failed shared a moment, whoever else votes.
 */
function isCertain(open: OpenSlot, standing: DecisionInput, missing: RegionSet): boolean {
  const { electorate, now } = standing;
  const absent = sizeOf(missing);
  const size = sizeOf(electorate);
  // So many can make it an error, or keep it from one.
  if (absent * 2 > size) return false;
  // They count from when they become votes, however long the slot has been open.
  const reports = open.reports.map((report) =>
    report.expiresAt > now ? report : { ...report, expiresAt: Number.POSITIVE_INFINITY },
  );
  const cast = castVotes(standing.votes, reports, standing);
  const present = electorate & ~missing;
  const { failed, degraded, total } = tally(cast, present, now);
  const status = statusOf(failed, degraded, total, size);
  const isSame =
    status === statusOf(failed + absent, degraded, total + absent, size) &&
    status === statusOf(failed, degraded, total + absent, size);
  if (!isSame || status !== 'error' || standing.status === 'error') return isSame;
  return failuresCoincide(failedIn(cast, present, now), total + absent);
}

import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from './monitor.ts';
import { hasRegion, intersection, type RegionSet, sizeOf } from './region-set.ts';

/** The outcomes of a check that count as a vote. `not_run` is not a vote. */
export type VoteOutcome = 'passed' | 'degraded' | 'failed';

export type Vote = {
  readonly region: Region;
  readonly outcome: VoteOutcome;
  /** The slot that the vote is about, epoch ms. */
  readonly slot: number;
  /** When the report became a vote, epoch ms on the slots' clock. */
  readonly at: number;
  /** When the reported check ended, epoch ms on the slots' clock; not before its slot. */
  readonly endedAt: number;
  /**
   * Since when the target counts as down in the region, epoch ms. This is the first slot of the region's
   * unbroken run of failed votes, or an instant shortly after the end of the region's last passed or degraded
   * check if that instant is earlier. Null: the vote is not a failure.
   */
  readonly failedSince: number | null;
  /**
   * Newest slot of which the region is known to have an outcome other than `failed`, epoch ms. It is not
   * newer than the vote's slot. 0: no such slot is known.
   */
  readonly upSlot: number;
  /**
   * Last instant at which the vote counts, ms (see {@link isFresh}). The clock is the monotonic one plus all
   * jumps of the slots' clock: a jump ages a vote, and slewing towards a changed system clock does not.
   */
  readonly expiresAt: number;
  /** ms */
  readonly latency: number | null;
  readonly statusCode: number | null;
  readonly errorMessage: string | null;
};

/** Why the votes result in their status. */
const VERDICT_REASONS = [
  /**
   * More than half of the votes failed: `error`. They failed at one moment, or the status was `error` before.
   */
  'majority-failed',
  /**
   * As many votes failed as the monitor's quorum says, which is not `majority`:
   * `error`. They failed at one moment, or the status was `error` before.
   */
  'quorum-failed',
  /** Enough votes failed for `error`, but never enough at one moment. The status stays. */
  'failures-apart',
  /** More than half of the votes failed or were degraded: `degraded`. */
  'majority-degraded',
  /**
   * As many votes failed or were degraded as the monitor's quorum says, which is not `majority`: `degraded`.
   */
  'quorum-degraded',
  /** Some votes failed, but failed and degraded votes together are fewer than the quorum needs: `active`. */
  'minority-failed',
  /** Some votes were degraded and none failed, but fewer than the quorum: `active`. */
  'minority-degraded',
  'all-passed',
  /** Fewer than half of the electorate have fresh votes: `unknown`. */
  'too-few-votes',
  /** None of the monitor's regions had an agent within 24 h, or none of them was given a slot yet: `unknown`. */
  'no-electorate',
] as const;
export type VerdictReason = (typeof VERDICT_REASONS)[number];

export type Verdict = { readonly status: MonitorStatus; readonly reason: VerdictReason };

export type VoteCounts = { failed: number; degraded: number; total: number };

/**
 * Time that svc may need to read a result, ms. If it takes even longer, an outage of
 * svc itself has delayed the result.
 */
const READ_LATE_MS = 2 * 60_000;

/**
 * Slots that lie further in the future than this come from a wrong clock, ms. Votes about such slots would
 * hide the votes about the next slots.
 */
export const BELIEVED_AHEAD_MS = 60_000;

/** How long a vote counts after it was cast, ms, unless overload leaves out slots (`leaveOutRegions`). */
export function freshForMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, periodMs + longestCheckMs + 10_000);
}

/**
 * Largest age of a slot that may still become a vote, ms. Older results were read late, after an outage of
 * svc itself, and say nothing about now.
 */
export function votableForMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, 2 * periodMs + longestCheckMs) + READ_LATE_MS;
}

/**
 * The regions whose votes count: the declared regions (`null`: any region) that had an agent within 24 h and
 * were given a slot of the monitor.
 *
 * A region that lost its agents stays in the electorate for 24 h. So if most regions
 * are lost, there are too few votes, and the remaining regions do not decide alone.
 * A region that joins does not count as a missing vote before its first slot.
 */
export function electorateOf(declared: RegionSet | null, hadAgent: RegionSet, entered: RegionSet): RegionSet {
  return intersection(intersection(declared ?? hadAgent, hadAgent), entered);
}

/**
 * Whether the vote still counts at `now` (ms, on the clock of its `expiresAt`). A
 * vote counts up to and including the instant of its expiry. So a vote that is cast
 * in that instant, when a slot ends, replaces the old vote without a gap.
 */
export function isFresh({ expiresAt }: Pick<Vote, 'expiresAt'>, now: number): boolean {
  return expiresAt >= now;
}

/** Whether the vote counts at `now` in this electorate. */
export function isCounted(vote: Vote, electorate: RegionSet, now: number): boolean {
  return isFresh(vote, now) && hasRegion(electorate, vote.region);
}

export function tally(votes: readonly Vote[], electorate: RegionSet, now: number): VoteCounts {
  const sum = { failed: 0, degraded: 0, total: 0 };
  for (let index = 0; index < votes.length; index += 1) {
    const vote = votes[index] as Vote;
    if (!isCounted(vote, electorate, now)) continue;
    sum.total += 1;
    if (vote.outcome === 'failed') sum.failed += 1;
    else if (vote.outcome === 'degraded') sum.degraded += 1;
  }
  return sum;
}

/** The counted votes that failed. */
export function failedIn(votes: readonly Vote[], electorate: RegionSet, now: number): Vote[] {
  return votes.filter((vote) => vote.outcome === 'failed' && isCounted(vote, electorate, now));
}

/**
 * The number of votes that the quorum needs: so many failed votes make an `error`, and so many failed
 * or degraded votes make `degraded`. A quorum that is a number is the same however many regions are
 * silent. A number above the size of the electorate counts as `all`, which means all votes that count.
 *
 * @param total number of all votes that count
 * @param size number of regions in the electorate
 */
export function votesNeeded(quorum: Quorum, total: number, size: number): number {
  switch (quorum) {
    case 'majority':
      return Math.floor(total / 2) + 1;
    case 'any':
      return 1;
    case 'all':
      return total;
    default:
      return quorum > size ? total : quorum;
  }
}

/**
 * Whether failures that reach the quorum make an `error` however few other votes there are. Such
 * an `error` is certain, because further votes do not raise the number that the quorum needs.
 */
export function needsNoOthers(quorum: Quorum, size: number): boolean {
  return quorum === 'any' || (typeof quorum === 'number' && quorum <= size);
}

/** Whether fewer than half of an electorate of `size` regions have voted, or none has. */
export function isBelowHalf(total: number, size: number): boolean {
  return total === 0 || total * 2 < size;
}

/**
 * The status that these numbers of votes give in an electorate of `size` regions, if the failures share a
 * moment.
 */
export function statusOf(
  failed: number,
  degraded: number,
  total: number,
  size: number,
  quorum: Quorum,
): MonitorStatus {
  const needed = votesNeeded(quorum, total, size);
  if (isBelowHalf(total, size)) return needsNoOthers(quorum, size) && failed >= needed ? 'error' : 'unknown';
  if (failed >= needed) return 'error';
  if (failed + degraded >= needed) return 'degraded';
  return 'active';
}

/**
 * Whether at least `needed` votes failed at one moment. A region's failure lasts from `failedSince` to the end
 * of its last failed check.
 *
 * Without this rule, a region that fails now and a region that failed in an older slot and has not answered
 * since could make an `error` together, although they never saw the target down at once.
 *
 * @param failed the counted votes that failed
 * @param needed see {@link votesNeeded}
 */
export function failuresCoincide(failed: readonly Vote[], needed: number): boolean {
  // If such a moment exists, the failures of that moment also share the instant at which the last of them
  // began. So it is enough to try the beginnings.
  return failed.some(({ failedSince: moment, slot }) => {
    const at = moment ?? slot;
    let down = 0;
    for (const other of failed) {
      if ((other.failedSince ?? other.slot) <= at && at <= other.endedAt) down += 1;
    }
    return down >= needed;
  });
}

/**
 * Whether the votes at `now` (ms, on the clock of their `expiresAt`) are too few for
 * any status but `unknown`: fewer than half of the electorate have a fresh vote, and
 * the failures among these votes make no `error` by themselves ({@link needsNoOthers}).
 */
export function areVotesTooFew(
  votes: readonly Vote[],
  electorate: RegionSet,
  now: number,
  quorum: Quorum,
): boolean {
  const { failed, total } = tally(votes, electorate, now);
  const size = sizeOf(electorate);
  if (!isBelowHalf(total, size)) return false;
  const needed = votesNeeded(quorum, total, size);
  if (!needsNoOthers(quorum, size) || failed < needed) return true;
  return !failuresCoincide(failedIn(votes, electorate, now), needed);
}

/**
 * The verdict of `votes` at `now`: `unknown` if they are too few
 * ({@link areVotesTooFew}), otherwise the status that the fresh votes make by the
 * quorum. If enough of them failed, but not at one moment, the status stays as it is.
 *
 * @param standing the status until now
 * @param now ms, on the clock of the votes' `expiresAt`
 */
export function verdict(
  votes: readonly Vote[],
  electorate: RegionSet,
  standing: MonitorStatus,
  now: number,
  quorum: Quorum,
): Verdict {
  if (areVotesTooFew(votes, electorate, now, quorum)) {
    return { status: 'unknown', reason: electorate === 0 ? 'no-electorate' : 'too-few-votes' };
  }
  const { failed, degraded, total } = tally(votes, electorate, now);
  const size = sizeOf(electorate);
  const status = statusOf(failed, degraded, total, size, quorum);
  switch (status) {
    case 'unknown':
      return { status, reason: 'too-few-votes' };
    case 'error': {
      const needed = votesNeeded(quorum, total, size);
      if (standing !== 'error' && !failuresCoincide(failedIn(votes, electorate, now), needed)) {
        return { status: standing, reason: 'failures-apart' };
      }
      return { status, reason: quorum === 'majority' ? 'majority-failed' : 'quorum-failed' };
    }
    case 'degraded':
      return { status, reason: quorum === 'majority' ? 'majority-degraded' : 'quorum-degraded' };
    case 'active':
      if (failed > 0) return { status, reason: 'minority-failed' };
      return { status, reason: degraded > 0 ? 'minority-degraded' : 'all-passed' };
  }
}

/**
 * The instant, on the clock of the votes' `expiresAt`, after which the votes are too few
 * ({@link areVotesTooFew}). Without an electorate it is the expiry of the last vote, because an electorate
 * existed before. Null: at no instant are there enough votes.
 */
export function tooFewVotesAt(votes: readonly Vote[], electorate: RegionSet, quorum: Quorum): number | null {
  const expiries = votes.map(({ expiresAt }) => expiresAt).sort((a, b) => b - a);
  if (electorate === 0) return expiries[0] ?? null;
  return expiries.find((then) => !areVotesTooFew(votes, electorate, then, quorum)) ?? null;
}

import type { MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';

/*
 * The rule of the verdict, written from the sentences of the design and not from the code that it judges.
 * Where a sentence leaves room, a vote says both what is sure and what may be.
 */

/** What a region said last. */
export type Vote = {
  readonly region: Region;
  readonly outcome: 'passed' | 'degraded' | 'failed';
  readonly slot: number;
  /** It is fresh before this, and may be fresh or not between the two, on the clock by which votes age, ms. */
  readonly surelyFreshUntil: number;
  readonly freshUntil: number;
  /** Where it failed: since when the target may be down for it, and since when it surely is, epoch ms on the slots' clock. */
  readonly downFrom: number;
  readonly surelyDownFrom: number;
  /** End of the check: by the probe's own account, and not after it was heard of, epoch ms on the slots' clock. */
  readonly endedAt: number;
  readonly surelyEndedAt: number;
  readonly heardAt: number;
};

/** What the rule is asked about. */
export type Question = {
  readonly votes: readonly Vote[];
  readonly electorate: ReadonlySet<Region>;
  /** On the clock by which votes age, ms. */
  readonly age: number;
  /** The status there is. */
  readonly standing: MonitorStatus;
};

/** How the room that a sentence leaves is used. */
export type Reading = {
  /** Votes that may have aged count for nothing. */
  readonly isEarlyAgeing: boolean;
  /** A failure goes on where a vote may have aged, and where an agent's clock may have been wrong. */
  readonly isLongFailure: boolean;
};

export const PLAIN: Reading = { isEarlyAgeing: false, isLongFailure: false };

/** "3 periods, or period + longest possible check + 10 s, the larger." */
export function freshMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, periodMs + longestCheckMs + 10_000);
}

/** "Reports older than max(3 periods, 2 periods + longest check) + 2 min are recorded only." */
export function votableMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, 2 * periodMs + longestCheckMs) + 120_000;
}

/** The status that the votes make. */
export function statusOf(question: Question, reading: Reading): MonitorStatus {
  const fresh = freshVotes(question, reading);
  const failed = fresh.filter((vote) => vote.outcome === 'failed');
  const degraded = fresh.filter((vote) => vote.outcome === 'degraded');
  // "With fresh votes from fewer than half of it: unknown."
  if (fresh.length === 0 || fresh.length < question.electorate.size / 2) return 'unknown';
  // "Else error when more than half of the votes failed."
  if (failed.length > fresh.length / 2) {
    // "error begins only where the failures of that majority share a moment; apart, the status stays."
    if (question.standing === 'error' || shareAMoment(failed, fresh.length, reading)) return 'error';
    return question.standing;
  }
  // "Else degraded when more than half failed or degraded; else active."
  return failed.length + degraded.length > fresh.length / 2 ? 'degraded' : 'active';
}

/** Fewer than half of the electorate have a fresh vote. */
export function isTooFew(question: Question, reading: Reading): boolean {
  const count = freshVotes(question, reading).length;
  return count === 0 || count < question.electorate.size / 2;
}

function freshVotes({ votes, electorate, age }: Question, { isEarlyAgeing }: Reading): Vote[] {
  const fresh: Vote[] = [];
  for (const vote of votes) {
    const until = isEarlyAgeing ? vote.surelyFreshUntil : vote.freshUntil;
    if (until > age && electorate.has(vote.region)) fresh.push(vote);
  }
  return fresh;
}

/** More than half of `count` votes failed at one moment. The beginning of some failure is such a moment, if there is one. */
function shareAMoment(failed: readonly Vote[], count: number, reading: Reading): boolean {
  const end = (vote: Vote) => (reading.isLongFailure ? vote.endedAt : vote.surelyEndedAt);
  const begin = (vote: Vote) => (reading.isLongFailure ? vote.downFrom : vote.surelyDownFrom);
  return failed.some((one) => {
    const moment = begin(one);
    const together = failed.filter((vote) => begin(vote) <= moment && moment <= end(vote));
    return together.length > count / 2;
  });
}

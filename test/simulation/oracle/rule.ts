import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';

/* The rule of the verdict. It is written from the sentences of the decisions, not from the code that it judges. */

/** What a region said last. */
export type Vote = {
  readonly region: Region;
  readonly outcome: 'passed' | 'degraded' | 'failed';
  readonly slot: number;
  /** Last instant at which the vote is fresh, on the clock by which votes age, ms. */
  readonly freshUntil: number;
  /** For a failure: since when the target may be down for the region, epoch ms on the slots' clock. */
  readonly downFrom: number;
  /** Newest slot up to this one about which the region reported another outcome than `failed`; 0: none. */
  readonly upSlot: number;
  /** End of the check, epoch ms on the slots' clock. */
  readonly endedAt: number;
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

/** "3 periods, or period + longest possible check + 10 s, the larger." */
export function freshMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, periodMs + longestCheckMs + 10_000);
}

/** "Reports older than max(3 periods, 2 periods + longest check) + 2 min are recorded only." */
export function votableMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, 2 * periodMs + longestCheckMs) + 120_000;
}

/**
 * "Not earlier than the newest recorded slot; if that lies more than 60 s ahead it is set aside": slots further ahead
 * of the slots' clock were given by a wrong clock, ms.
 */
export const SET_ASIDE_MS = 60_000;

/** From its slot to the end of its last attempt, ms. */
export function tookMs({ attempts }: Pick<CheckResult, 'attempts'>): number {
  const last = attempts.at(-1);
  return last === undefined ? 0 : last.started_ms + last.latency;
}

/** The status that the votes make. */
export function statusOf(question: Question): MonitorStatus {
  const fresh = freshVotes(question);
  const failed = fresh.filter((vote) => vote.outcome === 'failed');
  const degraded = fresh.filter((vote) => vote.outcome === 'degraded');
  // "With fresh votes from fewer than half of it: unknown."
  if (fresh.length === 0 || fresh.length < question.electorate.size / 2) return 'unknown';
  // "Else error when more than half of the votes failed."
  if (failed.length > fresh.length / 2) {
    // "error begins only where the failures of that majority share a moment; apart, the status stays."
    if (question.standing === 'error' || shareAMoment(failed, fresh.length)) return 'error';
    return question.standing;
  }
  // "Else degraded when more than half failed or degraded; else active."
  return failed.length + degraded.length > fresh.length / 2 ? 'degraded' : 'active';
}

/** Fewer than half of the electorate have a fresh vote. */
export function isTooFew(question: Question): boolean {
  const count = freshVotes(question).length;
  return count === 0 || count < question.electorate.size / 2;
}

/** The votes are an error whatever those say who have not voted: more than half of the electorate failed at one moment. */
export function isSureError(question: Question): boolean {
  const failed = freshVotes(question).filter((vote) => vote.outcome === 'failed');
  return failed.length > question.electorate.size / 2 && statusOf(question) === 'error';
}

/** Whether the vote has not aged at `age`: what is cast in the instant in which it expires takes its place without a gap. */
export function isFresh({ freshUntil }: Pick<Vote, 'freshUntil'>, age: number): boolean {
  return freshUntil >= age;
}

function freshVotes({ votes, electorate, age }: Question): Vote[] {
  return votes.filter((vote) => isFresh(vote, age) && electorate.has(vote.region));
}

/** More than half of `count` votes failed at one moment. The beginning of some failure is such a moment, if there is one. */
function shareAMoment(failed: readonly Vote[], count: number): boolean {
  return failed.some(({ downFrom: moment }) => {
    const together = failed.filter(({ downFrom, endedAt }) => downFrom <= moment && moment <= endedAt);
    return together.length > count / 2;
  });
}

import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';

/*
 * The rule of the verdict. It is written from the sentences
 * of the decisions, not from the code that it judges.
 */

/** The last vote of a region. */
export type Vote = {
  readonly region: Region;
  readonly outcome: 'passed' | 'degraded' | 'failed';
  readonly slot: number;
  /** Last instant at which the vote is fresh, on the clock by which votes age, ms. */
  readonly freshUntil: number;
  /** For a failure: since when the target counts as down in the region, epoch ms on the slots' clock. */
  readonly downFrom: number;
  /**
   * Newest slot, not after `slot`, about which the region reported
   * another outcome than `failed`; 0: there is no such slot.
   */
  readonly upSlot: number;
  /** End of the check, epoch ms on the slots' clock. */
  readonly endedAt: number;
};

/** The input of the rule. */
export type Question = {
  readonly votes: readonly Vote[];
  readonly electorate: ReadonlySet<Region>;
  /** The present on the clock by which votes age, ms. */
  readonly age: number;
  /** The status until now. */
  readonly standing: MonitorStatus;
  readonly quorum: Quorum;
};

/** The settings by which votes make a status. */
export type Rule = Pick<Question, 'quorum' | 'electorate'> & {
  /**
   * Whether several slots in a row make a status. The status
   * `degraded` may then follow from slots before the newest one.
   */
  readonly hasRows: boolean;
};

/** Time for which a vote is fresh, ms: "3 periods, or period + longest possible check + 10 s, the larger". */
export function freshMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, periodMs + longestCheckMs + 10_000);
}

/**
 * Largest age of a slot whose report may become a vote, ms: "reports older
 * than max(3 periods, 2 periods + longest check) + 2 min are recorded only".
 */
export function votableMs(periodMs: number, longestCheckMs: number): number {
  return Math.max(3 * periodMs, 2 * periodMs + longestCheckMs) + 120_000;
}

/**
 * Slots that lie further ahead of the slots' clock than this were given by a wrong clock, ms:
 * "not earlier than the newest recorded slot; if that lies more than 60 s ahead it is set aside".
 */
export const SET_ASIDE_MS = 60_000;

/** Time from the slot of a check to the end of its last attempt, ms. */
export function tookMs({ attempts }: Pick<CheckResult, 'attempts'>): number {
  const last = attempts.at(-1);
  return last === undefined ? 0 : last.started_ms + last.latency;
}

/** The status that the votes make. */
export function statusOf(question: Question): MonitorStatus {
  const fresh = freshVotes(question);
  const failed = fresh.filter((vote) => vote.outcome === 'failed');
  const degraded = fresh.filter((vote) => vote.outcome === 'degraded');
  if (isTooFew(question)) return 'unknown';
  // "It replaces more than half": "else error when more than half of the votes failed".
  if (isQuorum(failed.length, fresh.length, question)) {
    // "error begins only where the failures of that majority share a moment; apart, the status stays."
    if (question.standing === 'error' || shareAMoment(failed, fresh.length, question)) return 'error';
    return question.standing;
  }
  // "Else degraded when more than half failed or degraded; else active."
  return isQuorum(failed.length + degraded.length, fresh.length, question) ? 'degraded' : 'active';
}

/**
 * Whether the votes are too few: "fewer fresh votes than half of the electorate are unknown, except
 * that `any` and a number may say `error` as soon as that many fresh votes failed and share a moment".
 */
export function isTooFew(question: Question): boolean {
  const fresh = freshVotes(question);
  if (fresh.length > 0 && fresh.length >= question.electorate.size / 2) return false;
  const { quorum, electorate } = question;
  const isExcepted = quorum === 'any' || (typeof quorum === 'number' && quorum <= electorate.size);
  const failed = fresh.filter((vote) => vote.outcome === 'failed');
  return !(isExcepted && shareAMoment(failed, fresh.length, question));
}

/**
 * Whether the votes make an `error` whatever the other regions of the
 * electorate vote: enough of the whole electorate failed at one moment.
 */
export function isSureError(question: Question): boolean {
  const failed = freshVotes(question).filter((vote) => vote.outcome === 'failed');
  return isQuorum(failed.length, question.electorate.size, question) && statusOf(question) === 'error';
}

/**
 * Whether the vote has not aged at `age`. A vote is fresh up to and including its
 * last instant, so a vote that is cast in that instant replaces it without a gap.
 */
export function isFresh({ freshUntil }: Pick<Vote, 'freshUntil'>, age: number): boolean {
  return freshUntil >= age;
}

function freshVotes({ votes, electorate, age }: Question): Vote[] {
  return votes.filter((vote) => isFresh(vote, age) && electorate.has(vote.region));
}

/**
 * Whether this number of votes among `count` votes is a quorum: "`majority`,
 * `any`, `all`, or a number of regions (more than the electorate counts as all)".
 */
export function isQuorum(
  votes: number,
  count: number,
  { quorum, electorate }: Pick<Question, 'quorum' | 'electorate'>,
): boolean {
  if (quorum === 'majority') return votes > count / 2;
  if (quorum === 'any') return votes > 0;
  const isAll = quorum === 'all' || quorum > electorate.size;
  return votes > 0 && (isAll ? votes === count : votes >= quorum);
}

/**
 * Whether a quorum of the `count` votes failed at one moment. If
 * there is such a moment, the beginning of some failure is one.
 */
function shareAMoment(failed: readonly Vote[], count: number, question: Question): boolean {
  return failed.some(({ downFrom: moment }) => {
    const together = failed.filter(({ downFrom, endedAt }) => downFrom <= moment && moment <= endedAt);
    return isQuorum(together.length, count, question);
  });
}

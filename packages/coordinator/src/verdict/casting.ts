import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { checkEnd } from './check-duration.ts';
import { type CastingTime, castVotes } from './decision.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import type { MonitorState } from './state.ts';
import { BELIEVED_AHEAD_MS, freshForMs, type Vote, type VoteOutcome, votableForMs } from './status.ts';

/*
 * The functions of this file turn reports into votes of regions: they decide which reports are young enough,
 * and how long their votes count.
 */

/** Makes a vote from a region's result. Its `at` and `expiresAt` are those of a vote that is cast now. */
export function voteOf(
  frame: Frame,
  monitor: LiveMonitor,
  result: CheckResult,
  outcome: VoteOutcome,
  region: Region,
): Vote {
  const { slotNow } = frame.instants;
  return {
    region,
    outcome,
    slot: result.slot,
    at: slotNow,
    endedAt: checkEnd(result, slotNow),
    failedSince: outcome === 'failed' ? result.slot : null,
    upSlot: outcome === 'failed' ? 0 : result.slot,
    expiresAt: frame.now + freshForMs(monitor.periodMs, monitor.longestCheckMs),
    latency: result.latency ?? null,
    statusCode: result.status_code ?? null,
    errorMessage: result.error_message ?? null,
  };
}

/**
 * Casts the reports that are young enough as votes.
 *
 * @returns whether a region's vote changed
 */
export function castReports(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  reports: readonly Vote[],
): boolean {
  const before = state.votes;
  state.votes = castVotes(before, votable(frame, monitor, reports), castingTime(frame, monitor));
  return state.votes !== before;
}

function castingTime(frame: Frame, monitor: LiveMonitor): CastingTime {
  return { now: frame.now, oldestSlot: oldestVotable(frame, monitor) };
}

/** Oldest slot that may still become a vote, epoch ms. */
export function oldestVotable(frame: Frame, { periodMs, longestCheckMs }: LiveMonitor): number {
  return frame.instants.slotNow - votableForMs(periodMs, longestCheckMs);
}

/** Whether the slot is so far in the future that it must come from a clock that was ahead. */
export function isAhead(frame: Frame, slot: number): boolean {
  return slot > frame.instants.slotNow + BELIEVED_AHEAD_MS;
}

/**
 * The reports whose slots are young enough to become votes. Their `at` and `expiresAt`
 * become those of votes that are cast now.
 */
function votable(frame: Frame, monitor: LiveMonitor, reports: readonly Vote[]): readonly Vote[] {
  const { slotNow: at } = frame.instants;
  const oldest = oldestVotable(frame, monitor);
  const expiresAt = frame.now + freshForMs(monitor.periodMs, monitor.longestCheckMs);
  const votes: Vote[] = [];
  let isSame = true;
  for (let index = 0; index < reports.length; index += 1) {
    const vote = reports[index] as Vote;
    // A report that was taken in this evaluation has these instants already.
    const isOfNow = vote.at === at && vote.expiresAt === expiresAt;
    isSame &&= isOfNow && vote.slot >= oldest;
    if (vote.slot >= oldest) votes.push(isOfNow ? vote : { ...vote, at, expiresAt });
  }
  return isSame ? reports : votes;
}

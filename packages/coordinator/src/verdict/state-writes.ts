import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import type { Drafts, MonitorState } from './state.ts';
import { freshForMs, type Vote } from './status.ts';
import { flushIntervals } from './status-change.ts';
import type { StoredVote, WrittenVotes } from './writes.ts';

/**
 * Adds what has changed of states to the writes, so that a restart knows what was known (decision 0157). Votes and open
 * slots change with each slot, the rest seldom. It is called once, after everything was evaluated.
 *
 * @param monitorOf the monitor as it is declared
 */
export function addStateWrites(
  frame: Frame,
  drafts: Drafts,
  monitorOf: (id: number) => LiveMonitor | undefined,
): void {
  const { writes, unwritten, moved } = frame;
  for (const state of unwritten) {
    moved.add(state);
    // Removed meanwhile.
    if (drafts.find(state.id) !== state) continue;
    const { id, status, since, reason, version, floorSlot, entered, incident } = state;
    writes.states.push({ id, status, since, reason, version, floorSlot, entered, incident });
  }
  for (const state of moved) {
    if (drafts.find(state.id) !== state) continue;
    flushIntervals(frame, state);
    writes.votes.push(writtenVotes(frame, state, monitorOf(state.id)));
  }
  unwritten.clear();
  moved.clear();
}

function writtenVotes(
  { now, instants }: Frame,
  { id, decidedSlot, votes, open }: MonitorState,
  monitor: LiveMonitor | undefined,
): WrittenVotes {
  const { slotNow } = instants;
  const agedMs = ({ at, expiresAt }: Vote) =>
    monitor === undefined
      ? 0
      : Math.ceil(at + freshForMs(monitor.periodMs, monitor.longestCheckMs) - (slotNow + expiresAt - now));
  return {
    id,
    decidedSlot,
    writtenAt: slotNow,
    votes: votes.map((vote) => storedVote(vote, agedMs(vote))),
    open: open
      .filter(({ slot, reports }) => reports.length > 0 || slot <= decidedSlot)
      .map(({ slot, reports }) => ({ slot, reports: reports.map((report) => storedVote(report, 0)) })),
  };
}

function storedVote(vote: Vote, agedMs: number): StoredVote {
  return {
    region: vote.region,
    outcome: vote.outcome,
    slot: vote.slot,
    at: vote.at,
    endedAt: vote.endedAt,
    failedSince: vote.failedSince,
    upSlot: vote.upSlot,
    agedMs,
    latency: vote.latency,
    statusCode: vote.statusCode,
    errorMessage: vote.errorMessage,
  };
}

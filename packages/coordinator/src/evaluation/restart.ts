import type { LiveMonitor } from '../domain/monitor.ts';
import { BELIEVED_AHEAD_MS, freshForMs, type Vote, votableForMs } from '../domain/status.ts';
import type { Evaluation } from './evaluation.ts';
import { type MonitorState, newState } from './state.ts';

/** A vote or a result as it is stored: its expiry follows from when it became one. */
export type StoredVote = Omit<Vote, 'expiresAt'>;

/** A state as it is stored; what it lacks is empty after a start. */
export type StoredState = Pick<
  MonitorState,
  | 'id'
  | 'status'
  | 'since'
  | 'reason'
  | 'version'
  | 'decidedSlot'
  | 'floorSlot'
  | 'entered'
  | 'incident'
  | 'intervals'
  | 'links'
> & {
  readonly votes: readonly StoredVote[];
  /** Of the present version of what is probed, from `decidedSlot` on, by ascending slot. `at`: when it was recorded. */
  readonly results: readonly StoredVote[];
};

/** Takes up what is stored of a monitor. */
export function restarted(
  evaluation: Evaluation,
  stored: StoredState,
  monitor: LiveMonitor | undefined,
): void {
  const { results, votes, ...rest } = stored;
  const { instants } = evaluation.frame;
  const newestBelieved = instants.slotNow + BELIEVED_AHEAD_MS;
  const state = evaluation.drafts.put({ ...newState(stored.id, stored.since), ...rest, open: [] });
  if (state.decidedSlot > newestBelieved) state.decidedSlot = 0;
  if (state.floorSlot > newestBelieved) state.floorSlot = 0;
  if (state.since > newestBelieved) {
    state.since = instants.slotNow;
    state.intervals = [];
  }
  if (monitor === undefined) return;
  state.votes = votes
    .filter(({ slot }) => slot <= newestBelieved)
    .map((vote) => withExpiry(evaluation, vote, monitor));
  if (!monitor.active || (state.version !== null && state.version !== monitor.version)) return;
  const votableMs = votableForMs(monitor.periodMs, monitor.longestCheckMs);
  const voted = results
    .filter(({ slot }) => slot <= newestBelieved)
    .map((result) => dated(result, instants.slotNow))
    // Read late, after an outage of our own: they were recorded only.
    .filter(({ slot, at }) => at - slot <= votableMs);
  const newest = voted.at(-1)?.slot;
  for (const result of voted) {
    const vote = withExpiry(evaluation, result, monitor);
    // What came after the decision of the stored slot is a late vote.
    const isUndecided = result.slot === newest && result.slot > stored.decidedSlot;
    evaluation.replayed(state, monitor, vote, isUndecided);
  }
}

/** Recorded by the wall clock, which may have been set since: never before its slot and never after now. */
function dated(result: StoredVote, slotNow: number): StoredVote {
  return { ...result, at: Math.min(Math.max(result.at, result.slot), slotNow) };
}

/** Of a clock that was ahead a vote counts for no longer. */
function withExpiry(evaluation: Evaluation, vote: StoredVote, monitor: LiveMonitor): Vote {
  const { now, instants } = evaluation.frame;
  const freshMs = freshForMs(monitor.periodMs, monitor.longestCheckMs);
  return { ...vote, expiresAt: now - Math.max(0, instants.slotNow - vote.at) + freshMs };
}

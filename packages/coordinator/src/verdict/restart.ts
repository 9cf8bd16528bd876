import type { Evaluation } from './evaluation.ts';
import type { LiveMonitor } from './monitor.ts';
import { reopenSlot } from './slot-life.ts';
import { type MonitorState, newState } from './state.ts';
import { BELIEVED_AHEAD_MS, freshForMs, type Vote } from './status.ts';
import { hasNewRegion } from './verdicts.ts';
import type { StoredVote, WrittenState, WrittenVotes } from './writes.ts';

/** The stored state of a monitor, in the form in which a start reads it. */
export type StoredState = WrittenState &
  WrittenVotes &
  Pick<MonitorState, 'incidentSince' | 'intervals' | 'links'>;

/**
 * Restores a monitor's state from its stored rows, as it was when they were last written. Slots and instants from a
 * clock that was ahead are dropped or corrected.
 *
 * @param newestBelieved epoch ms; later slots and instants count as coming from a clock that was ahead.
 *   Default: one minute after the present
 */
export function restoreState(
  evaluation: Evaluation,
  stored: StoredState,
  monitor: LiveMonitor | undefined,
  newestBelieved = evaluation.frame.instants.slotNow + BELIEVED_AHEAD_MS,
): void {
  const { votes, verdicts, open, writtenAt } = stored;
  const { instants } = evaluation.frame;
  const state = evaluation.drafts.putDraft(stateOf(stored));
  // The row was written under a clock that was ahead. Without another write, its instants would make the next
  // start ignore newer data.
  if (writtenAt > instants.slotNow) evaluation.frame.unwritten.add(state);
  if (state.decidedSlot > newestBelieved) state.decidedSlot = 0;
  if (state.floorSlot > newestBelieved) state.floorSlot = 0;
  const isStatusAhead = state.since > newestBelieved;
  if (isStatusAhead) {
    state.since = instants.slotNow;
    state.intervals = [];
  }
  beginBy(state, state.since);
  if (verdicts.length > 0) {
    state.verdicts = verdicts
      .filter(({ slot }) => slot <= newestBelieved)
      .map((verdict) => ({ ...verdict, at: Math.min(verdict.at, instants.slotNow) }));
  }
  if (monitor === undefined) return;
  state.mayLackRegion = hasNewRegion(evaluation.frame, state, monitor);
  // If the clock was set back, votes keep the age that they had when they were written, so expired votes stay
  // expired.
  const agedUntil = Math.max(instants.slotNow, writtenAt);
  state.votes = votes
    .filter(({ slot }) => slot <= newestBelieved)
    .map((vote) => withExpiry(evaluation, vote, monitor, agedUntil));
  if (!monitor.active || (state.version !== null && state.version !== monitor.version)) return;
  for (const { slot, reports } of open) {
    if (slot > newestBelieved || slot <= state.floorSlot) continue;
    const ofMonitor = reports.filter(({ region }) => monitor.regions?.includes(region) !== false);
    const votesOf = ofMonitor.map((report) => withExpiry(evaluation, report, monitor, agedUntil));
    reopenSlot(evaluation.frame, state, monitor, slot, votesOf);
  }
  // The votes that gave the status its value are too far ahead to be believed, and the older votes could give
  // another status. So no votes are kept, and the monitor has none until its next slot.
  if (isStatusAhead && votes.some(({ slot }) => slot > newestBelieved)) state.votes = [];
}

/**
 * The state without its votes, verdicts and open slots. Each member is assigned by itself, because copies by
 * spreading take most of the time of a start with many monitors.
 */
function stateOf(stored: StoredState): MonitorState {
  const state = newState(stored.id, stored.since);
  state.status = stored.status;
  state.statusSlot = stored.statusSlot;
  state.reason = stored.reason;
  state.intervals = stored.intervals;
  state.version = stored.version;
  state.decidedSlot = stored.decidedSlot;
  state.floorSlot = stored.floorSlot;
  state.entered = stored.entered;
  state.incident = stored.incident;
  state.incidentSince = stored.incidentSince;
  state.links = stored.links;
  return state;
}

/**
 * Moves the beginning of an incident to `latest` if it is later: an incident begins
 * no later than the present status. The row of the incident keeps its beginning from
 * the clock that was ahead until the incident ends (`closeIncidents`).
 *
 * @param latest epoch ms
 */
function beginBy(state: MonitorState, latest: number): void {
  const isLater = (since: number | null | undefined) => (since ?? 0) > latest;
  if (isLater(state.incidentSince)) state.incidentSince = latest;
  if (!state.links.some(({ incidentSince }) => isLater(incidentSince))) return;
  state.links = state.links.map((link) =>
    isLater(link.incidentSince) ? { ...link, incidentSince: latest } : link,
  );
}

/**
 * Makes a vote from a stored vote. A vote from a clock that was ahead does not count
 * for longer than a vote that is cast now.
 *
 * @param agedUntil the present, or a later instant up to which the vote has aged,
 *   epoch ms on the slots' clock
 */
function withExpiry(
  { frame: { now, instants } }: Evaluation,
  stored: StoredVote,
  monitor: LiveMonitor,
  agedUntil: number,
): Vote {
  const freshMs = freshForMs(monitor.periodMs, monitor.longestCheckMs);
  const leftMs = stored.at + freshMs - stored.agedMs - agedUntil;
  // Each member is named, because a copy by spreading takes 1.5 times the memory, and the vote lives as long
  // as its monitor.
  return {
    region: stored.region,
    outcome: stored.outcome,
    slot: stored.slot,
    at: Math.min(stored.at, instants.slotNow),
    endedAt: stored.endedAt,
    failedSince: stored.failedSince,
    upSlot: stored.upSlot,
    expiresAt: now + Math.min(freshMs, leftMs),
    latency: stored.latency,
    statusCode: stored.statusCode,
    errorMessage: stored.errorMessage,
  };
}

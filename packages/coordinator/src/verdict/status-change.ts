import { announceStatus } from './announcing.ts';
import type { SlotVerdict } from './confirmation.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor, MonitorStatus } from './monitor.ts';
import type { RegionSet } from './region-set.ts';
import type { MonitorState, ReasonInterval } from './state.ts';
import { isCounted } from './status.ts';
import { DAY_MS } from './summary-range.ts';
import { incidentEffect, type TransitionReason } from './transition.ts';
import type { CountedVote } from './writes.ts';

/** A reason that comes back within this time continues its interval, ms. */
export const SAME_INTERVAL_MS = 3_600_000;

const NONE: readonly never[] = [];

export type NewStatus = {
  readonly status: MonitorStatus;
  readonly reason: TransitionReason;
  /** When the status changes, epoch ms. The change is never dated before the status that it ends. */
  readonly at: number;
  /**
   * The first verdict of several slots in a row. An incident that the change opens begins with
   * it, even if the status was `unknown` since. Null: one slot made the change, or no slot did.
   */
  readonly first: SlotVerdict | null;
  /** The slot that made the change, epoch ms; null: no slot did. */
  readonly slot: number | null;
  readonly electorate: RegionSet;
};

/**
 * Gives `state` a new status and reason, with everything that follows: history, incident, alerts.
 *
 * @returns whether the status or the reason changed, so that the whole state must be written
 */
export function changeStatus(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  next: NewStatus,
): boolean {
  if (state.status === next.status) return changeReason(frame, state, next);
  const { status, reason, slot, first } = next;
  const from = state.status;
  const at = Math.max(next.at, state.since);
  if (status !== 'unknown')
    state.statusSlot = Math.max(first?.slot ?? slot ?? state.decidedSlot, state.statusSlot + 1);
  const votes = countedVotes(frame, state, next.electorate);
  const incident = changeIncident(frame, state, status, at, first?.at ?? at);
  if (first !== null) repairDays(frame, state.id, at);
  flushIntervals(frame, state);
  state.status = status;
  state.reason = reason;
  state.intervals = NONE;
  state.since = at;
  frame.writes.transitions.push({ monitorId: state.id, from, to: status, reason, at, slot, votes, incident });
  frame.changes.push({ monitor, from, to: status, reason, at, slot, votes });
  const counted = state.votes.filter((vote) => isCounted(vote, next.electorate, frame.now));
  announceStatus(frame, state, monitor, counted);
  return true;
}

/** Adds to the writes the intervals that have grown since they were last written. */
export function flushIntervals(frame: Frame, state: MonitorState): void {
  if (!state.intervals.some((interval) => interval.isUnwritten)) return;
  state.intervals = state.intervals.map((interval) => {
    if (!interval.isUnwritten) return interval;
    frame.writes.longerIntervals.push({ ...interval, monitorId: state.id });
    return { ...interval, isUnwritten: false };
  });
}

/**
 * Changes the reason of an unchanged status. Reasons are stored as intervals, with the votes of their
 * beginning. A row for each slot would be too much: with such rows, one lossy region of 28 wrote 12 MB per
 * monitor and day. So the history shows how often a reason was found, and the results show for which slots.
 * Intervals of alternating reasons overlap in time.
 *
 * @returns whether the whole state must be written
 */
function changeReason(frame: Frame, state: MonitorState, next: NewStatus): boolean {
  const { status, reason, slot } = next;
  // While the status is `unknown`, its first reason stays.
  if (status === 'unknown') return false;
  const at = Math.max(next.at, state.since);
  const isSame = reason === state.reason;
  const known = state.intervals.find(
    (interval) => interval.reason === reason && (isSame || at - interval.until <= SAME_INTERVAL_MS),
  );
  state.reason = reason;
  if (known !== undefined) {
    const longer: ReasonInterval = { ...known, until: at, slots: known.slots + 1, isUnwritten: true };
    state.intervals = state.intervals.map((interval) => (interval === known ? longer : interval));
    return !isSame;
  }
  // The status began with this reason, so no interval is needed.
  if (isSame) return false;
  flushIntervals(frame, state);
  const votes = countedVotes(frame, state, next.electorate);
  const { id: monitorId, incident } = state;
  frame.writes.intervals.push({ monitorId, status, reason, at, slot, votes, incident });
  const begun: ReasonInterval = { reason, at, until: at, slots: 1, isUnwritten: false };
  state.intervals = [...state.intervals.filter((interval) => interval.reason !== reason), begun];
  return true;
}

/**
 * Marks for repair the days from that of `at` (epoch ms) on, as far as they are rolled
 * up: a change of status that is dated back to `at` changes their times.
 */
function repairDays({ rolledUpUntil, writes }: Frame, monitorId: number, at: number): void {
  for (let slot = at; slot < rolledUpUntil; slot += DAY_MS) writes.repairs.push({ monitorId, slot });
}

/**
 * Changes the incident with the status.
 *
 * @param at when the status changes, epoch ms
 * @param begin when an incident that the change opens begins, epoch ms
 * @returns the key of the incident that the change belongs to; null: none
 */
function changeIncident(
  frame: Frame,
  state: MonitorState,
  status: MonitorStatus,
  at: number,
  begin: number,
): string | null {
  const current = state.incident;
  switch (incidentEffect(current !== null, status)) {
    case 'keep':
      return current;
    case 'open': {
      const key = frame.ids.incidentKey(state.id, state.statusSlot);
      state.incident = key;
      state.incidentSince = begin;
      frame.writes.openedIncidents.push({ key, monitorId: state.id, at: begin });
      return key;
    }
    case 'close':
      if (current !== null) frame.writes.closedIncidents.push({ key: current, at, closure: null });
      state.incident = null;
      state.incidentSince = null;
      return current;
  }
}

function countedVotes(frame: Frame, state: MonitorState, electorate: RegionSet): CountedVote[] {
  return state.votes.map((vote) => ({ ...vote, counted: isCounted(vote, electorate, frame.now) }));
}

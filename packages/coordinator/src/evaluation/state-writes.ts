import type { LiveMonitor } from '../domain/monitor.ts';
import { freshForMs } from '../domain/status.ts';
import { isAhead } from './casting.ts';
import type { Frame } from './frame.ts';
import { isOver } from './slot-life.ts';
import type { Drafts, MonitorState } from './state.ts';
import { flushIntervals } from './status-change.ts';
import type { ReportedResult, WrittenState } from './writes.ts';

/*
 * Decides which states are written at the end of an evaluation, so that a restart knows what was known
 * (decision 0157).
 */

/**
 * Adds the states that must be written to the writes. It is called once, after everything was evaluated.
 *
 * @param monitorOf the monitor as it is declared
 */
export function addStateWrites(
  frame: Frame,
  drafts: Drafts,
  monitorOf: (id: number) => LiveMonitor | undefined,
): void {
  dateDecisions(frame, drafts);
  for (const state of frame.unwritten) {
    // Removed meanwhile.
    if (drafts.find(state.id) !== state) continue;
    flushIntervals(frame, state);
    state.unwrittenDecisions = 0;
    frame.writes.states.push(asWritten(frame, state, monitorOf(state.id)));
  }
  frame.unwritten.clear();
}

/**
 * Dates decisions in the result rows, from which a restart reads when their slot was decided. A decision
 * without any result of its slot is stored with the state.
 */
function dateDecisions(frame: Frame, drafts: Drafts): void {
  const { decided, instants, recordedOnly, writes } = frame;
  const { results } = writes;
  for (let index = 0; index < results.length; index += 1) {
    const row = results[index] as ReportedResult;
    const { monitor, slot, outcome } = row.result;
    if (recordedOnly.size > 0 && recordedOnly.has(row)) continue;
    const state = drafts.find(monitor);
    // Under a clock that was ahead, nothing waits for it.
    if (outcome === 'not_run' || state === null || !(isOver(state, slot) || isAhead(frame, slot))) continue;
    row.decidedAfterMs = instants.slotNow - slot;
    if (decided.get(state) === slot) decided.delete(state);
  }
  for (const state of decided.keys()) frame.unwritten.add(state);
}

function asWritten(
  { now, instants }: Frame,
  { open, journalledAt: _, journalPlace: __, ...state }: MonitorState,
  monitor: LiveMonitor | undefined,
): WrittenState {
  const freshMs = monitor === undefined ? null : freshForMs(monitor.periodMs, monitor.longestCheckMs);
  return {
    ...state,
    writtenAt: instants.slotNow,
    openSlots: open.map(({ slot }) => slot).filter((slot) => slot <= state.decidedSlot),
    votes: state.votes.map(({ expiresAt, ...vote }) => {
      const countsUntil = Math.floor(instants.slotNow + expiresAt - now);
      // The period may change before the process that knows it is killed: the vote counts by the new one then.
      const isUsual = freshMs !== null && countsUntil === vote.at + freshMs;
      return { ...vote, countsUntil: isUsual ? null : countsUntil };
    }),
  };
}

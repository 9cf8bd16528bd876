import type { Region } from '@svc/shared/regions.ts';
import { type OpenSlot, type SlotDecision, slotDecision } from '../domain/decision.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { ALL_REGIONS, bitOf, NO_REGIONS, type RegionSet } from '../domain/region-set.ts';
import type { Vote } from '../domain/status.ts';
import { cast, castingTime } from './casting.ts';
import type { Frame } from './frame.ts';
import { DECISIONS_PER_WRITE, type MonitorState } from './state.ts';
import { age, ageByJump, electorateFor, judge } from './verdicts.ts';

/* The life of a slot from its opening to its decision, and what comes after that. The picture of it is in `evaluation.ts`. */

const NONE: readonly never[] = [];

/** The slot was given to `regions`, or after a restart still waits for them. */
export function give(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  regions: RegionSet,
): void {
  const open = openSlot(frame, state, monitor, slot);
  open.given |= regions;
  open.isGivenKnown = true;
  settle(frame, state, monitor);
}

/** After a restart: slots of which nobody has said to whom they were given wait for nobody. */
export function giveNobody(frame: Frame, state: MonitorState, monitor: LiveMonitor): void {
  for (const open of state.open) {
    if (open.isGivenKnown) continue;
    open.given = open.answered;
    open.isGivenKnown = true;
  }
  settle(frame, state, monitor);
}

/** A region says how its check of the slot went: a report while the slot is open, else a vote at once. */
export function report(frame: Frame, state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
  // Votes that have aged may have made a slot certain: it is decided without this report then.
  if (state.votes.some(({ expiresAt }) => expiresAt <= frame.now)) settle(frame, state, monitor);
  if (isOver(state, vote.slot)) {
    reportLate(frame, state, monitor, vote);
    return;
  }
  const open = openSlot(frame, state, monitor, vote.slot);
  open.reports = withReport(open.reports, vote);
  markAnswered(frame, state, monitor, open, vote.region);
}

/** The region has answered the slot without a vote. */
export function answer(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  region: Region,
): void {
  if (isOver(state, slot)) return;
  markAnswered(frame, state, monitor, openSlot(frame, state, monitor, slot), region);
}

/** After a restart: a region has reported the slot, which is not decided. */
export function reopen(frame: Frame, state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
  const open = openSlot(frame, state, monitor, vote.slot);
  open.given |= bitOf(vote.region);
  open.answered |= bitOf(vote.region);
  open.reports = [...open.reports, vote];
}

/**
 * Decides the open slots that can be, each for itself: the votes of one may make another one certain.
 *
 * @returns whether there was a verdict on votes of one of them
 */
export function settle(frame: Frame, state: MonitorState, monitor: LiveMonitor): boolean {
  ageByJump(frame, state, monitor);
  let isJudged = false;
  for (let index = 0; index < state.open.length; ) {
    const open = state.open[index] as OpenSlot;
    if (decisionOf(frame, state, monitor, open) === null) {
      index += 1;
      continue;
    }
    state.open.splice(index, 1);
    isJudged = decide(frame, state, monitor, open) || isJudged;
    index = 0;
  }
  return isJudged;
}

/** Decided, or it never will be: nobody waits for anything about it. */
export function isOver(state: Readonly<MonitorState>, slot: number): boolean {
  if (slot <= state.floorSlot) return true;
  return slot <= state.decidedSlot && !state.open.some((open) => open.slot === slot);
}

function decisionOf(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  open: OpenSlot,
): SlotDecision | null {
  // Until dispatch has said to whom it was given, every region may have been, also for the first time.
  const joining = open.isGivenKnown ? open.given : ALL_REGIONS;
  return slotDecision(open, {
    votes: state.votes,
    electorate: electorateFor(frame, state, monitor, joining),
    status: state.status,
    ...castingTime(frame, monitor),
    monotonic: frame.isTimeUp(monitor.id) ? frame.instants.monotonic : Number.NEGATIVE_INFINITY,
  });
}

/**
 * What was reported becomes the regions' votes, and the votes a verdict.
 *
 * @returns whether there was one
 */
function decide(frame: Frame, state: MonitorState, monitor: LiveMonitor, open: OpenSlot): boolean {
  if (open.slot > state.decidedSlot) {
    state.decidedSlot = open.slot;
    state.decidedAnswered = open.answered;
  }
  // Who had no agent for 24 h enters anew, with the first slot that it is given then.
  const entered = (state.entered & frame.electable) | open.given;
  if (entered !== state.entered) frame.unwritten.add(state);
  state.entered = entered;
  if (open.reports.length > 0) frame.decided.push({ state, slot: open.slot });
  if (!cast(frame, state, monitor, open.reports)) {
    age(frame, state, monitor);
    return false;
  }
  judge(frame, state, monitor, open.slot);
  state.unwrittenDecisions += 1;
  if (state.unwrittenDecisions >= DECISIONS_PER_WRITE) frame.unwritten.add(state);
  return true;
}

/** A report about a slot that is over is its region's vote at once, and the open slots are looked at again. */
function reportLate(frame: Frame, state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
  if (vote.slot === state.decidedSlot) state.decidedAnswered |= bitOf(vote.region);
  if (!cast(frame, state, monitor, [vote])) return;
  // Results of the newest decided slot and later ones are read back at a start.
  if (vote.slot < state.decidedSlot) frame.unwritten.add(state);
  ageByJump(frame, state, monitor);
  // What open slots make of it comes first: nothing is announced that they take back at once.
  if (settle(frame, state, monitor)) return;
  judge(frame, state, monitor, vote.slot);
  settle(frame, state, monitor);
}

function markAnswered(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  open: OpenSlot,
  region: Region,
): void {
  open.given |= bitOf(region);
  open.answered |= bitOf(region);
  settle(frame, state, monitor);
}

/** The open slot, made when a result or an abstention is the first to speak of it. */
function openSlot(frame: Frame, state: MonitorState, { periodMs }: LiveMonitor, slot: number): OpenSlot {
  const { slotNow, monotonic } = frame.instants;
  let index = state.open.length;
  while (index > 0 && (state.open[index - 1]?.slot ?? 0) > slot) index -= 1;
  const before = state.open[index - 1];
  if (before?.slot === slot) return before;
  const open: OpenSlot = {
    slot,
    given: NO_REGIONS,
    answered: NO_REGIONS,
    isGivenKnown: false,
    // A slot is given out a little ahead of its instant, never by a whole period.
    deadline: monotonic + Math.min(2 * periodMs, slot + periodMs - slotNow),
    reports: NONE,
  };
  state.open.splice(index, 0, open);
  return open;
}

/** The region's report takes the place of its earlier one. */
function withReport(reports: readonly Vote[], vote: Vote): readonly Vote[] {
  const others = reports.some(({ region }) => region === vote.region)
    ? reports.filter(({ region }) => region !== vote.region)
    : reports;
  return others.concat(vote);
}

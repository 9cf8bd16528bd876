import type { Region } from '@svc/shared/regions.ts';
import { announceStatus } from './announcing.ts';
import { castReports, oldestVotable } from './casting.ts';
import { type OpenSlot, type SlotDecision, slotDecision } from './decision.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import {
  ALL_REGIONS,
  bitOf,
  difference,
  intersection,
  NO_REGIONS,
  type RegionSet,
  regionSet,
  sizeOf,
  union,
} from './region-set.ts';
import { type MonitorState, openSlotOf } from './state.ts';
import { freshForMs, isCounted, tally, type Vote, votesNeeded } from './status.ts';
import {
  ageByJump,
  ageVotes,
  countedVotes,
  electorateFor,
  followsAgeing,
  hasAgedVote,
  judgeVotes,
  standingStatus,
  verdictOn,
} from './verdicts.ts';

/*
 * The functions of this file follow a slot from its opening to its decision, and handle late reports.
 * `evaluation.ts` has the diagram.
 */

const NONE: readonly never[] = [];

/** Handles a slot that dispatch gave to `regions`. */
export function giveSlot(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  regions: RegionSet,
): void {
  const open = openSlot(frame, state, monitor, slot);
  // Dispatch learns of a changed declaration later than the evaluation does. A region that the monitor no
  // longer declares does not count as given.
  const known = monitor.regions === null ? regions : intersection(regions, regionSet(monitor.regions));
  open.given = union(open.given, known);
  open.isGivenKnown = true;
  decideSlots(frame, state, monitor);
  if (canEnter(frame, state, monitor)) judgeAnew(frame, state, monitor, slot);
}

/**
 * Ends the recovery after a restart. A slot whose regions dispatch has not named waits for no further
 * region: it is decided with the reports so far. If no region has reported an outcome, the slot is
 * removed, because dispatch may give it again.
 *
 * If a region of the monitor had not entered the electorate at the start, such a slot goes on waiting: it may have
 * been given to that region, and the others must not judge without it. If its period is over first, it is not
 * decided ({@link decideSlots}). Meanwhile the monitor gets a first slot (`Recorder.floorSlot`), whose decision
 * ends the wait.
 */
export function closeGiving(frame: Frame, state: MonitorState, monitor: LiveMonitor): void {
  state.open = state.open.filter(({ isGivenKnown, reports }) => isGivenKnown || reports.length > 0);
  if (!state.mayLackRegion) for (const open of state.open) open.isGivenKnown = true;
  decideSlots(frame, state, monitor);
}

/**
 * Handles a region's outcome of a slot. While the slot is open, the outcome is kept as a report. Afterwards it
 * is a late report; see {@link reportLate}.
 */
export function takeReport(frame: Frame, state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
  // Expired votes may have made a slot certain. Such a slot is decided without this report.
  if (hasAgedVote(state, frame.now)) decideSlots(frame, state, monitor);
  if (isOver(state, vote.slot)) {
    reportLate(frame, state, monitor, vote);
    return;
  }
  const open = openSlot(frame, state, monitor, vote.slot);
  open.reports = withReport(open.reports, vote);
  frame.moved.add(state);
  markAnswered(open, vote.region);
  decideSlots(frame, state, monitor);
}

/**
 * Handles a region that will not report an outcome of the slot. If the region itself reports `not_run`, it
 * was given the slot. If dispatch excuses the region, the region may not have been given the slot: after a
 * restart, dispatch also excuses regions that became live since the slot. Such regions do not enter the
 * electorate.
 */
export function excuseRegion(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  region: Region,
  saidBy: 'region' | 'dispatch',
): void {
  // Expired votes may have made a slot certain, as in `takeReport`.
  if (hasAgedVote(state, frame.now)) decideSlots(frame, state, monitor);
  if (isOver(state, slot)) return;
  const open = openSlot(frame, state, monitor, slot);
  if (saidBy === 'region') markAnswered(open, region);
  else open.answered = union(open.answered, bitOf(region));
  decideSlots(frame, state, monitor);
}

/**
 * Handles a slot that overload leaves out in these regions. Because leaving out a slot lengthens the time
 * between checks, their votes that have not expired count for one more period, but no longer than votes that are
 * cast now. The new expiry is stored, so that it also applies after a start.
 */
export function leaveOutRegions(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  regions: RegionSet,
): void {
  const { periodMs, longestCheckMs } = monitor;
  const latest = frame.now + freshForMs(periodMs, longestCheckMs);
  state.votes = state.votes.map((vote) => {
    if (!isCounted(vote, regions, frame.now)) return vote;
    return { ...vote, expiresAt: Math.max(vote.expiresAt, Math.min(vote.expiresAt + periodMs, latest)) };
  });
  frame.moved.add(state);
  const open = openSlotOf(state, slot);
  if (open === undefined) return;
  open.answered = union(open.answered, regions);
  decideSlots(frame, state, monitor);
}

/** Restores, after a restart, an undecided slot with these reports. */
export function reopenSlot(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number,
  reports: readonly Vote[],
): void {
  const open = openSlot(frame, state, monitor, slot);
  open.reports = reports;
  for (const { region } of reports) markAnswered(open, region);
}

/**
 * Decides all open slots that can be decided. The votes of one slot may make another slot certain.
 *
 * @returns whether one of the decisions made a verdict
 */
export function decideSlots(frame: Frame, state: MonitorState, monitor: LiveMonitor): boolean {
  ageByJump(frame, state, monitor);
  let isJudged = false;
  let isDecided = false;
  for (let index = 0; index < state.open.length; ) {
    const open = state.open[index] as OpenSlot;
    const decision = decisionOf(frame, state, monitor, open);
    const waits = decision !== 'all-answered' && mayLackRegion(frame, state, monitor, open);
    if (decision === null || (waits && decision === 'outcome-certain')) {
      index += 1;
      continue;
    }
    state.open.splice(index, 1);
    if (waits) {
      frame.moved.add(state);
      continue;
    }
    isJudged = decideSlot(frame, state, monitor, open) || isJudged;
    if (open.isGivenKnown) endWait(state);
    isDecided = true;
    index = 0;
  }
  // Regions that entered with one slot may have reported another, so the votes may be too few only after both.
  if (isDecided) ageVotes(frame, state, monitor, frame.instants.slotNow);
  return isJudged;
}

/** Whether the slot is decided already, or will never be decided. */
export function isOver(state: Readonly<MonitorState>, slot: number): boolean {
  if (slot <= state.floorSlot) return true;
  return slot <= state.decidedSlot && openSlotOf(state, slot) === undefined;
}

/**
 * Whether the others would judge without a region to which the slot was perhaps given. If so many
 * have failed that no region can prevent an `error`, they may.
 */
function mayLackRegion(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  open: OpenSlot,
): boolean {
  return state.mayLackRegion && !open.isGivenKnown && !isSureError(frame, state, monitor, open);
}

/** Handles the decision of a slot from after the start: slots from before it wait for no further region. */
function endWait(state: MonitorState): void {
  if (!state.mayLackRegion) return;
  state.mayLackRegion = false;
  for (const open of state.open) if (open.slot < state.decidedSlot) open.isGivenKnown = true;
}

/** Whether so many regions report a failure of the slot that the others cannot prevent an `error`. */
function isSureError(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  { reports }: OpenSlot,
): boolean {
  const electorate = electorateFor(frame, state, monitor, ALL_REGIONS);
  const size = sizeOf(electorate);
  return (
    tally(reports, electorate, Number.NEGATIVE_INFINITY).failed >= votesNeeded(monitor.quorum, size, size)
  );
}

function decisionOf(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  open: OpenSlot,
): SlotDecision | null {
  // Until dispatch has named the regions of the slot, any region may have been given the slot, perhaps as its
  // first slot of the monitor.
  const joining = open.isGivenKnown ? givenUntil(state, open) : ALL_REGIONS;
  return slotDecision(open, {
    votes: state.votes,
    electorate: electorateFor(frame, state, monitor, joining),
    status: standingStatus(frame, state, monitor),
    quorum: monitor.quorum,
    now: frame.now,
    oldestSlot: oldestVotable(frame, monitor),
    monotonic: frame.isResumed ? frame.instants.monotonic : Number.NEGATIVE_INFINITY,
  });
}

/**
 * Turns the slot's reports into the regions' votes, and the votes into a verdict.
 *
 * @returns whether there was a verdict
 */
function decideSlot(frame: Frame, state: MonitorState, monitor: LiveMonitor, open: OpenSlot): boolean {
  const isFirst = !state.isDecided;
  state.isDecided = true;
  const isJudged = judgeSlot(frame, state, monitor, open);
  // After a start, announcements about the monitor are held until its first slot is decided
  // or all reports from before the start have been read (`Frame.isHeld`).
  if (isFirst) announceStatus(frame, state, monitor, countedVotes(frame, state, monitor));
  return isJudged;
}

/** @returns whether there was a verdict */
function judgeSlot(frame: Frame, state: MonitorState, monitor: LiveMonitor, open: OpenSlot): boolean {
  frame.moved.add(state);
  if (open.slot > state.decidedSlot) {
    state.decidedSlot = open.slot;
    state.decidedAnswered = open.answered;
  }
  const given = givenUntil(state, open);
  const isCast = castNews(frame, state, monitor, open.reports, given);
  // If expired votes left too few votes for the electorate before this slot,
  // `unknown` is dated at their expiry.
  if (!isCast) ageVotes(frame, state, monitor);
  const joining = difference(given, state.entered);
  enterRegions(frame, state, given);
  // A region that enters the electorate with this slot may have a vote already, from a late report about an
  // earlier slot. This vote counts from now on, so a verdict is needed.
  if (!isCast && tally(state.votes, joining, frame.now).total === 0) return false;
  judgeVotes(frame, state, monitor, open.slot);
  return true;
}

/**
 * Casts reports. Votes that expired while the check was running have not made the status `unknown` so far,
 * because fast reports may replace them. If the new votes would merely keep the old status, or if the new
 * votes are too few, the expired votes take effect first: the status becomes `unknown`.
 *
 * @param joining regions that enter the electorate with the slot of the reports
 * @returns whether a region's vote changed
 */
function castNews(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  reports: readonly Vote[],
  joining: RegionSet = NO_REGIONS,
): boolean {
  const before = state.votes;
  const isAged = standingStatus(frame, state, monitor) !== state.status;
  if (!castReports(frame, state, monitor, reports)) return false;
  const slot = reports.at(-1)?.slot ?? null;
  if (!isAged || !followsAgeing(frame, state, monitor, joining, slot)) return true;
  const after = state.votes;
  state.votes = before;
  ageVotes(frame, state, monitor);
  state.votes = after;
  return true;
}

/**
 * Whether regions may enter the electorate before their first slot is decided. They
 * may if the present votes make an `error` certain: so many votes failed at one moment
 * that they reach the quorum even if all regions of the larger electorate vote.
 */
function canEnter(frame: Frame, state: Readonly<MonitorState>, monitor: LiveMonitor): boolean {
  if (state.votes.length === 0 || state.status === 'error') return false;
  const given = givenNow(state);
  if (difference(given, state.entered) === NO_REGIONS) return false;
  const electorate = electorateFor(frame, state, monitor, given);
  const size = sizeOf(electorate);
  const { failed } = tally(state.votes, electorate, frame.now);
  if (failed < votesNeeded(monitor.quorum, size, size)) return false;
  return verdictOn(frame, state, monitor, electorate).status === 'error';
}

/**
 * The regions that were given the open slots. The set is empty if it is not known
 * for one of these slots which regions were given it.
 */
function givenNow({ open }: Readonly<MonitorState>): RegionSet {
  let given = NO_REGIONS;
  for (let index = 0; index < open.length; index += 1) {
    const each = open[index] as OpenSlot;
    if (!each.isGivenKnown) return NO_REGIONS;
    given = union(given, each.given);
  }
  return given;
}

/**
 * The regions that were given the slot or an earlier slot that is not decided yet. They enter with the slot: a region
 * that is not given it may have reported the earlier one, and the others must not judge without it.
 */
function givenUntil(state: Readonly<MonitorState>, { slot, given: own }: OpenSlot): RegionSet {
  let given = own;
  for (let index = 0; index < state.open.length; index += 1) {
    const each = state.open[index] as OpenSlot;
    if (each.slot < slot) given = union(given, each.given);
  }
  return given;
}

/**
 * Lets these regions enter the electorate. A region that had no agent for 24 h leaves the electorate,
 * and enters it again with its next slot.
 */
function enterRegions(frame: Frame, state: MonitorState, given: RegionSet): void {
  const entered = union(intersection(state.entered, frame.electable), given);
  if (entered !== state.entered) frame.unwritten.add(state);
  state.entered = entered;
}

/**
 * Handles a report about a slot that is over. The report becomes its region's vote at once if the slot is not too
 * old, and the region has no vote about the same slot or a newer one. A report about an older slot than that of the
 * vote may still change when the vote's run of failures began. If a vote changed, open slots are decided where they
 * can be, and the status is judged again.
 */
function reportLate(frame: Frame, state: MonitorState, monitor: LiveMonitor, vote: Vote): void {
  if (vote.slot === state.decidedSlot)
    state.decidedAnswered = union(state.decidedAnswered, bitOf(vote.region));
  if (!castNews(frame, state, monitor, [vote])) return;
  frame.moved.add(state);
  judgeAnew(frame, state, monitor, vote.slot);
}

/**
 * Judges votes that have changed between two decisions. `slot` is the slot of the
 * changed votes; null: they do not belong to a single slot. Open slots are decided
 * first. Otherwise a status could be announced that these slots reverse at once.
 */
export function judgeAnew(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number | null,
): void {
  if (canEnter(frame, state, monitor)) enterRegions(frame, state, givenNow(state));
  if (decideSlots(frame, state, monitor)) return;
  judgeVotes(frame, state, monitor, slot);
  decideSlots(frame, state, monitor);
}

/** Notes that the region was given the slot, and has answered. */
function markAnswered(open: OpenSlot, region: Region): void {
  open.given = union(open.given, bitOf(region));
  open.answered = union(open.answered, bitOf(region));
}

/** Returns the open slot. Opens the slot if no event has mentioned it yet. */
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
    // A slot is dispatched a little ahead of its instant, never by a whole period,
    // so its deadline is less than two periods away.
    deadline: monotonic + Math.min(2 * periodMs, slot + periodMs - slotNow),
    reports: NONE,
  };
  state.open.splice(index, 0, open);
  return open;
}

/** Returns the reports with `vote` in place of its region's earlier report, if there is one. */
function withReport(reports: readonly Vote[], vote: Vote): readonly Vote[] {
  const others: Vote[] = [];
  for (let index = 0; index < reports.length; index += 1) {
    const report = reports[index] as Vote;
    if (report.region !== vote.region) others.push(report);
  }
  others.push(vote);
  return others;
}

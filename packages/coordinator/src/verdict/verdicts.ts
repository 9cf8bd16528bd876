import { confirmedStatus, isConfirmedAtOnce, keptVerdicts, withVerdict } from './confirmation.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor, MonitorStatus } from './monitor.ts';
import { ALL_REGIONS, NO_REGIONS, type RegionSet, regionSet, union } from './region-set.ts';
import type { MonitorState } from './state.ts';
import {
  areVotesTooFew,
  electorateOf,
  isCounted,
  isFresh,
  tooFewVotesAt,
  type Verdict,
  type Vote,
  verdict,
} from './status.ts';
import { changeStatus, type NewStatus } from './status-change.ts';
import type { TransitionReason } from './transition.ts';

const NONE: readonly never[] = [];

/*
 * The functions of this file turn a monitor's votes into its status: which votes count, what they mean
 * together, and how their expiry changes the status.
 */

/**
 * The regions whose votes count. `joining` are regions of an undecided slot. They count as if this slot were
 * decided.
 */
export function electorateFor(
  frame: Pick<Frame, 'electable'>,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  joining: RegionSet = NO_REGIONS,
): RegionSet {
  const declared = monitor.regions === null ? null : regionSet(monitor.regions);
  return electorateOf(declared, frame.electable, union(state.entered, joining));
}

/** Whether a region of the monitor had an agent within 24 h, and has not entered the electorate. */
export function hasNewRegion(
  frame: Pick<Frame, 'electable'>,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
): boolean {
  return electorateFor(frame, state, monitor, ALL_REGIONS) !== electorateFor(frame, state, monitor);
}

/** The votes that count now. */
export function countedVotes(
  frame: Pick<Frame, 'electable' | 'now'>,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
): Vote[] {
  const electorate = electorateFor(frame, state, monitor);
  return state.votes.filter((vote) => isCounted(vote, electorate, frame.now));
}

/** The verdict on the present votes, if the monitor's status is `standing`. */
export function verdictOn(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  electorate: RegionSet,
  standing = state.status,
): Verdict {
  return verdict(state.votes, electorate, standing, frame.now, monitor.quorum);
}

/** The next status of a monitor after a verdict, and the verdicts that are kept. */
type Judgement = Pick<NewStatus, 'status' | 'reason' | 'first'> & Pick<MonitorState, 'verdicts'>;

/**
 * Judges the present votes, if the monitor's status until now is `standing`.
 *
 * @param slot see {@link judgeVotes}
 */
function judgement(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  electorate: RegionSet,
  slot: number | null,
  standing = state.status,
): Judgement {
  const { status, reason } = verdictOn(frame, state, monitor, electorate, standing);
  const before = state.verdicts;
  if (isConfirmedAtOnce(monitor)) return { status, reason, first: null, verdicts: NONE };
  if (status === 'unknown') return { status, reason, first: null, verdicts: before };
  // Regions may enter the electorate with a slot that is still open (`canEnter`). Such
  // a slot has no verdict yet, so this verdict is about the newest slot that has one.
  const isDecided = slot !== null && slot <= state.decidedSlot;
  const about = isDecided ? slot : (before.at(-1)?.slot ?? state.decidedSlot);
  const all = withVerdict(before, { slot: about, status, at: frame.instants.slotNow });
  const confirmed = confirmedStatus(all, standing, state.incident !== null, monitor);
  const verdicts = keptVerdicts(all, monitor);
  if (confirmed === null) return { status: standing, reason: 'unconfirmed', first: null, verdicts };
  return { ...confirmed, reason: confirmed.status === status ? reason : 'unconfirmed', verdicts };
}

/**
 * Judges the present votes. `slot` is the slot whose decision or report causes the judgement; null: no slot
 * causes it.
 */
export function judgeVotes(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  slot: number | null,
): void {
  const electorate = electorateFor(frame, state, monitor);
  const { verdicts, ...next } = judgement(frame, state, monitor, electorate, slot);
  if (state.verdicts !== verdicts) frame.moved.add(state);
  state.verdicts = verdicts;
  const at = next.first?.at ?? frame.instants.slotNow;
  if (changeStatus(frame, state, monitor, { ...next, at, slot, electorate })) {
    frame.unwritten.add(state);
  }
}

/**
 * Makes the status `unknown` if too few regions have an unexpired vote. The change is dated at the expiry
 * after which too few were left.
 *
 * @param notBefore when the electorate grew, epoch ms on the slots' clock: until then there were enough votes
 */
export function ageVotes(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  notBefore = Number.NEGATIVE_INFINITY,
): void {
  if (state.status === 'unknown') return;
  const { now, instants } = frame;
  if (!areTooFew(frame, state, monitor, now)) return;
  const electorate = electorateFor(frame, state, monitor);
  const expiredAt = tooFewVotesAt(state.votes, electorate, monitor.quorum);
  const at = Math.max(notBefore, Math.floor(instants.slotNow - Math.max(0, now - (expiredAt ?? now))));
  const reason = unknownReason(electorate, expiredAt);
  changeStatus(frame, state, monitor, { status: 'unknown', reason, at, first: null, slot: null, electorate });
  frame.unwritten.add(state);
}

/**
 * Makes the status `unknown` if a jump of the slots' clock left too few votes. Decisions and changes of the
 * declaration call it, because they may come before the regular check for expired votes.
 */
export function ageByJump(frame: Frame, state: MonitorState, monitor: LiveMonitor): void {
  if (!hasAgedVote(state, frame.jumpedAt)) return;
  if (areTooFew(frame, state, monitor, frame.jumpedAt)) ageVotes(frame, state, monitor);
}

/**
 * The status that the unexpired votes support. It is `unknown` if too few are left, even if the delayed check
 * for expired votes (`next-instant.ts`) has not changed the status of the state yet.
 */
export function standingStatus(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
): MonitorStatus {
  const isAged =
    state.status !== 'unknown' &&
    hasAgedVote(state, frame.now) &&
    areTooFew(frame, state, monitor, frame.now);
  return isAged ? 'unknown' : state.status;
}

/**
 * Whether the expiry of earlier votes must make the monitor `unknown` before the present votes are judged.
 * This is so in two cases. Either the verdict depends on the standing status: with `unknown` as the standing
 * status, the verdict would differ. Or the verdict is `unknown` too, and so this status began at the expiry.
 */
export function followsAgeing(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  joining: RegionSet,
  slot: number | null,
): boolean {
  const electorate = electorateFor(frame, state, monitor, joining);
  const { status } = judgement(frame, state, monitor, electorate, slot);
  return (
    status === 'unknown' || status !== judgement(frame, state, monitor, electorate, slot, 'unknown').status
  );
}

/** Whether a vote has expired at `then` (ms, on the clock of its `expiresAt`). */
export function hasAgedVote({ votes }: Readonly<MonitorState>, then: number): boolean {
  // Loops by index, which is faster, because this runs for every report.
  for (let index = 0; index < votes.length; index += 1) {
    if (!isFresh(votes[index] as Vote, then)) return true;
  }
  return false;
}

/** Whether too few votes count at `then` (`areVotesTooFew`). */
export function areTooFew(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  then: number,
): boolean {
  return areVotesTooFew(state.votes, electorateFor(frame, state, monitor), then, monitor.quorum);
}

/**
 * The reason of the status `unknown`.
 *
 * @param expiredAt the expiry after which too few votes were left; null: there
 *   were never enough votes for the electorate, because the electorate has grown
 */
function unknownReason(electorate: RegionSet, expiredAt: number | null): TransitionReason {
  if (electorate === NO_REGIONS) return 'no-electorate';
  return expiredAt === null ? 'too-few-votes' : 'votes-expired';
}

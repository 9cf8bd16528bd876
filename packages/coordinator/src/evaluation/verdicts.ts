import type { LiveMonitor } from '../domain/monitor.ts';
import { NO_REGIONS, type RegionSet, regionSet, sizeOf } from '../domain/region-set.ts';
import {
  electorateOf,
  isCounted,
  quorumEndsAt,
  statusOf,
  tally,
  type Vote,
  verdict,
} from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';
import type { Frame } from './frame.ts';
import type { MonitorState } from './state.ts';
import { changeStatus } from './status-change.ts';

/*
 * Makes a monitor's votes its status: which votes count, what they mean together, and how ageing changes it.
 */

/**
 * The regions whose votes count. `joining`: regions of an undecided slot, which count as if it were decided.
 */
export function electorateFor(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  joining: RegionSet = NO_REGIONS,
): RegionSet {
  const declared = monitor.regions === null ? null : regionSet(monitor.regions);
  return electorateOf(declared, frame.electable, state.entered | joining);
}

/** The votes that count now. */
export function countedVotes(frame: Frame, state: Readonly<MonitorState>, monitor: LiveMonitor): Vote[] {
  const electorate = electorateFor(frame, state, monitor);
  return state.votes.filter((vote) => isCounted(vote, electorate, frame.now));
}

/** Judges the present votes. `slot` is the slot that caused it; null: none did. */
export function judge(frame: Frame, state: MonitorState, monitor: LiveMonitor, slot: number | null): void {
  const electorate = electorateFor(frame, state, monitor);
  const { status, reason } = verdict(state.votes, electorate, state.status, frame.now);
  const at = frame.instants.slotNow;
  if (changeStatus(frame, state, monitor, { status, reason, at, slot, electorate })) {
    frame.unwritten.add(state);
  }
}

/**
 * Ages votes. Ageing alone changes a status only to `unknown`, dated at the expiry that left too few votes.
 *
 * @param notBefore when the electorate grew, epoch ms on the slots' clock: the votes were enough until then
 */
export function age(
  frame: Frame,
  state: MonitorState,
  monitor: LiveMonitor,
  notBefore = Number.NEGATIVE_INFINITY,
): void {
  if (state.status === 'unknown') return;
  const { now, instants } = frame;
  const electorate = electorateFor(frame, state, monitor);
  const { failed, degraded, total } = tally(state.votes, electorate, now);
  if (statusOf(failed, degraded, total, sizeOf(electorate)) !== 'unknown') return;
  const expiredAt = quorumEndsAt(state.votes, electorate);
  const at = Math.max(notBefore, Math.floor(instants.slotNow - Math.max(0, now - (expiredAt ?? now))));
  const reason = unknownReason(electorate, expiredAt);
  changeStatus(frame, state, monitor, { status: 'unknown', reason, at, slot: null, electorate });
  frame.unwritten.add(state);
}

/**
 * Makes the status `unknown` when votes expired while the slots' clock jumped, even when the next decision
 * comes before anybody has looked at their ages.
 */
export function ageByJump(frame: Frame, state: MonitorState, monitor: LiveMonitor): void {
  const { votes } = state;
  for (let index = 0; index < votes.length; index += 1) {
    if ((votes[index] as Vote).expiresAt > frame.jumpedAt) continue;
    age(frame, state, monitor);
    return;
  }
}

/** @param expiredAt null: the votes were never enough for the electorate, which has grown */
function unknownReason(electorate: RegionSet, expiredAt: number | null): TransitionReason {
  if (electorate === NO_REGIONS) return 'no-electorate';
  return expiredAt === null ? 'too-few-votes' : 'votes-expired';
}

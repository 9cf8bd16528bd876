import type { Closure } from '@svc/shared/channels/alert.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { hasRegion, regionSet } from '../domain/region-set.ts';
import { freshForMs } from '../domain/status.ts';
import type { TransitionReason } from '../domain/transition.ts';
import type { AlertedMonitor } from './alert.ts';
import { announce, closeIncident, closeOn } from './announcing.ts';
import type { Evaluation } from './evaluation.ts';
import { keepFindable } from './kept-results.ts';
import { settle } from './slot-life.ts';
import type { Link, MonitorState } from './state.ts';
import { changeStatus } from './status-change.ts';
import { ageByJump, countedVotes, electorateFor, judge } from './verdicts.ts';

/*
 * What a change of the declaration does to statuses, votes, incidents and announcements. Every effect is
 * found by comparing the state with what is declared now, so applying a change twice does no harm: after a
 * crash the log of changes is applied again.
 */

const NONE: readonly never[] = [];

/** What is left of a removed monitor: its rows are gone when the effects are applied. */
export type RemovedMonitor = Omit<AlertedMonitor, 'id'> & {
  readonly incident: string | null;
  readonly links: readonly Link[];
};

/** The monitor was created or changed. */
export function monitorDeclared(evaluation: Evaluation, after: LiveMonitor): void {
  const before = evaluation.monitor(after.id);
  evaluation.declare(after.id, after);
  const state = evaluation.state(after.id);
  if (before !== undefined) ageByJump(evaluation.frame, state, before);
  if (before?.periodMs !== after.periodMs) keepUndecidedFindable(evaluation, state, after);
  // A region that is added again enters anew: until it is given a slot, nobody waits for its vote.
  if (after.regions !== null) state.entered &= regionSet(after.regions);
  if (!after.active) {
    end(evaluation, state, after, 'deactivated', 'monitor-deactivated');
  } else if (isProbedOtherwise(state, before, after)) {
    end(evaluation, state, after, 'probe-changed', null);
  } else {
    if (before !== undefined) shiftExpiries(state, before, after, evaluation.frame.now);
    dropRegions(evaluation, state, after);
    // Under a shorter period votes may have aged by now.
    evaluation.due(after.id);
  }
  state.version = after.version;
  evaluation.frame.unwritten.add(state);
}

/** The monitor is gone, and its rows with it. */
export function monitorRemoved(evaluation: Evaluation, id: number, removed: RemovedMonitor | null): void {
  const monitor = evaluation.monitor(id);
  const state = evaluation.drafts.find(id);
  if (monitor !== undefined && state !== null) {
    const counted = countedVotes(evaluation.frame, state, monitor);
    closeIncident(evaluation.frame, state, monitor, counted, 'monitor-deleted');
  } else if (removed !== null) {
    const { links, incident } = removed;
    closeIncident(evaluation.frame, { id, links, incident }, { id, ...removed }, NONE, 'monitor-deleted');
  }
  evaluation.declare(id, null);
  evaluation.drafts.delete(id);
}

/** A channel was linked: while something is announced it is told what the others were. */
export function channelLinked(
  evaluation: Evaluation,
  monitorId: number,
  channel: Pick<Link, 'notificationId' | 'providerType'>,
): void {
  const monitor = evaluation.monitor(monitorId);
  if (monitor === undefined) return;
  const state = evaluation.state(monitorId);
  if (!state.links.some(({ notificationId }) => notificationId === channel.notificationId)) {
    state.links = [...state.links, { ...channel, announced: 'active', incident: null }];
  }
  announce(evaluation.frame, state, monitor, countedVotes(evaluation.frame, state, monitor));
}

/** A channel was unlinked: on incident kinds the incident is resolved there. `link`: as it was stored. */
export function channelUnlinked(
  evaluation: Evaluation,
  monitorId: number,
  notificationId: number,
  link: Link | null,
): void {
  const monitor = evaluation.monitor(monitorId);
  const state = evaluation.drafts.find(monitorId);
  if (monitor === undefined || state === null) return;
  const known = state.links.find((each) => each.notificationId === notificationId) ?? link;
  state.links = state.links.filter((each) => each.notificationId !== notificationId);
  if (known === null) return;
  const counted = countedVotes(evaluation.frame, state, monitor);
  closeOn(evaluation.frame, monitorId, known, monitor, counted, 'channel-unlinked');
}

/** The channel is gone with all that is queued for it: nothing is sent. */
export function channelRemoved(evaluation: Evaluation, notificationId: number): void {
  for (const state of evaluation.linkedTo(notificationId)) {
    state.links = state.links.filter((link) => link.notificationId !== notificationId);
  }
}

/** A state of an earlier version of svc does not say which version its votes are about: they are about the one declared before. */
function isProbedOtherwise(
  state: MonitorState,
  before: LiveMonitor | undefined,
  after: LiveMonitor,
): boolean {
  const version = state.version ?? before?.version ?? after.version;
  return version !== after.version;
}

/** What is known is about something that is not checked any more; a result on its way will not vote either. */
function end(
  evaluation: Evaluation,
  state: MonitorState,
  monitor: LiveMonitor,
  reason: TransitionReason,
  closure: Closure | null,
): void {
  const { frame } = evaluation;
  if (closure !== null) {
    closeIncident(frame, state, monitor, countedVotes(evaluation.frame, state, monitor), closure);
  }
  // Before the votes go: the history shows what they were.
  changeStatus(frame, state, monitor, {
    status: 'unknown',
    reason,
    at: frame.instants.slotNow,
    slot: null,
    electorate: electorateFor(frame, state, monitor),
  });
  state.floorSlot = Math.max(state.floorSlot, state.decidedSlot, state.open.at(-1)?.slot ?? 0);
  state.decidedSlot = state.floorSlot;
  state.votes = NONE;
  state.open = [];
}

/** Before the monitor's period changes: what a restart needs lies on the grid that was. */
function keepUndecidedFindable(evaluation: Evaluation, state: MonitorState, after: LiveMonitor): void {
  if (state.decidedSlot > 0) keepFindable(evaluation.frame, after, state.decidedSlot);
  for (const { slot } of state.open) keepFindable(evaluation.frame, after, slot);
}

/** Votes that count do so for as long as the period that is declared now says; what has aged stays so. */
function shiftExpiries(state: MonitorState, before: LiveMonitor, after: LiveMonitor, now: number): void {
  const shift =
    freshForMs(after.periodMs, after.longestCheckMs) - freshForMs(before.periodMs, before.longestCheckMs);
  if (shift === 0) return;
  state.votes = state.votes.map((vote) =>
    vote.expiresAt <= now ? vote : { ...vote, expiresAt: vote.expiresAt + shift },
  );
}

/** Votes of regions that are not the monitor's any more go at once. */
function dropRegions(evaluation: Evaluation, state: MonitorState, monitor: LiveMonitor): void {
  if (monitor.regions === null) return;
  const declared = regionSet(monitor.regions);
  // One that is declared again later enters with its first slot then.
  state.entered &= declared;
  for (const open of state.open) {
    open.given &= declared;
    open.answered &= declared;
    open.reports = open.reports.filter(({ region }) => hasRegion(declared, region));
  }
  const votes = state.votes.filter(({ region }) => hasRegion(declared, region));
  if (votes.length < state.votes.length) {
    state.votes = votes;
    judge(evaluation.frame, state, monitor, null);
  }
  settle(evaluation.frame, state, monitor);
}

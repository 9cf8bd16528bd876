import type { Closure } from '@svc/shared/channels/alert.ts';
import { type AlertedMonitor, closeIncident, closeOn, writeUnlinked } from './announcing.ts';
import type { Evaluation } from './evaluation.ts';
import { keepFindable } from './kept-results.ts';
import type { LiveWindow } from './maintenance-window.ts';
import type { LiveMonitor } from './monitor.ts';
import { hasRegion, intersection, regionSet } from './region-set.ts';
import { decideSlots, judgeAnew } from './slot-life.ts';
import type { Link, MonitorState } from './state.ts';
import { freshForMs, isFresh } from './status.ts';
import { changeStatus } from './status-change.ts';
import type { TransitionReason } from './transition.ts';
import { ageByJump, countedVotes, electorateFor } from './verdicts.ts';

/*
 * The effects of a change of the declaration on statuses, votes, incidents and announcements. A change can be applied
 * twice, because after a crash the log of changes is applied again: the effects follow from comparing the state with
 * the present declaration, and an alert that is queued again has the same id.
 */

const NONE: readonly never[] = [];

/** One change of the declaration, with the data that its effects need. */
export type DeclaredChange =
  /**
   * `monitor` is the present declaration. Null: the monitor was removed. Then `removed` contains what its
   * alerts still need; null: this cannot be read any more.
   */
  | {
      readonly kind: 'monitor';
      readonly monitorId: number;
      readonly monitor: LiveMonitor | null;
      readonly removed: RemovedMonitor | null;
    }
  | {
      readonly kind: 'linked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly providerType: string;
      /** Version of the link. */
      readonly version: number;
    }
  /** `link` is the link as it was stored before its removal. Null: it cannot be read any more. */
  | {
      readonly kind: 'unlinked';
      readonly monitorId: number;
      readonly notificationId: number;
      readonly link: Link | null;
    }
  /**
   * `version`: the new version of the channel's links, because the channel got another kind. Null: the kind
   * is unchanged.
   */
  | {
      readonly kind: 'channel';
      readonly notificationId: number;
      readonly providerType: string;
      readonly version: number | null;
    }
  | { readonly kind: 'channel-removed'; readonly notificationId: number }
  /** `window` is the present window or mute. Null: it was removed, or is over. */
  | { readonly kind: 'maintenance'; readonly windowId: number; readonly window: LiveWindow | null };

export function applyChange(evaluation: Evaluation, change: DeclaredChange): void {
  switch (change.kind) {
    case 'monitor':
      if (change.monitor === null) monitorRemoved(evaluation, change.monitorId, change.removed);
      else monitorDeclared(evaluation, change.monitor);
      return;
    case 'linked':
      channelLinked(evaluation, change.monitorId, change);
      return;
    case 'unlinked':
      channelUnlinked(evaluation, change.monitorId, change.notificationId, change.link);
      return;
    case 'channel':
      channelChanged(evaluation, change);
      return;
    case 'channel-removed':
      channelRemoved(evaluation, change.notificationId);
      return;
    case 'maintenance':
      evaluation.windowChanged(change.windowId, change.window);
      return;
    default:
      change satisfies never;
  }
}

/** What the effects need of a removed monitor, because its rows are gone when the effects are applied. */
export type RemovedMonitor = Omit<AlertedMonitor, 'id'> & {
  readonly incident: string | null;
  readonly links: readonly Link[];
};

/** Handles a monitor that was created or changed. */
export function monitorDeclared(evaluation: Evaluation, after: LiveMonitor): void {
  const before = evaluation.monitor(after.id);
  evaluation.setDeclared(after.id, after);
  const state = evaluation.state(after.id);
  if (before !== undefined) ageByJump(evaluation.frame, state, before);
  if (before?.periodMs !== after.periodMs) keepUndecidedFindable(evaluation, state, after);
  // A region that is declared again later enters the electorate only after it was given a slot.
  if (after.regions !== null) state.entered = intersection(state.entered, regionSet(after.regions));
  if (!after.active) {
    endVotes(evaluation, state, after, 'deactivated', 'monitor-deactivated');
  } else if (isProbedOtherwise(state, before, after)) {
    endVotes(evaluation, state, after, 'probe-changed', null);
  } else {
    if (before !== undefined) shiftExpiries(state, before, after, evaluation.frame.now);
    dropRegions(evaluation, state, after);
    // If the period became shorter, votes may already have expired.
    evaluation.judgeByTime({ state, monitor: after });
  }
  state.version = after.version;
  evaluation.frame.unwritten.add(state);
}

/** Handles a monitor that was removed together with its rows. */
function monitorRemoved(evaluation: Evaluation, id: number, removed: RemovedMonitor | null): void {
  const monitor = evaluation.monitor(id);
  const state = evaluation.drafts.findDraft(id);
  if (monitor !== undefined && state !== null) {
    const counted = countedVotes(evaluation.frame, state, monitor);
    closeIncident(evaluation.frame, state, monitor, counted, 'monitor-deleted');
  } else if (removed !== null) {
    const { links, incident } = removed;
    closeIncident(
      evaluation.frame,
      { id, links, incident, incidentSince: null },
      { id, ...removed },
      NONE,
      'monitor-deleted',
    );
  }
  evaluation.setDeclared(id, null);
  evaluation.drafts.deleteDraft(id);
  evaluation.writes.removed.push(id);
}

/** Handles a new link: the status is announced to the channel, unless announcements are held. */
function channelLinked(
  evaluation: Evaluation,
  monitorId: number,
  { notificationId, providerType, version }: Pick<Link, 'notificationId' | 'providerType' | 'version'>,
): void {
  const monitor = evaluation.monitor(monitorId);
  if (monitor === undefined) return;
  const state = evaluation.state(monitorId);
  if (!state.links.some((link) => link.notificationId === notificationId)) {
    const untold = { notificationId, providerType, version, announced: 'active', incident: null } as const;
    state.links = [...state.links, untold];
  }
  evaluation.announceUntold(monitorId);
}

/**
 * Handles a removed link. If the channel's kind keeps incidents open, and one was
 * announced to the channel, the channel gets an alert that this incident is over.
 *
 * @param link the link as it was stored before its removal; null: it cannot be read any more
 */
function channelUnlinked(
  evaluation: Evaluation,
  monitorId: number,
  notificationId: number,
  link: Link | null,
): void {
  const monitor = evaluation.monitor(monitorId);
  const state = evaluation.drafts.findDraft(monitorId);
  if (monitor === undefined || state === null) return;
  const present = state.links.find((each) => each.notificationId === notificationId) ?? null;
  // After a start, the links in memory come from their rows. If the channel was linked again meanwhile,
  // the present link is the new link, over which nothing was announced, so `link` is used. If something
  // was announced since the start, only the present link contains the announcement.
  const known = present?.isTold === true || present?.incident != null ? present : (link ?? present);
  state.links = state.links.filter((each) => each.notificationId !== notificationId);
  if (known === null) return;
  writeUnlinked(evaluation.frame, monitorId, known);
  const counted = countedVotes(evaluation.frame, state, monitor);
  // A link over which nothing was announced since the start does not contain the beginning of its incident.
  const isOfState = known.incident === state.incident;
  const incidentSince = known.incidentSince ?? (isOfState ? state.incidentSince : null);
  const ended = { ...known, version: link?.version ?? known.version, incidentSince };
  closeOn(evaluation.frame, monitorId, ended, monitor, counted, 'channel-unlinked');
}

/**
 * Handles a changed channel. If its kind changed, it has another receiver, to which nothing was announced
 * yet. So the present status of each linked monitor is announced to the channel, unless announcements are held.
 */
function channelChanged(
  evaluation: Evaluation,
  { notificationId, providerType, version }: DeclaredChange & { readonly kind: 'channel' },
): void {
  if (version === null) return;
  const isFormer = (link: Link) => link.notificationId === notificationId && link.version < version;
  for (const state of evaluation.linkedTo(notificationId)) {
    const monitor = evaluation.monitor(state.id);
    if (monitor === undefined || !state.links.some(isFormer)) continue;
    state.links = state.links.map((link) =>
      isFormer(link) ? { notificationId, providerType, version, announced: 'active', incident: null } : link,
    );
    evaluation.announceUntold(state.id);
  }
}

/** Handles a removed channel. Its queue is removed too, so no alert is sent. */
function channelRemoved(evaluation: Evaluation, notificationId: number): void {
  for (const state of evaluation.linkedTo(notificationId)) {
    state.links = state.links.filter((link) => link.notificationId !== notificationId);
  }
}

/**
 * Whether the probed attributes changed. If no change of the declaration was evaluated for the state yet, the
 * state has no version: the version of the earlier declaration is compared instead.
 */
function isProbedOtherwise(
  state: MonitorState,
  before: LiveMonitor | undefined,
  after: LiveMonitor,
): boolean {
  const version = state.version ?? before?.version ?? after.version;
  return version !== after.version;
}

/**
 * Ends votes and open slots, because their target or settings are not checked any more. Results that are
 * still on their way will not become votes.
 */
function endVotes(
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
  // The status changes before the votes are removed, so that the history shows them.
  changeStatus(frame, state, monitor, {
    status: 'unknown',
    reason,
    at: frame.instants.slotNow,
    first: null,
    slot: null,
    electorate: electorateFor(frame, state, monitor),
  });
  // Until the resumption after a start is over, it is not known which slots agents still work on. So all
  // slots before the present count as given before the change.
  const unknownUntil = frame.isResumed ? 0 : frame.instants.slotNow - 1;
  state.floorSlot = Math.max(state.floorSlot, state.decidedSlot, state.open.at(-1)?.slot ?? 0, unknownUntil);
  state.decidedSlot = state.floorSlot;
  state.verdicts = NONE;
  state.votes = NONE;
  state.open = [];
}

/**
 * Stores the newest decided slot and the undecided slots as slots off the grid when the
 * monitor's period changes, if they do not lie on the grid of the new period. A start that
 * looks for the newest slot would not find them otherwise.
 */
function keepUndecidedFindable(evaluation: Evaluation, state: MonitorState, after: LiveMonitor): void {
  if (state.decidedSlot > 0) keepFindable(evaluation.frame, after, state.decidedSlot);
  for (const { slot } of state.open) keepFindable(evaluation.frame, after, slot);
}

/** Adjusts the expiry of votes to the present period. Expired votes stay expired. */
function shiftExpiries(state: MonitorState, before: LiveMonitor, after: LiveMonitor, now: number): void {
  const shift =
    freshForMs(after.periodMs, after.longestCheckMs) - freshForMs(before.periodMs, before.longestCheckMs);
  if (shift === 0) return;
  state.votes = state.votes.map((vote) =>
    isFresh(vote, now) ? { ...vote, expiresAt: vote.expiresAt + shift } : vote,
  );
}

/** Removes the votes of regions that the monitor no longer declares. */
function dropRegions(evaluation: Evaluation, state: MonitorState, monitor: LiveMonitor): void {
  if (monitor.regions === null) return;
  const declared = regionSet(monitor.regions);
  // A region that is declared again later enters the electorate with its first slot.
  state.entered = intersection(state.entered, declared);
  for (const open of state.open) {
    open.given = intersection(open.given, declared);
    // `answered` keeps the region, because it says which regions have a recorded result of the slot.
    open.reports = open.reports.filter(({ region }) => hasRegion(declared, region));
  }
  const votes = state.votes.filter(({ region }) => hasRegion(declared, region));
  if (votes.length === state.votes.length) {
    decideSlots(evaluation.frame, state, monitor);
    return;
  }
  state.votes = votes;
  judgeAnew(evaluation.frame, state, monitor, null);
}

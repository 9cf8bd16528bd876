import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { announceStatus } from './announcing.ts';
import { isAhead, voteOf } from './casting.ts';
import type { Frame, Instants, StatusChange } from './frame.ts';
import { isOutcomeUnknown, KeptResults, type Report } from './kept-results.ts';
import { DraftWindows, type LiveWindow, type Windows } from './maintenance-window.ts';
import type { LiveMonitor } from './monitor.ts';
import { looksLaterMs } from './next-instant.ts';
import type { RegionSet } from './region-set.ts';
import {
  closeGiving,
  decideSlots,
  excuseRegion,
  giveSlot,
  isOver,
  leaveOutRegions,
  takeReport,
} from './slot-life.ts';
import { Drafts, type MonitorState, type States } from './state.ts';
import { freshForMs, type Vote, type VoteOutcome } from './status.ts';
import { flushIntervals } from './status-change.ts';
import { ageVotes, areTooFew, countedVotes } from './verdicts.ts';
import { noWrites, type StoredVote, type Writes, type WrittenVotes } from './writes.ts';

/*
 * The evaluation takes the reports of regions, the events of dispatch, changes of the
 * declaration and the passing of time together with the states of monitors. It returns
 * changed states and a list of writes. It is pure: it has no clock, no store and no
 * randomness. The caller stores the writes in one transaction, and replaces the states
 * only after this transaction is committed.
 *
 * The life of a slot, for one monitor:
 *
 *     opened ──▶ open ── every given region has answered ────────────────┐
 *      (dispatch) │  ├── the missing regions cannot change the status ───┼──▶ decided: its reports become votes,
 *                 │  └── one period has passed ────────────────────────┘    the votes give a verdict, and this
 *                 │                                                         gives a status, an incident, alerts
 *                 ├── a region reports an outcome: kept for the decision
 *                 └── a region reports `not_run`, abstains, is skipped or left out: answered, without a vote
 *
 *     decided ◀── a late report: replaces its region's vote if the report is newer and young enough, or corrects
 *                 the beginning of that vote's run of failures; open slots and the status then follow the votes
 *
 * Each slot is decided by itself. Several slots of a monitor may be open at once: a slot opens shortly before its
 * instant, and the slot before it may still wait for reports then. Votes expire, and when too few are left, the
 * status becomes `unknown`. A deactivation or a change of the probed attributes ends votes and open slots: results
 * of slots up to `floorSlot` are recorded and never become votes.
 */

/** The data that an evaluation begins with. */
export type EvaluationInput = {
  readonly states: Pick<States, 'get' | 'values'>;
  readonly monitors: { get(id: number): LiveMonitor | undefined };
  /** Maintenance windows and mutes, which hold announcements. */
  readonly windows: Windows;
  readonly instants: Instants;
  /** Whether a backlog holds announcements about the monitor now. */
  readonly isHeld: (monitorId: number) => boolean;
} & Pick<Frame, 'electable' | 'rolledUpUntil' | 'ids' | 'closesIncidents' | 'isResumed'>;

/** A declared monitor and its state. */
type Evaluated = { readonly state: MonitorState; readonly monitor: LiveMonitor };

export class Evaluation {
  readonly frame: Frame;
  readonly drafts: Drafts;
  readonly #input: EvaluationInput;
  /** Monitors whose declaration this evaluation changes. Null: the monitor is removed. */
  readonly #declared = new Map<number, LiveMonitor | null>();
  readonly #results: KeptResults;
  readonly #windows: DraftWindows;

  constructor(input: EvaluationInput) {
    const { instants, electable, isHeld, closesIncidents, rolledUpUntil, isResumed } = input;
    this.#input = input;
    this.#windows = new DraftWindows(input.windows);
    this.drafts = new Drafts(input.states);
    this.frame = {
      instants,
      now: instants.monotonic + instants.jumpedMs,
      jumpedAt: (instants.jumpedAt ?? Number.NEGATIVE_INFINITY) + instants.jumpedMs,
      isResumed,
      rolledUpUntil,
      electable,
      isHeld: ({ id, isDecided }) =>
        (!this.frame.isResumed && !isDecided) || isHeld(id) || this.#windows.cover(id, instants.slotNow),
      ids: input.ids,
      closesIncidents,
      writes: noWrites(instants.wall),
      changes: [],
      unwritten: new Set(),
      moved: new Set(),
    };
    this.#results = new KeptResults(this.frame);
  }

  get writes(): Writes {
    return this.frame.writes;
  }

  get changes(): readonly StatusChange[] {
    return this.frame.changes;
  }

  /** The maintenance windows that this evaluation changed, by their ids; null: the window was removed. */
  get changedWindows(): ReadonlyMap<number, LiveWindow | null> {
    return this.#windows.changes;
  }

  /** The monitor's declaration, with the changes that this evaluation made so far. */
  monitor(id: number): LiveMonitor | undefined {
    const declared = this.#declared.get(id);
    return declared === undefined ? this.#input.monitors.get(id) : (declared ?? undefined);
  }

  /** Sets the declaration of a monitor for the rest of this evaluation. Null: the monitor is removed. */
  setDeclared(id: number, monitor: LiveMonitor | null): void {
    this.#declared.set(id, monitor);
  }

  state(monitorId: number): MonitorState {
    return this.drafts.openDraft(monitorId, this.frame.instants.slotNow);
  }

  /** The states of the monitors that the channel is linked to. */
  linkedTo(notificationId: number): MonitorState[] {
    const isLinked = ({ links }: Readonly<MonitorState>) =>
      links.some((link) => link.notificationId === notificationId);
    for (const state of this.#input.states.values()) if (isLinked(state)) this.drafts.findDraft(state.id);
    const linked: MonitorState[] = [];
    this.drafts.forEach((state) => {
      if (state !== null && isLinked(state)) linked.push(state);
    });
    return linked;
  }

  /** Handles a slot that was given to the regions `given`. */
  opened({ id, version }: LiveMonitor, slot: number, given: RegionSet): void {
    const evaluated = this.#evaluated(id, version);
    if (evaluated === null) this.#closeWhileInactive(id, slot);
    if (evaluated === null || isOver(evaluated.state, slot)) return;
    giveSlot(this.frame, evaluated.state, evaluated.monitor, slot, given);
  }

  /**
   * Closes a slot that dispatch gave before it learned that the monitor is deactivated. The reports of this slot may
   * come after the monitor is activated again. They must not become votes, because the deactivation ended them.
   */
  #closeWhileInactive(id: number, slot: number): void {
    const known = this.#known(id);
    if (known === null || known.monitor.active || slot <= known.state.floorSlot) return;
    known.state.floorSlot = slot;
    known.state.decidedSlot = slot;
    this.frame.unwritten.add(known.state);
  }

  /**
   * Handles the end of the recovery after a start, for one monitor: its
   * slots that this leadership did not open no longer wait for any region.
   */
  resumedAll(monitorId: number): void {
    const known = this.#known(monitorId);
    if (known === null) return;
    closeGiving(this.frame, known.state, known.monitor);
  }

  /** Notes that all reports from before the start have been read. */
  resumptionOver(): void {
    this.frame.isResumed = true;
  }

  /**
   * Handles a region's report.
   *
   * @returns whether the result is recorded; false: an earlier result of the region and slot stays
   */
  reported(monitor: LiveMonitor, news: Report): boolean {
    const { result, region } = news;
    const { slot, outcome } = result;
    const isKept = this.#results.keepResult(monitor, news);
    if (!isKept && outcome !== 'not_run') return false;
    const state = this.#evaluated(monitor.id, result.version, region)?.state;
    if (state === undefined) {
      if (isKept) this.#passOver(monitor, result);
      return isKept;
    }
    if (slot <= state.floorSlot) return isKept;
    // The slot was opened before the clock was set back. A vote about this slot would hide the region's votes
    // about the present slots.
    if (isAhead(this.frame, slot)) return isKept;
    if (outcome !== 'not_run') {
      this.#vote(state, monitor, news, outcome);
    } else if (!news.isOfferedAgain) {
      // A repeated `not_run` is not recorded, but it is an answer of the region.
      excuseRegion(this.frame, state, monitor, slot, region, 'region');
    }
    return isKept;
  }

  /**
   * Closes a slot if its result is about an earlier version of the monitor. A process may have
   * published this slot ahead, and ended before the evaluation learned of the slot. Without the
   * closing, a start would count it as a slot of the present declaration (decision 0062).
   *
   * A slot in the future is not closed: it may have been opened before the clock was set back,
   * and closing it would also close the earlier slots of the present declaration.
   */
  #passOver({ id, active, version }: LiveMonitor, { slot, version: ofResult }: CheckResult): void {
    const state = this.drafts.findDraft(id);
    if (state === null || !active || ofResult >= version || slot > this.frame.instants.slotNow) return;
    // Late reports about a decided slot of the present declaration still become votes.
    if (state.decidedSlot > state.floorSlot) return;
    if (slot <= state.floorSlot || state.open.some((open) => open.slot <= slot)) return;
    state.floorSlot = slot;
    state.decidedSlot = slot;
    this.frame.unwritten.add(state);
  }

  #vote(state: MonitorState, monitor: LiveMonitor, { result, region }: Report, outcome: VoteOutcome): void {
    takeReport(this.frame, state, monitor, voteOf(this.frame, monitor, result, outcome, region));
  }

  /**
   * Handles a region that will not report the slot. This is recorded as `not_run`, unless a row of the region
   * and slot exists already.
   */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    const { id, version } = monitor;
    this.#results.keepAbstention(this.monitor(id) ?? monitor, version, slot, region, reason);
    this.skipped(monitor, slot, region);
  }

  /**
   * Handles a region's recorded report that it did not run the check, for a replay. The slot does not wait for the
   * region any more. Nothing is recorded.
   */
  answered({ id, version }: LiveMonitor, slot: number, region: Region): void {
    const evaluated = this.#evaluated(id, version, region);
    if (evaluated !== null)
      excuseRegion(this.frame, evaluated.state, evaluated.monitor, slot, region, 'region');
  }

  /** Handles a region that gets no job of the slot, because its check of an earlier slot still runs. */
  skipped({ id, version }: LiveMonitor, slot: number, region: Region): void {
    const evaluated = this.#evaluated(id, version, region);
    if (evaluated !== null)
      excuseRegion(this.frame, evaluated.state, evaluated.monitor, slot, region, 'dispatch');
  }

  /** Handles regions that get no job of the slot because of overload. The slot need not be open. */
  leftOut({ id, version }: LiveMonitor, slot: number, regions: RegionSet): void {
    const evaluated = this.#evaluated(id, version);
    if (evaluated !== null) leaveOutRegions(this.frame, evaluated.state, evaluated.monitor, slot, regions);
  }

  /** Handles the passing of time: deadlines of slots, ages of votes. */
  timePassed(monitorId: number): void {
    const known = this.#known(monitorId);
    if (known === null) return;
    this.judgeByTime(known);
  }

  /** Does the work of {@link timePassed} as a part of another event. */
  judgeByTime({ state, monitor }: Evaluated): void {
    const { frame } = this;
    decideSlots(frame, state, monitor);
    // Waits while fresh reports may still replace the expired votes.
    if (areTooFew(frame, state, monitor, frame.now - looksLaterMs(state))) ageVotes(frame, state, monitor);
  }

  /**
   * Handles a maintenance window or a mute that was created or changed, or that is over or removed (null). If
   * nothing holds the announcements about one of its monitors any more, the monitor's status is announced at once.
   */
  windowChanged(id: number, window: LiveWindow | null): void {
    const before = this.#windows.get(id);
    this.#windows.set(id, window);
    const [held, holds] = [new Set(before?.monitorIds), new Set(window?.monitorIds)];
    for (const monitorId of new Set([...held, ...holds])) this.announceUntold(monitorId);
  }

  /**
   * Announces a monitor's status to channels to which it was not announced yet: for a new link, for a channel that
   * got another kind, after a start, or at the end of a hold. Expired votes take effect first, even if fresh reports
   * may still replace them (`looksLaterMs`), so that no outdated status is announced.
   */
  announceUntold(monitorId: number): void {
    const known = this.#known(monitorId);
    if (known === null || this.frame.isHeld(known.state)) return;
    const { state, monitor } = known;
    decideSlots(this.frame, state, monitor);
    ageVotes(this.frame, state, monitor);
    announceStatus(this.frame, state, monitor, countedVotes(this.frame, state, monitor));
  }

  /** Whether the store must be queried to know if the region's result of the slot is recorded. */
  needsPrior({ monitor: monitorId, version, slot, outcome }: CheckResult, region: Region): boolean {
    const monitor = this.monitor(monitorId);
    const state = this.#input.states.get(monitorId);
    if (monitor === undefined || state === undefined || outcome === 'not_run') return true;
    if (!isEvaluated(monitor, version, region)) return true;
    return isOutcomeUnknown(this.frame, state, monitor, slot, region);
  }

  /** Adds the changed states to the writes. This must be the last call of an evaluation. */
  finish(): void {
    addStateWrites(this.frame, this.drafts, (id) => this.monitor(id));
  }

  /** The declared monitor with its state; null: the monitor is not declared, or has no state. */
  #known(monitorId: number): Evaluated | null {
    const monitor = this.monitor(monitorId);
    const state = this.drafts.findDraft(monitorId);
    return monitor === undefined || state === null ? null : { state, monitor };
  }

  /**
   * The present declaration of the monitor, with its state; null: an event about this version, and of this region if
   * given, cannot change a vote. An event of dispatch contains the declaration of its job, which may have an earlier
   * period or earlier regions.
   */
  #evaluated(monitorId: number, version: number, region?: Region): Evaluated | null {
    const monitor = this.monitor(monitorId);
    if (monitor === undefined || !isEvaluated(monitor, version, region)) return null;
    return { state: this.state(monitorId), monitor };
  }
}

/** Whether a report about this version, and from this region if given, may become a vote. */
function isEvaluated(
  { active, version: declared, regions }: LiveMonitor,
  version: number,
  region?: Region,
): boolean {
  if (!active || declared !== version) return false;
  return region === undefined || regions === null || regions.includes(region);
}

/**
 * Adds the changes of states to the writes, so that a start can restore them
 * (decision 0157). Votes and open slots change with each slot, and the rest of a
 * state seldom does. Call this function once, after all events were evaluated.
 *
 * @param monitorOf returns the present declaration of the monitor
 */
function addStateWrites(
  frame: Frame,
  drafts: Drafts,
  monitorOf: (id: number) => LiveMonitor | undefined,
): void {
  const { writes, unwritten, moved } = frame;
  for (const state of unwritten) {
    moved.add(state);
    // A later event has removed the monitor.
    if (drafts.findDraft(state.id) !== state) continue;
    const { id, status, statusSlot, since, reason, version, floorSlot, entered, incident } = state;
    writes.states.push({ id, status, statusSlot, since, reason, version, floorSlot, entered, incident });
  }
  for (const state of moved) {
    if (drafts.findDraft(state.id) !== state) continue;
    flushIntervals(frame, state);
    writes.votes.push(writtenVotes(frame, state, monitorOf(state.id)));
  }
  unwritten.clear();
  moved.clear();
}

function writtenVotes(
  { now, instants }: Frame,
  { id, decidedSlot, votes, verdicts, open }: MonitorState,
  monitor: LiveMonitor | undefined,
): WrittenVotes {
  const { slotNow } = instants;
  const agedMs = ({ at, expiresAt }: Vote) =>
    monitor === undefined
      ? 0
      : Math.ceil(at + freshForMs(monitor.periodMs, monitor.longestCheckMs) - (slotNow + expiresAt - now));
  return {
    id,
    decidedSlot,
    writtenAt: slotNow,
    votes: votes.map((vote) => storedVote(vote, agedMs(vote))),
    verdicts,
    open: open
      .filter(({ slot, reports }) => reports.length > 0 || slot <= decidedSlot)
      .map(({ slot, reports }) => ({ slot, reports: reports.map((report) => storedVote(report, 0)) })),
  };
}

function storedVote(vote: Vote, agedMs: number): StoredVote {
  return {
    region: vote.region,
    outcome: vote.outcome,
    slot: vote.slot,
    at: vote.at,
    endedAt: vote.endedAt,
    failedSince: vote.failedSince,
    upSlot: vote.upSlot,
    agedMs,
    latency: vote.latency,
    statusCode: vote.statusCode,
    errorMessage: vote.errorMessage,
  };
}

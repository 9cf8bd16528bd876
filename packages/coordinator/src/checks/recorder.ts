import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { StoreError } from '../store/errors.ts';
import type { StreamPosition } from '../store/results/recording-store.ts';
import { lastedMs } from '../verdict/check-duration.ts';
import type { DeclaredChange } from '../verdict/declared-effects.ts';
import type { StatusChange } from '../verdict/frame.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { regionSet } from '../verdict/region-set.ts';
import { restoreState } from '../verdict/restart.ts';
import type { SlotEvents, SlotRecovery } from '../verdict/slots.ts';
import { BELIEVED_AHEAD_MS } from '../verdict/status.ts';
import { AfterCommit } from './after-commit.ts';
import { BatchEvaluation } from './batch-evaluation.ts';
import { BatchQueue } from './batch-queue.ts';
import { MonitorDeadlines } from './deadlines.ts';
import { DropLog } from './drop-log.ts';
import {
  type MessageEvent,
  type RecorderEvent,
  type ResultMessage,
  type SlotEvent,
  splitMessage,
  weightOf,
  weightOfChanges,
} from './events.ts';
import { DROPS, type RecorderDrops, type RecorderParts } from './recorder-parts.ts';
import type { ResultFeed } from './result-feed.ts';

/**
 * Number of waiting events from which further events of dispatch are dropped. So many events wait only while
 * the database cannot write. A slot that lacks a dropped event is decided at its deadline at the latest, if
 * another event or a report has opened it.
 */
const WAITING_EVENTS = 200_000;
/** Time after a start at which the resumption ends, even if dispatch has not ended it, ms. */
const RESUME_WITHIN_MS = 2 * 60_000;

/**
 * Records the results of regions, the events of dispatch and the changes of the declaration, in order and in
 * batches. It asks the store which results are new, evaluates the batch, and writes everything in one
 * transaction.
 *
 *     reports ──▶ intake ─┐
 *     dispatch, people ───┼─▶ queue ──▶ a batch ──▶ evaluation ──▶ store ──▶ after the commit: states in
 *     deadlines ──────────┘                                                  memory, then the listeners
 *
 * States in memory change, and listeners are called, only after the commit. While the database cannot write,
 * the reading of results pauses, and there are no verdicts.
 */
export class Recorder implements SlotEvents, SlotRecovery {
  readonly #parts: RecorderParts;
  readonly #drops: RecorderDrops;
  #messages = 0;
  readonly #intake: Intake;
  readonly #batches: BatchEvaluation;
  readonly #deadlines: MonitorDeadlines;
  readonly #after: AfterCommit;
  readonly #queue: BatchQueue<RecorderEvent>;
  /**
   * Monitors whose probed attributes changed before this leadership
   * opened its first slot. Null: it has opened its first slot.
   */
  #changedProbes: Set<number> | null = new Set();
  #cancelResume: () => void = () => {};
  #isStopped = false;

  constructor(parts: RecorderParts) {
    const { clock, log } = parts;
    this.#parts = parts;
    this.#drops = new DropLog(DROPS, clock, log);
    this.#intake = new Intake(parts, this.#drops);
    this.#batches = new BatchEvaluation(parts);
    this.#deadlines = new MonitorDeadlines(parts, (monitorId) =>
      this.#queue.push({ kind: 'due', monitorId }, false),
    );
    this.#after = new AfterCommit(parts, this.#drops, this.#deadlines);
    this.#queue = new BatchQueue({
      clock,
      log,
      weightOf,
      split: splitMessage,
      write: (batch) => this.#record(batch),
      onSetAside: (event, error) => this.#setAside(event, error),
    });
  }

  /**
   * Loads the stored states and positions. Must be called before any other method, and after the monitors are
   * loaded.
   */
  async load(): Promise<void> {
    const { store, states, monitors, slotClock, clock } = this.#parts;
    const now = slotClock.now();
    const { aheadSlot } = slotClock;
    // Slots recorded far in the future show that an earlier clock was ahead. A slot within
    // the next minute may then come from that clock, so no slot after `now` is believed.
    const newestBelieved = aheadSlot === null ? now + BELIEVED_AHEAD_MS : now;
    for await (const chunk of store.states(now)) {
      const evaluation = this.#batches.begin();
      for (const stored of chunk) restoreState(evaluation, stored, monitors.get(stored.id), newestBelieved);
      evaluation.finish();
      const { writes } = evaluation;
      if (writes.states.length > 0) {
        await store.record({ writes, positions: [], changesUntil: null, exportNote: null });
      }
      evaluation.drafts.forEach((state) => {
        if (state !== null) states.set(state);
      });
    }
    for (const position of await store.positions()) this.#after.setLoadedPosition(position);
    this.#deadlines.armAll();
    // If the recorder was stopped during the load, no timer is set, because nothing would cancel it.
    if (!this.#isStopped) this.#cancelResume = clock.after(RESUME_WITHIN_MS, () => this.endResumption());
  }

  /** Records the queued events, as far as the database accepts them, and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#deadlines.stop();
    this.#cancelResume();
    await this.#queue.stop();
    for (const event of this.#queue.unwritten()) {
      if (event.kind === 'declared')
        event.onFailed(new StoreError('store-closed', 'the recorder has stopped'));
    }
  }

  /** The last recorded position in the stream; null: no message of the stream was ever recorded. */
  positionIn(stream: string): StreamPosition | null {
    return this.#after.positionIn(stream);
  }

  /** The feed of recorded results. */
  get feed(): ResultFeed {
    return this.#after.feed;
  }

  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /**
   * Numbers since the start: `batches` is the number of messages that were read, and `failures` the number of
   * attempts to record a batch that failed because of the database. `results` includes the duplicates.
   */
  get counts(): Readonly<Record<'batches' | 'results' | 'duplicates' | 'transactions' | 'failures', number>> {
    return { ...this.#after.counts, batches: this.#messages, failures: this.#queue.failures };
  }

  /** Whether the last attempt to write failed because of the database, so that results wait. */
  get isFailing(): boolean {
    return this.#queue.isFailing;
  }

  /** The number of events that wait to be recorded, and how long the oldest one has waited, ms. */
  get backlog(): { readonly events: number; readonly oldestMs: number } {
    return { events: this.#queue.length, oldestMs: this.#queue.oldestMs };
  }

  /**
   * Registers a listener, which is called after the commit of each change of status and must not throw.
   * Returns a function that unregisters it.
   */
  onTransition(listener: (change: StatusChange) => void): () => void {
    return this.#after.onTransition(listener);
  }

  /**
   * Registers a listener, which is called after each commit for each stream whose position moved, and must
   * not throw. Returns a function that unregisters it.
   */
  onPosition(listener: (position: StreamPosition) => void): () => void {
    return this.#after.onPosition(listener);
  }

  /**
   * Checks the tokens of a message of a stream, and queues the message. The position of the message moves in
   * the transaction of its results, or of the last result if one of them cannot be recorded. Resolves when
   * the next message may be passed; undefined: the next message may be passed at once.
   */
  recordMessage(message: ResultMessage): Promise<void> | undefined {
    this.#messages += 1;
    const { event, isUrgent } = this.#intake.takeMessage(message);
    this.#queue.push(event, isUrgent);
    this.#intake.reportArrivals(event);
    return this.#queue.room();
  }

  /**
   * Applies changes of the declaration. `until` is the id of the last of these changes in the log of changes.
   * Resolves after the commit. Rejects if the changes cannot be recorded, or the recorder stops before.
   */
  declare(changes: readonly DeclaredChange[], until: number): Promise<void> {
    const weight = weightOfChanges(changes, this.#parts.maintenance.windows);
    return new Promise((onApplied, onFailed) => {
      this.#queue.push({ kind: 'declared', changes, until, weight, onApplied, onFailed }, true);
    });
  }

  /**
   * Queues the announcement of the present status of these monitors to channels to which it was not announced
   * yet. Called at the end of a hold and at the end of the resumption.
   */
  announceStatuses(monitorIds: Iterable<number>): void {
    for (const monitorId of monitorIds) this.#queue.push({ kind: 'announced', monitorId }, true);
  }

  opened(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void {
    if (regions.length === 0) return;
    this.#changedProbes = null;
    this.#pushLocal({ kind: 'opened', monitor, slot, regions: regionSet(regions) });
  }

  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    this.#pushLocal({ kind: 'abstained', monitor, slot, region, reason });
  }

  skipped(monitor: LiveMonitor, slot: number, region: Region): void {
    this.#pushLocal({ kind: 'skipped', monitor, slot, region });
  }

  leftOut(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void {
    this.#pushLocal({ kind: 'left-out', monitor, slot, regions: regionSet(regions) });
  }

  /**
   * Returns a slot of the monitor, epoch ms: this slot and earlier slots do not replace a first slot, because
   * they were given before the monitor was deactivated or its probed attributes changed. 0: none is known;
   * infinite: all slots from before the start, also because they may not be decided
   * (`MonitorState.mayLackRegion`). Call it before the first slot is opened.
   */
  floorSlot(monitorId: number): number {
    if (this.#changedProbes?.has(monitorId)) return Number.POSITIVE_INFINITY;
    const state = this.#parts.states.get(monitorId);
    if (state === undefined) return 0;
    return state.mayLackRegion ? Number.POSITIVE_INFINITY : state.floorSlot;
  }

  /**
   * Ends the resumption after a start. Slots that this leadership did not open no longer wait for any region.
   * When the end of the resumption is recorded, deadlines apply, the expiry of votes changes statuses even
   * without a report, and statuses that an earlier leadership held back are announced.
   *
   * Called when all results from before the start have been read. If it is not called within two minutes
   * after the start, the recorder calls it itself.
   */
  endResumption(): void {
    this.#cancelResume();
    this.#queue.push({ kind: 'resumption-over' }, false);
    const waiting = new Set<number>();
    for (const { id, open } of this.#parts.states.values())
      if (open.some(({ isGivenKnown }) => !isGivenKnown)) waiting.add(id);
    // Reports that are not committed yet may also open slots.
    for (const event of this.#queue.unwritten())
      if (event.kind === 'message') for (const { monitor } of event.results) waiting.add(monitor);
    for (const monitorId of waiting) this.#queue.push({ kind: 'resumed-all', monitorId }, false);
    this.#announceHeldBack();
  }

  /**
   * Whether news about the monitor to subscribers of status pages are held now: because
   * results from before the start are not read yet, because of a backlog, or by a maintenance
   * window. A mute does not hold news, because pages show the status of a muted monitor.
   */
  holdsNews(monitorId: number): boolean {
    const { isHeld, maintenance, slotClock, states } = this.#parts;
    const isWaiting = !this.#batches.isResumed && states.get(monitorId)?.isDecided !== true;
    if (isWaiting || isHeld(monitorId)) return true;
    return maintenance.windows.isUnderMaintenance(monitorId, slotClock.now());
  }

  /**
   * Whether alerts and notices about the monitor are held back now: for the
   * reasons of {@link holdsNews}, or by a maintenance window or a mute.
   */
  holdsAlerts(monitorId: number): boolean {
    const { maintenance, slotClock } = this.#parts;
    return this.holdsNews(monitorId) || maintenance.windows.cover(monitorId, slotClock.now());
  }

  /** Resolves when everything queued until now is recorded, or the recorder is stopped. */
  flushed(): Promise<void> {
    return this.#queue.flushed();
  }

  async #record(batch: readonly RecorderEvent[]): Promise<void> {
    const evaluated = await this.#batches.evaluate(batch);
    const { evaluation, positions, changesUntil, reported } = evaluated;
    const { exports } = this.#parts;
    const exportNote = exports?.makeExportNote(reported) ?? null;
    const isQueued = await this.#parts.store.record({
      writes: evaluation.writes,
      positions: [...positions.values()],
      changesUntil,
      exportNote,
    });
    this.#noteChangedProbes(batch);
    this.#after.applyCommit(batch, evaluated, isQueued, exportNote);
    if (batch.some(({ kind }) => kind === 'resumption-over')) this.#finishResumption();
  }

  /** Notes the monitors whose probed attributes this batch has changed. */
  #noteChangedProbes(batch: readonly RecorderEvent[]): void {
    for (const event of batch) {
      if (event.kind !== 'declared') continue;
      for (const change of event.changes) {
        if (change.kind !== 'monitor' || change.monitor === null) continue;
        const version = this.#parts.states.get(change.monitorId)?.version ?? null;
        if (version !== null && version !== change.monitor.version)
          this.#changedProbes?.add(change.monitorId);
      }
    }
  }

  /**
   * Starts the deadlines, and queues the announcements that were held back. Called when the end of the
   * resumption is recorded or set aside.
   */
  #finishResumption(): void {
    this.#batches.isResumed = true;
    // The last batch of a recorder that stops may end the resumption. The next leadership announces.
    if (this.#isStopped) return;
    // A batch in progress may have changed a status without announcing it.
    this.#announceHeldBack();
    this.#deadlines.armAll();
    this.#deadlines.start();
  }

  #announceHeldBack(): void {
    for (const { id, status, votes, links } of this.#parts.states.values()) {
      if (status === 'unknown') continue;
      // Votes that came from a clock that was ahead were dropped at the start. Without votes, no expiry will
      // cause an evaluation of this monitor.
      if (votes.length === 0) this.#queue.push({ kind: 'due', monitorId: id }, false);
      // One commit changes a status and queues its alerts. So the announced status differs from the status
      // only if the announcement was held back.
      if (links.some(({ announced }) => announced !== status)) this.announceStatuses([id]);
    }
  }

  #pushLocal(event: SlotEvent): void {
    if (this.#queue.length >= WAITING_EVENTS) {
      this.#drops.countDrop(
        'event-overflow',
        {},
        'the database accepts no writes: dropped an event of dispatch',
      );
      return;
    }
    this.#queue.push(event, false);
  }

  #setAside(event: RecorderEvent, error: unknown): void {
    const result = event.kind === 'message' ? event.results[0] : undefined;
    const details = { error, event: event.kind, monitor: result?.monitor, slot: result?.slot };
    this.#drops.countDrop('unrecordable', details, 'set aside an event that cannot be recorded');
    if (event.kind === 'declared') event.onFailed(error);
    if (event.kind === 'resumption-over') this.#finishResumption();
  }
}

/** A message in the form in which it is queued. */
export type TakenMessage = {
  readonly event: MessageEvent;
  /** Whether the message is written without waiting for other events to share its transaction. */
  readonly isUrgent: boolean;
};

/**
 * Takes messages of the streams: it drops results without a valid job token and results about unknown
 * monitors, and reports to dispatch which results have arrived.
 */
class Intake {
  readonly #parts: RecorderParts;
  readonly #drops: RecorderDrops;

  constructor(parts: RecorderParts, drops: RecorderDrops) {
    this.#parts = parts;
    this.#drops = drops;
  }

  /** Checks the tokens of the message, and hands its valid results to `onResults`. */
  takeMessage({ region, agent, results, position }: ResultMessage): TakenMessage {
    const valid: CheckResult[] = [];
    let isUrgent = false;
    for (let index = 0; region !== null && index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      if (!this.#isValid(result, region)) continue;
      valid.push(result);
      isUrgent ||= this.#isNews(result, region);
    }
    this.#parts.onResults(valid);
    const event = {
      kind: 'message',
      region,
      agent,
      results: valid,
      stream: position.stream,
      position,
    } as const;
    return { event, isUrgent };
  }

  /**
   * Reports the results of a queued message to dispatch. A `not_run` is not reported before it is recorded,
   * because its job may be offered again; this is decided when the batch is evaluated.
   */
  reportArrivals({ region, results }: MessageEvent): void {
    if (region === null) return;
    for (let index = 0; index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      const { outcome, monitor, slot } = result;
      if (outcome === 'not_run') continue;
      const tookMs = outcome === 'failed' ? null : lastedMs(result);
      this.#parts.slots.resultArrived(monitor, slot, region, tookMs);
    }
  }

  #isValid({ monitor, slot, token }: CheckResult, region: Region): boolean {
    const { tokens, monitors } = this.#parts;
    if (!tokens.isValid(token, monitor, region, slot)) {
      this.#drops.countDrop('bad-token', { monitor, slot, region }, 'dropped a result without a valid token');
      return false;
    }
    if (monitors.get(monitor) !== undefined) return true;
    this.#drops.countDrop(
      'unknown-monitor',
      { monitor, slot, region },
      'dropped a result of an unknown monitor',
    );
    return false;
  }

  /**
   * Whether the outcome differs from that of the region's last vote, so that the result must be recorded at
   * once. A passed check of a region without a vote may wait: it causes no alert, and when many monitors are
   * new, every message contains such checks.
   */
  #isNews({ monitor, outcome }: CheckResult, region: Region): boolean {
    if (outcome === 'not_run') return false;
    const votes = this.#parts.states.get(monitor)?.votes ?? [];
    for (let index = 0; index < votes.length; index += 1) {
      if (votes[index]?.region === region) return votes[index]?.outcome !== outcome;
    }
    return outcome !== 'passed';
  }
}

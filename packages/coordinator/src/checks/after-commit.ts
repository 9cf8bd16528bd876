import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { ExportNote } from '../store/export-totals.ts';
import type { StreamPosition } from '../store/results/recording-store.ts';
import type { DeclaredChange } from '../verdict/declared-effects.ts';
import type { Evaluation } from '../verdict/evaluation.ts';
import type { StatusChange } from '../verdict/frame.ts';
import type { EvaluatedBatch } from './batch-evaluation.ts';
import type { MonitorDeadlines } from './deadlines.ts';
import type { RecorderEvent } from './events.ts';
import type { RecorderDrops, RecorderParts } from './recorder-parts.ts';
import { type RecordedResult, ResultFeed } from './result-feed.ts';

/** Reasons of `unknown` that only a change of the declaration gives. */
const DECLARED: ReadonlySet<string> = new Set(['deactivated', 'probe-changed']);

/**
 * Carries out the steps after a commit, in a fixed order: memory takes the durable
 * state, then listeners are called. A failed step is logged and does not stop the
 * other steps: the batch is recorded, and its alerts must be sent.
 */
export class AfterCommit {
  readonly feed: ResultFeed;
  /** Numbers of results, duplicates and transactions since the start. */
  readonly counts = { results: 0, duplicates: 0, transactions: 0 };
  readonly #parts: RecorderParts;
  readonly #drops: RecorderDrops;
  readonly #deadlines: MonitorDeadlines;
  readonly #changeListeners = new Set<(change: StatusChange) => void>();
  readonly #positionListeners = new Set<(position: StreamPosition) => void>();
  readonly #positions = new Map<string, StreamPosition>();

  constructor(parts: RecorderParts, drops: RecorderDrops, deadlines: MonitorDeadlines) {
    this.#parts = parts;
    this.#drops = drops;
    this.#deadlines = deadlines;
    this.feed = new ResultFeed(parts.log);
  }

  /**
   * Registers a listener, which is called after the commit of each change of status and must not throw.
   * Returns a function that unregisters it.
   */
  onTransition(listener: (change: StatusChange) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /**
   * Registers a listener, which is called after each commit for each stream whose position moved, and must
   * not throw. Returns a function that unregisters it.
   */
  onPosition(listener: (position: StreamPosition) => void): () => void {
    this.#positionListeners.add(listener);
    return () => this.#positionListeners.delete(listener);
  }

  /** The last recorded position in the stream; null: no message of the stream was ever recorded. */
  positionIn(stream: string): StreamPosition | null {
    return this.#positions.get(stream) ?? null;
  }

  /** Sets a position that was recorded before the start. */
  setLoadedPosition(position: StreamPosition): void {
    this.#positions.set(position.stream, position);
  }

  /**
   * Carries out the steps after the commit of a batch.
   *
   * @param isQueued for each delivery of the batch whether it may have been queued
   * @param exportNote the exported part of the batch; null: no result of the batch is exported
   */
  applyCommit(
    batch: readonly RecorderEvent[],
    { evaluation, positions, reported, givenBack }: EvaluatedBatch,
    isQueued: readonly boolean[],
    exportNote: ExportNote | null,
  ): void {
    this.counts.transactions += 1;
    this.#countResults(reported);
    const steps = [
      () => this.#applyStates(evaluation),
      () => this.#applyWindows(evaluation),
      () => this.#applyDeclared(batch),
      () => this.#movePositions(positions),
      () => this.#passExportNote(exportNote),
      () => this.#reportOutcomes(reported, givenBack),
      () => this.feed.handOutResults(reported),
      () => this.#reportChanges(evaluation),
      () => this.#reportQueued(evaluation, isQueued),
      () => this.#reportApplied(batch),
    ];
    for (const step of steps) this.#carryOut(step);
  }

  #carryOut(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#parts.log.error({ error }, 'a step after a commit failed: memory may differ from the database');
    }
  }

  #applyStates(evaluation: Evaluation): void {
    const { states } = this.#parts;
    evaluation.drafts.forEach((state, id) => {
      if (state === null) {
        states.delete(id);
        return;
      }
      states.set(state);
      this.#deadlines.arm(state, evaluation.frame.now);
    });
  }

  #applyWindows({ changedWindows, frame }: Evaluation): void {
    this.#parts.maintenance.changeWindows(changedWindows, frame.instants.slotNow);
  }

  #applyDeclared(batch: readonly RecorderEvent[]): void {
    for (const event of batch) if (event.kind === 'declared') this.#declared(event.changes);
  }

  #declared(changes: readonly DeclaredChange[]): void {
    for (const change of changes) {
      if (change.kind === 'monitor') this.#parts.onDeclared(change.monitorId, change.monitor);
      if (change.kind === 'channel' || change.kind === 'channel-removed') {
        this.#parts.onChannel?.(change.kind, change.notificationId);
      }
    }
  }

  #countResults(reported: readonly RecordedResult[]): void {
    this.counts.results += reported.length;
    for (let index = 0; index < reported.length; index += 1) {
      if (reported[index]?.isNew === false) this.counts.duplicates += 1;
    }
  }

  #movePositions(positions: ReadonlyMap<string, StreamPosition>): void {
    for (const position of positions.values()) this.#positionMoved(position);
  }

  #positionMoved(position: StreamPosition): void {
    this.#positions.set(position.stream, position);
    for (const listener of this.#positionListeners) listener(position);
  }

  #reportOutcomes(reported: readonly RecordedResult[], givenBack: ReadonlySet<CheckResult>): void {
    const { slots } = this.#parts;
    // Loops by index, as other loops over the results of a batch do, because an iterator would allocate an
    // object for each result.
    for (let index = 0; index < reported.length; index += 1) {
      const { result, region } = reported[index] as RecordedResult;
      const { monitor: monitorId, slot } = result;
      const is = givenBack.has(result) ? 'given-back' : 'reported';
      const { reason, timed_out } = result;
      slots.outcomeRecorded({ monitorId, slot, region, is, timedOut: timed_out === true, reason });
    }
  }

  #reportChanges(evaluation: Evaluation): void {
    for (const change of evaluation.changes) {
      if (change.to === 'unknown' && !DECLARED.has(change.reason)) this.#becameUnknown(change);
      for (const listener of this.#changeListeners) listener(change);
    }
  }

  #passExportNote(note: ExportNote | null): void {
    if (note !== null) this.#parts.exports?.countExportNote(note);
  }

  #reportQueued({ writes }: Evaluation, isQueued: readonly boolean[]): void {
    writes.deliveries.forEach((delivery, index) => {
      if (isQueued[index]) this.#parts.onQueued(delivery);
    });
  }

  #reportApplied(batch: readonly RecorderEvent[]): void {
    for (const event of batch) if (event.kind === 'declared') event.onApplied();
  }

  #becameUnknown({ monitor: { id, name }, reason }: StatusChange): void {
    this.#drops.countDrop('monitor-unknown', { monitor: id, name, reason }, 'a monitor has become unknown');
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Backlog } from '../domain/admission.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { type RegionSet, regionSet, regionsOf } from '../domain/region-set.ts';
import type { SlotOutcome, UndecidedSlot } from '../domain/slots.ts';
import type { Store, Transaction } from '../store/store.ts';
import { BatchQueue } from './batch-queue.ts';
import { Deadlines } from './deadlines.ts';
import { DropLog } from './drop-log.ts';
import type { Resumption, SlotSink } from './evaluation.ts';
import type { Evaluation } from './evaluation-step.ts';
import type { Evaluator } from './evaluator.ts';
import { isDue } from './instants.ts';
import { loadStates } from './load-states.ts';
import type { StreamPosition } from './statements.ts';

/** What dispatch has told and a database that cannot write has not taken; beyond it is dropped, and deadlines decide. */
const WAITING_EVENTS = 200_000;
/** Without word from dispatch after a start, slots and votes are looked at as they are, ms. */
const RESUME_WITHIN_MS = 30_000;

/** A message of the result stream. */
export type ResultMessage = {
  /** null: nothing in it could be read; only its position is recorded. */
  region: Region | null;
  agent: string;
  results: readonly CheckResult[];
  position: StreamPosition;
};

/** Proof that a job was given to the region; dispatch makes them. */
export interface TokenCheck {
  isValid(token: string, monitor: number, region: Region, slot: number): boolean;
}

/** What is to become of a `not_run`: the job is offered again, or the region has answered. */
export type OnNotRun = (
  monitorId: number,
  slot: number,
  region: Region,
  reason: NotRunReason,
) => 'reoffer' | 'accept';

export type OutcomeListener = (outcome: SlotOutcome) => void;

type CheckedResult = { result: CheckResult; isReoffered: boolean };
type Recording = {
  kind: 'message';
  message: ResultMessage;
  results: CheckedResult[];
  /** Moved with these results; null while others of the same message follow. */
  position: StreamPosition | null;
};
type Event =
  | Recording
  | { kind: 'opened' | 'resumed'; monitor: LiveMonitor; slot: number; regions: RegionSet }
  | { kind: 'abstained'; monitor: LiveMonitor; slot: number; region: Region; reason: NotRunReason }
  | { kind: 'skipped'; monitor: LiveMonitor; slot: number; region: Region }
  | { kind: 'due' | 'resumed-all'; monitorId: number };

const DROPS = [
  'bad-token',
  'unknown-monitor',
  /** Told by dispatch while the database took nothing. */
  'event-overflow',
  /** Could not be recorded for a reason of its own, and is set aside so that the rest goes on. */
  'unrecordable',
  /** Not dropped but alarming in the same way: monitors that became `unknown` without anybody changing them. */
  'monitor-unknown',
] as const;

/** Reasons of `unknown` that somebody asked for. */
const DECLARED: ReadonlySet<string> = new Set(['deactivated', 'probe-changed']);

export type RecorderParts = {
  store: Store;
  evaluator: Evaluator;
  tokens: TokenCheck;
  clock: Clock;
  log: Logger;
  onNotRun: OnNotRun;
};

/**
 * Records what regions report and dispatch tells, in the order in which it comes, many at a time:
 * results, votes, statuses, transitions, incidents, outbox and stream position in one transaction.
 *
 * Memory follows the commit. While the database cannot write, the reading of results pauses, and nothing
 * becomes a verdict.
 */
export class Recorder implements SlotSink, Resumption {
  readonly #parts: RecorderParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #deadlines: Deadlines;
  readonly #outcomeListeners = new Set<OutcomeListener>();
  readonly #positionListeners = new Set<(position: StreamPosition) => void>();
  readonly #queue: BatchQueue<Event>;
  readonly #counts = { results: 0, duplicates: 0, transactions: 0 };
  readonly #ignoreJumps: () => void;
  #cancelResume: () => void = () => {};
  #position: StreamPosition | null = null;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#drops = new DropLog(DROPS, parts.clock, parts.log);
    this.#deadlines = new Deadlines(parts.clock, (id) => this.#lookAt(id));
    this.#queue = new BatchQueue({
      clock: parts.clock,
      log: parts.log,
      weightOf,
      split,
      write: (batch) => parts.store.transaction((tx) => this.#recordBatch(tx, batch)),
      onSetAside: (event, error) => this.#setAside(event, error),
    });
    this.#ignoreJumps = parts.evaluator.parts.slotClock.onJump(() => this.#armAll());
    parts.evaluator.onInstant((id, at) => this.#deadlines.arm(id, at));
    parts.evaluator.onTransition(({ monitor: { id, name }, to, reason }) => {
      if (to !== 'unknown' || DECLARED.has(reason)) return;
      this.#drops.add('monitor-unknown', { monitor: id, name, reason }, 'monitors have become unknown');
    });
  }

  /** Loads what is stored. Before everything else, after the monitors. */
  async load(): Promise<void> {
    const { store, evaluator, clock } = this.#parts;
    await loadStates(store, evaluator.parts);
    this.#position = await store.transaction(readPosition);
    this.#armAll();
    this.#cancelResume = clock.after(RESUME_WITHIN_MS, () => this.resumed());
  }

  /** Records what is queued, as far as the database takes it, and stops. */
  async stop(): Promise<void> {
    this.#ignoreJumps();
    this.#deadlines.stop();
    this.#cancelResume();
    await this.#queue.stop();
  }

  /** Where the reading of the stream continues; null at the first start. */
  get position(): StreamPosition | null {
    return this.#position;
  }

  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /** Since the start; `failures` are tries of the database that failed. */
  get counts(): Readonly<{ results: number; duplicates: number; transactions: number; failures: number }> {
    return { ...this.#counts, failures: this.#queue.failures };
  }

  /** What waits to be recorded. */
  get backlog(): Backlog {
    return { events: this.#queue.length, oldestMs: this.#queue.oldestMs };
  }

  /** The last tries to write failed: results wait. */
  get isFailing(): boolean {
    return this.#queue.isFailing;
  }

  /** Called after the commit for every result, repeated ones included. */
  onOutcome(listener: OutcomeListener): () => void {
    this.#outcomeListeners.add(listener);
    return () => this.#outcomeListeners.delete(listener);
  }

  /** Called after each commit that moved the position. Must not throw. */
  onPosition(listener: (position: StreamPosition) => void): () => void {
    this.#positionListeners.add(listener);
    return () => this.#positionListeners.delete(listener);
  }

  /**
   * Queues a message of the stream. Tokens are checked here; the message is recorded whole, so that its
   * position moves with its results. Resolves when the next one may come.
   */
  record(message: ResultMessage): Promise<void> | undefined {
    const results: CheckedResult[] = [];
    const { region } = message;
    for (const result of message.results) {
      const checked = region === null ? null : this.#check(result, region);
      if (checked !== null) results.push(checked);
    }
    this.#queue.push({ kind: 'message', message, results, position: message.position });
    return this.#queue.room();
  }

  opened(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void {
    if (regions.length === 0) return;
    this.#pushLocal({ kind: 'opened', monitor, slot, regions: regionSet(regions) });
  }

  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void {
    this.#pushLocal({ kind: 'abstained', monitor, slot, region, reason });
  }

  skipped(monitor: LiveMonitor, slot: number, region: Region): void {
    this.#pushLocal({ kind: 'skipped', monitor, slot, region });
  }

  /** Slots of before the start that are not decided and that {@link resume} has not named yet. */
  *undecidedSlots(): Iterable<UndecidedSlot> {
    for (const state of this.#parts.evaluator.parts.states.values()) {
      for (const { slot, answered, isGivenKnown } of state.open) {
        if (!isGivenKnown) yield { monitorId: state.id, slot, answered: regionsOf(answered) };
      }
    }
  }

  /** After a restart, per slot that agents still work on or that is offered again: only these regions may still report. */
  resume(monitor: LiveMonitor, slot: number, waitedFor: readonly Region[]): void {
    this.#pushLocal({ kind: 'resumed', monitor, slot, regions: regionSet(waitedFor) });
  }

  /**
   * Ends the restart: slots that {@link resume} did not name wait for nobody, and from here on deadlines
   * and ages are looked at. To be called when the heartbeats were heard and the reading of the stream
   * has caught up; happens by itself 30 s after the start.
   */
  resumed(): void {
    this.#cancelResume();
    for (const state of this.#parts.evaluator.parts.states.values()) {
      if (state.open.some((open) => !open.isGivenKnown)) {
        this.#queue.push({ kind: 'resumed-all', monitorId: state.id });
      }
    }
    this.#deadlines.start();
  }

  /** Resolves when everything queued until now is recorded, or this is stopped. */
  flushed(): Promise<void> {
    return this.#queue.flushed();
  }

  /** At the start, and when votes have become older at once. */
  #armAll(): void {
    const { evaluator } = this.#parts;
    for (const state of evaluator.parts.states.values()) evaluator.arm(state, Number.NEGATIVE_INFINITY);
  }

  #lookAt(monitorId: number): void {
    const { clock, evaluator } = this.#parts;
    const state = evaluator.parts.states.get(monitorId);
    if (state === undefined) return;
    const monotonic = clock.monotonic();
    const { jumpedMs } = evaluator.parts.slotClock;
    if (isDue(state, monotonic, jumpedMs)) this.#queue.push({ kind: 'due', monitorId });
    else evaluator.arm(state, monotonic + jumpedMs);
  }

  #check(result: CheckResult, region: Region): CheckedResult | null {
    const { tokens, evaluator, onNotRun } = this.#parts;
    const { monitor, slot, token } = result;
    if (!tokens.isValid(token, monitor, region, slot)) {
      this.#drops.add('bad-token', { monitor, slot, region }, 'dropped a result without a valid token');
      return null;
    }
    if (evaluator.parts.monitors.get(monitor) === undefined) {
      this.#drops.add('unknown-monitor', { monitor, slot, region }, 'dropped a result of an unknown monitor');
      return null;
    }
    const isReoffered =
      result.outcome === 'not_run' &&
      onNotRun(monitor, slot, region, result.reason ?? 'internal-error') === 'reoffer';
    return { result, isReoffered };
  }

  #pushLocal(event: Event): void {
    if (this.#queue.length >= WAITING_EVENTS) {
      this.#drops.add('event-overflow', {}, 'the database takes nothing: dropped what dispatch told');
      return;
    }
    this.#queue.push(event);
  }

  #setAside(event: Event, error: unknown): void {
    const result = event.kind === 'message' ? event.results[0]?.result : undefined;
    const details = { error, event: event.kind, monitor: result?.monitor, slot: result?.slot };
    this.#drops.add('unrecordable', details, 'set aside what cannot be recorded');
  }

  #recordBatch(tx: Transaction, batch: readonly Event[]): void {
    const evaluation = this.#parts.evaluator.in(tx);
    let position: StreamPosition | null = null;
    const recorded: Recording[] = [];
    const sums = { results: 0, duplicates: 0 };
    for (const event of batch) {
      if (event.kind === 'message') {
        this.#recordMessage(evaluation, event, sums);
        position = event.position ?? position;
        recorded.push(event);
      } else {
        tell(evaluation, event);
      }
    }
    evaluation.finish();
    if (position !== null) evaluation.rows.writePosition(position);
    tx.onCommit(() => this.#committed(recorded, position, sums));
  }

  #recordMessage(
    evaluation: Evaluation,
    { message, results }: Recording,
    sums: { results: number; duplicates: number },
  ): void {
    const { region, agent } = message;
    if (region === null) return;
    for (const { result, isReoffered } of results) {
      const monitor = evaluation.monitor(result.monitor);
      // Deleted since it was queued.
      if (monitor === undefined) continue;
      sums.results += 1;
      if (!evaluation.result(monitor, result, region, agent, isReoffered)) {
        sums.duplicates += 1;
      }
    }
  }

  #committed(
    recorded: readonly Recording[],
    position: StreamPosition | null,
    sums: { results: number; duplicates: number },
  ): void {
    if (position !== null) {
      this.#position = position;
      for (const listener of this.#positionListeners) listener(position);
    }
    this.#counts.results += sums.results;
    this.#counts.duplicates += sums.duplicates;
    this.#counts.transactions += 1;
    for (const { message, results } of recorded) {
      for (const { result, isReoffered } of results) {
        if (message.region !== null) this.#tellOutcome(result, message.region, isReoffered);
      }
    }
  }

  #tellOutcome(result: CheckResult, region: Region, isReoffered: boolean): void {
    const outcome: SlotOutcome = {
      monitorId: result.monitor,
      slot: result.slot,
      region,
      is: isReoffered ? 'given-back' : 'reported',
      timedOut: result.timed_out === true,
      reason: result.reason,
    };
    for (const listener of this.#outcomeListeners) {
      try {
        listener(outcome);
      } catch (error) {
        this.#parts.log.error({ error: messageOf(error) }, 'a listener of recorded results failed');
      }
    }
  }
}

/** Costs of events, measured in results recorded. */
function weightOf(event: Event): number {
  switch (event.kind) {
    case 'message':
      return Math.max(1, event.results.length);
    case 'due':
    case 'resumed-all':
      return 4;
    case 'abstained':
      return 1;
    case 'opened':
    case 'resumed':
    case 'skipped':
      return 0.25;
  }
}

/** A message as one event per result; the last of them moves the position. */
function split(event: Event): readonly Event[] {
  if (event.kind !== 'message') return [event];
  const { message, results, position } = event;
  return results.map((result, index): Recording => {
    const isLast = index === results.length - 1;
    return { kind: 'message', message, results: [result], position: isLast ? position : null };
  });
}

function tell(evaluation: Evaluation, event: Exclude<Event, Recording>): void {
  switch (event.kind) {
    case 'opened':
      evaluation.opened(event.monitor, event.slot, event.regions);
      return;
    case 'resumed':
      evaluation.resumed(event.monitor, event.slot, event.regions);
      return;
    case 'abstained':
      evaluation.abstained(event.monitor, event.slot, event.region, event.reason);
      return;
    case 'skipped':
      evaluation.skipped(event.monitor, event.slot, event.region);
      return;
    case 'due':
      evaluation.due(event.monitorId);
      return;
    case 'resumed-all':
      evaluation.resumedAll(event.monitorId);
      return;
  }
}

function readPosition({ sqlite }: Transaction): StreamPosition | null {
  const row = sqlite
    .prepare(`
      SELECT stream_created AS created, sequence, message_id AS messageId, message_time AS time
      FROM stream_position WHERE id = 1`)
    .get();
  return row === undefined ? null : (row as StreamPosition);
}

import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { type RegionSet, regionSet, regionsOf } from '../domain/region-set.ts';
import { StoreError } from '../store/errors.ts';
import type { Store, Transaction } from '../store/store.ts';
import { Deadlines } from './deadlines.ts';
import { DropLog } from './drop-log.ts';
import type { Resumption, SlotSink } from './evaluation.ts';
import type { Evaluation } from './evaluation-step.ts';
import type { Evaluator } from './evaluator.ts';
import { isDue } from './instants.ts';
import { loadStates } from './load-states.ts';
import type { StreamPosition } from './statements.ts';

/** A transaction holds at least this many results when there are as many. */
const BATCH_RESULTS = 512;
/** Longest that a result waits for others to share its transaction, ms. */
const BATCH_WAIT_MS = 40;
/** Results that may wait to be recorded; the reading of the stream pauses above. */
const WAITING_RESULTS = 4_096;
/** What dispatch has told and a database that cannot write has not taken; beyond it is dropped, and deadlines decide. */
const WAITING_EVENTS = 200_000;
const RETRY_FIRST_MS = 100;
const RETRY_LONGEST_MS = 5_000;
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

export type RecordedListener = (monitorId: number, slot: number, region: Region, timedOut: boolean) => void;

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
 * What is queued leaves the queue only after its commit. While the database cannot write, the same batch is
 * tried again with growing waits, the reading of results pauses, and nothing becomes a verdict.
 */
export class Recorder implements SlotSink, Resumption {
  readonly #parts: RecorderParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #deadlines: Deadlines;
  readonly #recordedListeners = new Set<RecordedListener>();
  readonly #positionListeners = new Set<(position: StreamPosition) => void>();
  readonly #stopping = new AbortController();
  #queue: Event[] = [];
  /** Results in the queue. */
  #waiting = 0;
  #cancelTimer: (() => void) | null = null;
  #cancelResume: () => void = () => {};
  #flushing: Promise<void> | null = null;
  #failures = 0;
  /** So many events are recorded in transactions of their own: one of them cannot be. */
  #oneByOne = 0;
  /** One failure more and it gives up: what is not recorded is in the stream still. */
  #isEnding = false;
  #position: StreamPosition | null = null;
  /** Events that have left the queue. */
  #committedEvents = 0;
  /** Resolved when the queue has become shorter. */
  #roomListeners: (() => void)[] = [];
  readonly counts = { results: 0, duplicates: 0, transactions: 0, failures: 0 };

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#drops = new DropLog(DROPS, parts.clock, parts.log);
    this.#deadlines = new Deadlines(parts.clock, (id) => this.#lookAt(id));
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
    for (const state of evaluator.parts.states.values()) evaluator.arm(state, Number.NEGATIVE_INFINITY);
    this.#cancelResume = clock.after(RESUME_WITHIN_MS, () => this.resumed());
  }

  /** Records what is queued, as far as the database takes it, and stops. */
  async stop(): Promise<void> {
    this.#deadlines.stop();
    this.#cancelResume();
    this.#isEnding = true;
    if (this.#failures === 0) await this.flushed();
    this.#stopping.abort();
    this.#cancelTimer?.();
    await this.#flushing;
  }

  /** Where the reading of the stream continues; null at the first start. */
  get position(): StreamPosition | null {
    return this.#position;
  }

  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /** Last tries to write failed: results wait. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Called after the commit for every result that ends its region's part of a slot, repeated ones included. */
  onRecorded(listener: RecordedListener): () => void {
    this.#recordedListeners.add(listener);
    return () => this.#recordedListeners.delete(listener);
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
  record(message: ResultMessage): Promise<void> | void {
    const results: CheckedResult[] = [];
    const { region } = message;
    for (const result of message.results) {
      const checked = region === null ? null : this.#check(result, region);
      if (checked !== null) results.push(checked);
    }
    this.#push({ kind: 'message', message, results, position: message.position });
    this.#waiting += results.length;
    if (this.#waiting >= BATCH_RESULTS) this.#flushSoon();
    if (this.#waiting < WAITING_RESULTS) return;
    return new Promise((resolve) => this.#roomListeners.push(resolve));
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
  *openSlots(): Iterable<{ monitorId: number; slot: number; answered: readonly Region[] }> {
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
        this.#push({ kind: 'resumed-all', monitorId: state.id });
      }
    }
    this.#deadlines.start();
  }

  /** Resolves when everything queued until now is recorded, or this is stopped. */
  async flushed(): Promise<void> {
    const target = this.#committedEvents + this.#queue.length;
    while (this.#committedEvents < target && !this.#stopping.signal.aborted) {
      this.#flushSoon();
      await this.#flushing;
    }
  }

  #lookAt(monitorId: number): void {
    const state = this.#parts.evaluator.parts.states.get(monitorId);
    if (state === undefined) return;
    const { clock, evaluator } = this.#parts;
    const now = clock.monotonic();
    if (isDue(state, now)) this.#push({ kind: 'due', monitorId });
    else evaluator.arm(state, now);
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
    this.#push(event);
  }

  #push(event: Event): void {
    this.#queue.push(event);
    if (this.#cancelTimer !== null || this.#flushing !== null) return;
    this.#cancelTimer = this.#parts.clock.after(BATCH_WAIT_MS, () => this.#flushSoon());
  }

  #flushSoon(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#flushing !== null || this.#queue.length === 0 || this.#stopping.signal.aborted) return;
    this.#flushing = this.#flush().finally(() => {
      this.#flushing = null;
      if (this.#queue.length === 0 || this.#stopping.signal.aborted) return;
      if (this.#waiting >= BATCH_RESULTS || this.#queue.length >= BATCH_RESULTS) this.#flushSoon();
      else this.#cancelTimer ??= this.#parts.clock.after(BATCH_WAIT_MS, () => this.#flushSoon());
    });
  }

  /** One batch, tried until the database has taken it. */
  async #flush(): Promise<void> {
    const { store, log } = this.#parts;
    while (!this.#stopping.signal.aborted && this.#queue.length > 0) {
      const count = this.#batchLength();
      try {
        await store.transaction((tx) => this.#recordBatch(tx, count));
        if (this.#failures > 0) log.info({ failures: this.#failures }, 'results are recorded again');
        this.#failures = 0;
        this.#oneByOne = Math.max(0, this.#oneByOne - count);
        return;
      } catch (error) {
        if (!isOwnFault(error)) await this.#failed(error);
        else if (count > 1) this.#oneByOne = count;
        else this.#setAside(error);
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    this.#failures += 1;
    this.counts.failures += 1;
    const { log } = this.#parts;
    log.error({ error, failures: this.#failures, waiting: this.#waiting }, 'results cannot be recorded');
    if (this.#isEnding) this.#stopping.abort();
    await this.#wait(Math.min(RETRY_FIRST_MS * 2 ** (this.#failures - 1), RETRY_LONGEST_MS));
  }

  /** The first event cannot be recorded: a message is taken apart once more, anything else is left out. */
  #setAside(error: unknown): void {
    const event = this.#queue[0] as Event;
    if (event.kind === 'message' && event.results.length > 1) {
      const { message, results, position } = event;
      const single = results.map((result, index): Recording => {
        const isLast = index === results.length - 1;
        return { kind: 'message', message, results: [result], position: isLast ? position : null };
      });
      this.#queue = [...single, ...this.#queue.slice(1)];
      this.#committedEvents -= single.length - 1;
      this.#oneByOne = single.length;
      return;
    }
    const result = event.kind === 'message' ? event.results[0]?.result : undefined;
    const details = { error, event: event.kind, monitor: result?.monitor, slot: result?.slot };
    this.#drops.add('unrecordable', details, 'set aside what cannot be recorded');
    this.#queue = this.#queue.slice(1);
    this.#committedEvents += 1;
    if (event.kind === 'message') this.#waiting -= event.results.length;
  }

  #batchLength(): number {
    if (this.#oneByOne > 0) return 1;
    let results = 0;
    let count = 0;
    for (const event of this.#queue) {
      if (results >= BATCH_RESULTS || count >= BATCH_RESULTS) break;
      if (event.kind === 'message') results += event.results.length;
      count += 1;
    }
    return count;
  }

  #recordBatch(tx: Transaction, count: number): void {
    const evaluation = this.#parts.evaluator.in(tx);
    let position: StreamPosition | null = null;
    const recorded: Recording[] = [];
    const sums = { results: 0, duplicates: 0 };
    for (let index = 0; index < count; index += 1) {
      const event = this.#queue[index] as Event;
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
    tx.onCommit(() => this.#committed(count, recorded, position, sums));
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
    count: number,
    recorded: readonly Recording[],
    position: StreamPosition | null,
    sums: { results: number; duplicates: number },
  ): void {
    this.#queue = this.#queue.slice(count);
    for (const { results } of recorded) this.#waiting -= results.length;
    this.#committedEvents += count;
    if (position !== null) {
      this.#position = position;
      for (const listener of this.#positionListeners) listener(position);
    }
    this.counts.results += sums.results;
    this.counts.duplicates += sums.duplicates;
    this.counts.transactions += 1;
    for (const { message, results } of recorded) {
      for (const { result, isReoffered } of results) {
        if (!isReoffered && message.region !== null) this.#tellRecorded(result, message.region);
      }
    }
    if (this.#waiting >= WAITING_RESULTS) return;
    const listeners = this.#roomListeners;
    this.#roomListeners = [];
    for (const listener of listeners) listener();
  }

  #tellRecorded(result: CheckResult, region: Region): void {
    for (const listener of this.#recordedListeners) {
      try {
        listener(result.monitor, result.slot, region, result.timed_out === true);
      } catch (error) {
        this.#parts.log.error({ error: messageOf(error) }, 'a listener of recorded results failed');
      }
    }
  }

  #wait(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const { signal } = this.#stopping;
      const end = () => {
        signal.removeEventListener('abort', end);
        cancel();
        resolve();
      };
      const cancel = this.#parts.clock.after(ms, end);
      signal.addEventListener('abort', end);
    });
  }
}

/** The event is at fault, not the database: trying again would fail for ever. */
function isOwnFault(error: unknown): boolean {
  return !(error instanceof StoreError) || error.code === 'store-constraint';
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

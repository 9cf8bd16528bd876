import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult, NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import {
  ALL_REGIONS,
  bitOf,
  NO_REGIONS,
  type RegionSet,
  regionSet,
  regionsOf,
} from '../domain/region-set.ts';
import type { SlotEvents, SlotOutcomes, SlotRecovery, UndecidedSlot } from '../domain/slots.ts';
import type { DeclaredChange } from '../evaluation/declared-change.ts';
import { Evaluation } from '../evaluation/evaluation.ts';
import type { StatusChange } from '../evaluation/frame.ts';
import { isDue, nextInstant } from '../evaluation/instants.ts';
import { restarted } from '../evaluation/restart.ts';
import type { MonitorState, States } from '../evaluation/state.ts';
import type { NewDelivery } from '../evaluation/writes.ts';
import { StoreError } from '../store/errors.ts';
import type { ResultKey } from '../store/recorded-results.ts';
import type { RecordingStore } from '../store/recording-store.ts';
import type { StreamPosition } from '../store/stream-position.ts';
import { BatchQueue } from './batch-queue.ts';
import { Deadlines } from './deadlines.ts';
import { DropLog } from './drop-log.ts';
import {
  type MessageEvent,
  type RecorderEvent,
  type ResultMessage,
  type SlotEvent,
  split,
  tell,
  weightOf,
} from './events.ts';
import { type RecordedResult, ResultFeed } from './result-feed.ts';

/** What dispatch has told and a database that cannot write has not taken; beyond it is dropped, and deadlines decide. */
const WAITING_EVENTS = 200_000;
/** Without word from dispatch after a start, slots and votes are looked at as they are, ms. */
const RESUME_WITHIN_MS = 30_000;

/** What the evaluation needs to know of regions; dispatch keeps it. */
export interface RegionPresence {
  /** It has, or had within the last 24 h, a live agent. */
  hadAgentWithin24h(region: Region): boolean;
}

/** The slots' clock; dispatch keeps it. */
export interface SlotTime {
  /** Whole epoch ms; never goes back. */
  now(): number;
  /** What its jumps forward come to so far, ms: votes are older by as much than the monotonic clock says. */
  readonly jumpedMs: number;
  /** Monotonic instant of the last one; null: there was none. */
  readonly jumpedAt: number | null;
  /** Told of each jump, in the middle of whatever reads the clock. */
  onJump(listener: () => void): () => void;
}

/** Proof that a job was given to the region; dispatch makes them. */
export interface TokenCheck {
  isValid(token: string, monitor: number, region: Region, slot: number): boolean;
}

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
  readonly store: RecordingStore;
  readonly states: States;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly presence: RegionPresence;
  /** Results with a slot before it (epoch ms) have their hour rolled up again; `Rollups` is one. */
  readonly rollups: { readonly claimedUntil: number };
  readonly tokens: TokenCheck;
  readonly slots: SlotOutcomes;
  readonly clock: Clock;
  readonly slotClock: SlotTime;
  readonly log: Logger;
  /** Makes keys of incidents and deliveries, different from those of every other installation. */
  readonly newKey: () => string;
  /** Whether channels of this kind are told of an incident that ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /** A result has come that will be evaluated. */
  readonly onRead: (result: CheckResult) => void;
  /** Whether nothing is announced about the monitor now. */
  readonly isHeld: (monitorId: number) => boolean;
  /** A declared monitor takes effect (null: it is gone). After the commit, before the next batch. */
  readonly onDeclared: (monitorId: number, monitor: LiveMonitor | null) => void;
  /** A delivery is queued. After the commit. */
  readonly onQueued: (id: number, delivery: NewDelivery) => void;
};

/** What one batch comes to, before it is written. */
type Evaluated = {
  readonly evaluation: Evaluation;
  /** By stream. */
  readonly positions: ReadonlyMap<string, StreamPosition>;
  readonly changesUntil: number | null;
  readonly reported: readonly RecordedResult[];
  /** Of `reported`: jobs that are to be offered again. */
  readonly givenBack: ReadonlySet<CheckResult>;
};

/**
 * Records what regions report, dispatch tells and people declare, in the order in which it comes, many at a
 * time: asks the store what of it is new, evaluates, and writes what comes out in one transaction.
 *
 * Memory follows the commit, and so does everything that is told to others. While the database cannot
 * write, the reading of results pauses, and nothing becomes a verdict.
 */
export class Recorder implements SlotEvents, SlotRecovery {
  readonly feed: ResultFeed;
  readonly #parts: RecorderParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #deadlines: Deadlines;
  readonly #changeListeners = new Set<(change: StatusChange) => void>();
  readonly #positionListeners = new Set<(position: StreamPosition) => void>();
  readonly #queue: BatchQueue<RecorderEvent>;
  readonly #counts = { results: 0, duplicates: 0, transactions: 0 };
  readonly #ignoreJumps: () => void;
  #cancelResume: () => void = () => {};
  /** What was reported before the start is read, and deadlines are looked at. */
  #hasResumed = false;
  readonly #positions = new Map<string, StreamPosition>();
  #isStopped = false;

  constructor(parts: RecorderParts) {
    const { clock, log } = parts;
    this.#parts = parts;
    this.feed = new ResultFeed(log);
    this.#drops = new DropLog(DROPS, clock, log);
    this.#deadlines = new Deadlines(clock, (id) => this.#lookAt(id));
    this.#queue = new BatchQueue({
      clock,
      log,
      weightOf,
      split,
      write: (batch) => this.#record(batch),
      onSetAside: (event, error) => this.#setAside(event, error),
    });
    this.#ignoreJumps = parts.slotClock.onJump(() => this.#armAll());
  }

  /** Takes up what is stored. Before everything else, after the monitors. */
  async load(): Promise<void> {
    const { store, states, monitors, slotClock, clock } = this.#parts;
    const read = store.states(monitors, slotClock.now());
    for await (const chunk of read) {
      const evaluation = this.#newEvaluation();
      for (const stored of chunk) restarted(evaluation, stored, monitors.get(stored.id));
      for (const [, state] of evaluation.drafts.entries()) if (state !== null) states.set(state);
    }
    for (const position of await store.positions()) this.#positions.set(position.stream, position);
    this.#armAll();
    // A stop that came meanwhile found no timer to cancel.
    if (!this.#isStopped) this.#cancelResume = clock.after(RESUME_WITHIN_MS, () => this.resumed());
  }

  /** Records what is queued, as far as the database takes it, and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ignoreJumps();
    this.#deadlines.stop();
    this.#cancelResume();
    await this.#queue.stop();
    for (const event of this.#queue.left()) {
      if (event.kind === 'declared')
        event.onFailed(new StoreError('store-closed', 'the recorder has stopped'));
    }
  }

  /** Where the reading of the stream continues; null where nothing of it was ever recorded. */
  positionIn(stream: string): StreamPosition | null {
    return this.#positions.get(stream) ?? null;
  }

  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /** Since the start; `failures` are tries of the database that failed. */
  get counts(): Readonly<{ results: number; duplicates: number; transactions: number; failures: number }> {
    return { ...this.#counts, failures: this.#queue.failures };
  }

  /** The last tries to write failed: results wait. */
  get isFailing(): boolean {
    return this.#queue.isFailing;
  }

  /** What waits to be recorded, and for how long its oldest has, ms. */
  get backlog(): { readonly events: number; readonly oldestMs: number } {
    return { events: this.#queue.length, oldestMs: this.#queue.oldestMs };
  }

  /** Called after the commit of a change of status. Must not throw. Returns a function that unregisters. */
  onTransition(listener: (change: StatusChange) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Called after each commit, for each stream whose position it moved. Must not throw. Returns a function that unregisters. */
  onPosition(listener: (position: StreamPosition) => void): () => void {
    this.#positionListeners.add(listener);
    return () => this.#positionListeners.delete(listener);
  }

  /**
   * Queues a message of a stream. Tokens are checked here; the message is recorded whole, so that its
   * position moves with its results. Resolves when the next one may come.
   */
  record({ region, agent, results, position }: ResultMessage): Promise<void> | undefined {
    const valid = region === null ? [] : results.filter((result) => this.#isValid(result, region));
    for (const result of valid) this.#parts.onRead(result);
    const isUrgent = region !== null && valid.some((result) => this.#isNews(result, region));
    this.#queue.push({ kind: 'message', region, agent, results: valid, position }, isUrgent);
    if (region !== null) this.#tellArrived(valid, region);
    return this.#queue.room();
  }

  /** Applies changes of the declaration. `until`: the last of them in the log. Resolves after the commit. */
  declare(changes: readonly DeclaredChange[], until: number): Promise<void> {
    return new Promise((onApplied, onFailed) => {
      this.#queue.push({ kind: 'declared', changes, until, onApplied, onFailed }, true);
    });
  }

  /** Has the channels of these monitors told what they were not: after a start, at the end of a hold. */
  announce(monitorIds: Iterable<number>): void {
    for (const monitorId of monitorIds) this.#queue.push({ kind: 'announced', monitorId }, true);
  }

  /** After a start: a commit changes a status and queues its alerts together, so there is something to tell only after a hold. */
  announceAll(): void {
    const { states } = this.#parts;
    const untold = [...states.values()].filter(
      ({ status, links }) => status !== 'unknown' && links.some(({ announced }) => announced !== status),
    );
    this.announce(untold.map(({ id }) => id));
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
    for (const state of this.#parts.states.values()) {
      for (const { slot, answered, isGivenKnown } of state.open) {
        if (!isGivenKnown) yield { monitorId: state.id, slot, answered: regionsOf(answered) };
      }
    }
  }

  resume(monitor: LiveMonitor, slot: number, waitedFor: readonly Region[]): void {
    this.#pushLocal({ kind: 'resumed', monitor, slot, regions: regionSet(waitedFor) });
  }

  /**
   * Ends the restart: slots that {@link resume} did not name wait for nobody, and from here on deadlines
   * and ages are looked at. To be called when the heartbeats were heard and the reading of the streams
   * has caught up; happens by itself 30 s after the start.
   */
  resumed(): void {
    this.#cancelResume();
    this.#hasResumed = true;
    for (const state of this.#parts.states.values()) {
      if (state.open.some((open) => !open.isGivenKnown)) {
        this.#queue.push({ kind: 'resumed-all', monitorId: state.id }, false);
      }
    }
    this.#deadlines.start();
  }

  /** Resolves when everything queued until now is recorded, or this is stopped. */
  flushed(): Promise<void> {
    return this.#queue.flushed();
  }

  async #record(batch: readonly RecorderEvent[]): Promise<void> {
    const evaluated = this.#evaluate(batch, await this.#priors(batch));
    const { evaluation, positions, changesUntil } = evaluated;
    const ids = await this.#parts.store.record({
      writes: evaluation.writes,
      positions: [...positions.values()],
      changesUntil,
    });
    this.#committed(batch, evaluated, ids);
  }

  /** What of the batch is recorded already, as far as only the store knows. */
  async #priors(batch: readonly RecorderEvent[]): Promise<ReadonlyMap<CheckResult, Outcome | null>> {
    const evaluation = this.#newEvaluation();
    const asked: { result: CheckResult; key: ResultKey }[] = [];
    for (const event of batch) {
      if (event.kind !== 'message' || event.region === null) continue;
      const { region } = event;
      for (const result of event.results) {
        if (!evaluation.needsPrior(result, region)) continue;
        asked.push({ result, key: { monitorId: result.monitor, slot: result.slot, region } });
      }
    }
    if (asked.length === 0) return new Map();
    const outcomes = await this.#parts.store.recordedOutcomes(asked.map(({ key }) => key));
    return new Map(asked.map(({ result }, index) => [result, outcomes[index] ?? null]));
  }

  #evaluate(batch: readonly RecorderEvent[], priors: ReadonlyMap<CheckResult, Outcome | null>): Evaluated {
    const evaluation = this.#newEvaluation();
    const reported: RecordedResult[] = [];
    const givenBack = new Set<CheckResult>();
    const positions = new Map<string, StreamPosition>();
    let changesUntil: number | null = null;
    for (const event of batch) {
      if (event.kind === 'message') {
        this.#report(evaluation, event, priors, reported, givenBack);
        if (event.position !== null) positions.set(event.position.stream, event.position);
      } else {
        tell(evaluation, event);
        if (event.kind === 'declared') changesUntil = event.until;
      }
    }
    evaluation.finish();
    return { evaluation, positions, changesUntil, reported, givenBack };
  }

  #report(
    evaluation: Evaluation,
    { region, agent, results }: MessageEvent,
    priors: ReadonlyMap<CheckResult, Outcome | null>,
    reported: RecordedResult[],
    givenBack: Set<CheckResult>,
  ): void {
    if (region === null) return;
    for (const result of results) {
      const monitor = evaluation.monitor(result.monitor);
      // Removed since it was queued.
      if (monitor === undefined) continue;
      const isOfferedAgain = this.#isOfferedAgain(result, region);
      if (isOfferedAgain) givenBack.add(result);
      const prior = priors.get(result) ?? null;
      const isNew = evaluation.reported(monitor, { result, region, agent, prior, isOfferedAgain });
      reported.push({ result, monitor, region, isNew });
    }
  }

  #isOfferedAgain({ outcome, monitor, slot, reason }: CheckResult, region: Region): boolean {
    if (outcome !== 'not_run') return false;
    return this.#parts.slots.isOfferedAgain(monitor, slot, region, reason ?? 'internal-error');
  }

  #committed(
    batch: readonly RecorderEvent[],
    { evaluation, positions, reported, givenBack }: Evaluated,
    deliveryIds: readonly (number | null)[],
  ): void {
    this.#applyStates(evaluation);
    for (const event of batch) if (event.kind === 'declared') this.#declared(event.changes);
    this.#counts.transactions += 1;
    this.#countResults(reported);
    for (const position of positions.values()) this.#moved(position);
    this.#settle(reported, givenBack);
    this.feed.tell(reported);
    this.#tellChanges(evaluation);
    evaluation.writes.deliveries.forEach((delivery, index) => {
      const id = deliveryIds[index] ?? null;
      if (id !== null) this.#parts.onQueued(id, delivery);
    });
    for (const event of batch) if (event.kind === 'declared') event.onApplied();
  }

  #applyStates(evaluation: Evaluation): void {
    const { states } = this.#parts;
    for (const [id, state] of evaluation.drafts.entries()) {
      if (state === null) {
        states.delete(id);
        continue;
      }
      states.set(state);
      this.#arm(state, evaluation.frame.now);
    }
  }

  #declared(changes: readonly DeclaredChange[]): void {
    for (const change of changes) {
      if (change.kind === 'monitor') this.#parts.onDeclared(change.monitorId, change.monitor);
    }
  }

  #countResults(reported: readonly RecordedResult[]): void {
    this.#counts.results += reported.length;
    for (const { isNew } of reported) if (!isNew) this.#counts.duplicates += 1;
  }

  #moved(position: StreamPosition): void {
    this.#positions.set(position.stream, position);
    for (const listener of this.#positionListeners) listener(position);
  }

  #settle(reported: readonly RecordedResult[], givenBack: ReadonlySet<CheckResult>): void {
    const { slots } = this.#parts;
    for (const { result, region } of reported) {
      const { monitor: monitorId, slot } = result;
      const is = givenBack.has(result) ? 'given-back' : 'reported';
      const { reason, timed_out } = result;
      slots.settled({ monitorId, slot, region, is, timedOut: timed_out === true, reason });
    }
  }

  #tellChanges(evaluation: Evaluation): void {
    for (const change of evaluation.changes) {
      if (change.to === 'unknown' && !DECLARED.has(change.reason)) this.#becameUnknown(change);
      for (const listener of this.#changeListeners) listener(change);
    }
  }

  #becameUnknown({ monitor: { id, name }, reason }: StatusChange): void {
    this.#drops.add('monitor-unknown', { monitor: id, name, reason }, 'monitors have become unknown');
  }

  #newEvaluation(): Evaluation {
    const { states, monitors, rollups, clock, slotClock, newKey, isHeld, closesIncidents } = this.#parts;
    // First: this is what notices a jump.
    const slotNow = slotClock.now();
    const { jumpedMs, jumpedAt } = slotClock;
    const wall = Math.floor(clock.wall());
    return new Evaluation({
      states,
      monitors,
      instants: { wall, slotNow, monotonic: clock.monotonic(), jumpedMs, jumpedAt },
      electable: this.#electable(),
      rolledUpUntil: rollups.claimedUntil,
      isHeld,
      newKey,
      closesIncidents,
      isTimeUp: this.#hasResumed,
    });
  }

  #electable(): RegionSet {
    const { presence } = this.#parts;
    let set = NO_REGIONS;
    for (const region of ALL) if (presence.hadAgentWithin24h(region)) set |= bitOf(region);
    return set;
  }

  /** At the start, and when votes have become older at once. */
  #armAll(): void {
    for (const state of this.#parts.states.values()) this.#arm(state, Number.NEGATIVE_INFINITY);
  }

  /** Has the monitor looked at when it is time, votes that expired before `now` aside. */
  #arm(state: Readonly<MonitorState>, now: number): void {
    const at = nextInstant(state, now, this.#parts.slotClock.jumpedMs);
    if (at !== null) this.#deadlines.arm(state.id, at);
  }

  #lookAt(monitorId: number): void {
    const { clock, states, slotClock } = this.#parts;
    const state = states.get(monitorId);
    if (state === undefined) return;
    const monotonic = clock.monotonic();
    const { jumpedMs } = slotClock;
    if (isDue(state, monotonic, jumpedMs)) this.#queue.push({ kind: 'due', monitorId }, false);
    else this.#arm(state, monotonic + jumpedMs);
  }

  /** A `not_run` may be offered again, which is found out when it is evaluated. */
  #tellArrived(results: readonly CheckResult[], region: Region): void {
    for (const { outcome, monitor, slot } of results) {
      if (outcome !== 'not_run') this.#parts.slots.arrived(monitor, slot, region);
    }
  }

  #isValid({ monitor, slot, token }: CheckResult, region: Region): boolean {
    const { tokens, monitors } = this.#parts;
    if (!tokens.isValid(token, monitor, region, slot)) {
      this.#drops.add('bad-token', { monitor, slot, region }, 'dropped a result without a valid token');
      return false;
    }
    if (monitors.get(monitor) !== undefined) return true;
    this.#drops.add('unknown-monitor', { monitor, slot, region }, 'dropped a result of an unknown monitor');
    return false;
  }

  /** It differs from what the region said last: nobody is to wait for it. */
  #isNews({ monitor, outcome }: CheckResult, region: Region): boolean {
    if (outcome === 'not_run') return false;
    const votes = this.#parts.states.get(monitor)?.votes;
    return votes?.find((vote) => vote.region === region)?.outcome !== outcome;
  }

  #pushLocal(event: SlotEvent): void {
    if (this.#queue.length >= WAITING_EVENTS) {
      this.#drops.add('event-overflow', {}, 'the database takes nothing: dropped what dispatch told');
      return;
    }
    this.#queue.push(event, false);
  }

  #setAside(event: RecorderEvent, error: unknown): void {
    const result = event.kind === 'message' ? event.results[0] : undefined;
    const details = { error, event: event.kind, monitor: result?.monitor, slot: result?.slot };
    this.#drops.add('unrecordable', details, 'set aside what cannot be recorded');
    if (event.kind === 'declared') event.onFailed(error);
  }
}

const ALL = regionsOf(ALL_REGIONS);

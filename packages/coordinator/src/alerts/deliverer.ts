import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/totals.ts';
import type { DeliveryStep } from '../store/alerts/delivery-ledger.ts';
import type { LaneId, QueuedDelivery, WaitingChannel } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { StoreError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { LONGEST_WAIT_MS, RETRY_AFTER_MAXIMUM_MS } from '../verdict/backoff.ts';
import { Ages } from './ages.ts';
import { Attempting } from './attempting.ts';
import { reasonOf, type SendResult } from './channel.ts';
import {
  type ChannelQueue,
  type ChannelSource,
  type FoundChannel,
  factsOfQueue,
  freeMessages,
  newQueue,
  tokensOf,
} from './channel-queue.ts';
import {
  alertOf,
  GROUP_MEMBERS,
  Groups,
  groupWindow,
  isGroupable,
  messageIdOf,
  oldestOf,
  type Turn,
  threadOf,
} from './groups.ts';
import { KindRates } from './kind-rates.ts';
import { Ledger } from './ledger.ts';
import { type EndedAttempt, inContext, leftOutStep, nextStep } from './next-step.ts';
import { NO_MONITOR } from './notices.ts';
import { Places } from './places.ts';
import type { Send } from './sender.ts';

export type DelivererParts = {
  store: Store;
  /** Opens and seals the secret parts of queued alerts. */
  secrets: Secrets;
  clock: Clock;
  log: Logger;
  send: Send;
  source: ChannelSource;
  /** Address that messages of svc about itself show. */
  publicUrl: string;
  /** Uniform in [0, 1), for the spread of attempts. */
  random?: () => number;
};

/** Time that {@link Deliverer.stop} gives running sends to end by themselves, ms. */
const STOP_GRACE_MS = 1_000;
/** Wait after a failed read or write of the database, ms. */
const TRY_AGAIN_MS = 1_000;
/** Time after "too many requests" in which a channel gets one message at a time, ms. */
const CAREFUL_MS = 60_000;
/** Most deliveries that are left out at once, because their channel is stopped. */
const LEFT_OUT_AT_ONCE = 100;
/** Time for which the state of a channel without deliveries is kept, ms. */
const IDLE_MS = 10 * 60_000;
const SWEEP_EVERY_MS = 60_000;

/** An attempt that is recorded. */
export type FinishedAttempt = EndedAttempt & {
  readonly delivery: QueuedDelivery;
  /** When the delivery is tried again, epoch ms; null when it is over: delivered or given up. */
  readonly nextAttemptAt: number | null;
};

/** A test and what became of it. */
export type TestedDelivery = {
  readonly deliveryId: number;
  /** Epoch ms. */
  readonly at: number;
  readonly durationMs: number;
  readonly result: SendResult;
  /** The channel's stored kind. */
  readonly kind: string;
};

/**
 * Sends the alerts of the outbox at least once, in order per monitor and channel. Channels are independent of
 * each other. A delivery that was made but not recorded, because of a crash in between, is sent again with
 * the same id.
 *
 *     queued, changed, ──▶ look: what is due of the channel? ──▶ sending ──▶ recorded ─┐
 *     a time is over         ▲      └─ left out ──▶ recorded ─┐                        │
 *                            └────────────────────────────────┴────────────────────────┘
 *
 * The database says what is due: of each monitor and channel the oldest pending delivery, once its wait is over.
 * A look begins messages while the channel may have more at once, its receiver takes them (`Retry-After`, the rates
 * of its vendor), and there is a place. Whatever it did not begin is found by the next look.
 */
export class Deliverer {
  /** Counts since the deliverer was created. */
  readonly counters = createTotals(DELIVERY_COUNTERS);
  readonly #parts: DelivererParts;
  readonly #random: () => number;
  readonly #ledger: Ledger;
  readonly #attempting: Attempting;
  readonly #ages: Ages;
  readonly #groups = new Groups();
  readonly #places = new Places();
  /** Queues that found no place, in the order in which they came. */
  readonly #starved = new Set<ChannelQueue>();
  readonly #kinds: KindRates;
  readonly #queues = new Map<number, ChannelQueue>();
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(attempt: FinishedAttempt) => void>();
  /** Wall time less monotonic time at the creation, ms: waits go by a clock that is never set. */
  readonly #wallOffset: number;
  /** Deliveries up to this id are from before the start: an unrecorded attempt may have been made. */
  #lastIdBefore = 0;
  #cancelSweep: () => void = () => {};
  #state: 'new' | 'loading' | 'running' | 'stopped' = 'new';

  constructor(parts: DelivererParts) {
    const { clock } = parts;
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#ages = new Ages(clock);
    this.#ledger = new Ledger({ ...parts, onQueued: (queued) => this.wake(queued) });
    this.#attempting = new Attempting({ ...parts, counters: this.counters });
    this.#kinds = new KindRates(clock, (queue) => this.#look(queue));
    this.#wallOffset = clock.wall() - clock.monotonic();
  }

  /** Messages in progress, with what is looked up for them. */
  get sending(): number {
    return this.#running.size;
  }

  /** The channels with pending deliveries. */
  waiting(): Promise<readonly WaitingChannel[]> {
    return this.#ledger.waiting();
  }

  /** Time since a stored instant, epoch ms, in ms. A clock that was set meanwhile does not change it. */
  ageOf(at: number): number {
    return this.#ages.of(at);
  }

  /** Starts all pending deliveries. Deliveries that are queued meanwhile are started too. */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    this.#state = 'loading';
    this.#lastIdBefore = await this.#ledger.lastId();
    const due = await this.#ledger.dueChannels(this.#now() + LONGEST_WAIT_MS);
    if (this.#state !== 'loading') return;
    this.#state = 'running';
    this.#ages.start();
    this.#cancelSweep = clock.every(SWEEP_EVERY_MS, () => this.#sweep());
    const woken = [...this.#queues.values()];
    for (const { notificationId, dueAt } of due) this.#lookFrom(this.#queueOf(notificationId), dueAt);
    for (const queue of woken) this.#look(queue);
  }

  /** Running sends may end by themselves for 1 s, then they are cut off. Unrecorded attempts stay pending. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#ages.stop();
    this.#cancelSweep();
    this.#kinds.stop();
    for (const queue of this.#queues.values()) queue.cancelTimer();
    const cancelGrace = this.#parts.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    while (this.#running.size > 0) await Promise.all(this.#running);
    cancelGrace();
    await this.#ledger.close();
  }

  /** A delivery of the channel was committed: it is new, or a dead one is pending again. */
  wake({ notificationId }: Pick<LaneId, 'notificationId'>): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    this.#look(this.#queueOf(notificationId));
  }

  /** The channel's settings were changed: what was learned about it does not count any more. */
  channelChanged(notificationId: number): void {
    const queue = this.#queues.get(notificationId);
    if (queue !== undefined) this.#takeUp(queue);
  }

  /** The channel is gone: nothing more is sent to it. */
  channelRemoved(notificationId: number): void {
    const queue = this.#queues.get(notificationId);
    if (queue !== undefined) this.#forget(queue);
  }

  /**
   * Registers a listener for each attempt after its record is committed. Returns a function that unregisters
   * it.
   */
  onRecorded(listener: (attempt: FinishedAttempt) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Sends an alert past the queue: a test. The ledger stores it. Where it is delivered, or finds a dead address, what
   * waits for the channel is tried after it. The channel must exist.
   *
   * @throws StoreError
   */
  async test(notificationId: number, alert: Alert, thread: string | null): Promise<TestedDelivery> {
    const { clock, source } = this.#parts;
    const uid = randomUUID();
    const at = clock.wall();
    const startedAt = clock.monotonic();
    const found = await source.find(notificationId);
    if (found === null) throw new StoreError('store-constraint', `there is no channel ${notificationId}`);
    const queue = this.#queues.get(notificationId);
    if (queue !== undefined) tokensOf(queue, found)?.take(startedAt);
    const { signal } = this.#abort;
    const context = { deliveryId: uid, attemptAt: at, signal, thread, kept: found.kept };
    const result = await this.#attempting.attempt(found, alert, context);
    const durationMs = clock.monotonic() - startedAt;
    const delivery = { uid, notificationId, monitorId: NO_MONITOR, alert, queuedAt: at };
    const deliveryId = await this.#ledger.recordTest(delivery, { at, durationMs, result });
    if (result.outcome === 'delivered' || result.outcome === 'permanent-channel') {
      this.channelChanged(notificationId);
    }
    return { deliveryId, at, durationMs, result, kind: found.kind };
  }

  /** Epoch ms, on a clock that is not set while the process runs. */
  #now(): number {
    return this.#parts.clock.monotonic() + this.#wallOffset;
  }

  #queueOf(notificationId: number): ChannelQueue {
    let queue = this.#queues.get(notificationId);
    if (queue === undefined) {
      queue = newQueue(notificationId);
      this.#queues.set(notificationId, queue);
    }
    return queue;
  }

  #forget(queue: ChannelQueue): void {
    queue.isRemoved = true;
    queue.cancelTimer();
    this.#starved.delete(queue);
    this.#kinds.forget(queue);
    this.#queues.delete(queue.notificationId);
  }

  #sweep(): void {
    const until = this.#parts.clock.monotonic() - IDLE_MS;
    for (const queue of [...this.#queues.values()]) {
      const isIdle = queue.isEmpty && queue.inProgress.size === 0 && !queue.isLooking;
      if (isIdle && queue.lookedAt < until) this.#forget(queue);
    }
  }

  /** The channel was changed, or works again: what was learned counts no more, and what waits is tried. */
  #takeUp(queue: ChannelQueue): void {
    const { log } = this.#parts;
    const { notificationId } = queue;
    const { heldUntil, pausedUntil, trustedFrom, doubtedAt } = newQueue(notificationId);
    Object.assign(queue, { found: null, heldUntil, pausedUntil, trustedFrom, doubtedAt });
    queue.generation += 1;
    if (this.#state !== 'running') return;
    const hastened = this.#ledger.hasten(notificationId).catch((error: unknown) => {
      log.error({ error: messageOf(error), notificationId }, 'what waits for a channel is tried later only');
    });
    this.#run(hastened.then(() => this.#look(queue)));
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** The next look is at this instant, epoch ms on the clock of {@link #now}. */
  #lookFrom(queue: ChannelQueue, at: number): void {
    queue.cancelTimer();
    const waitMs = at - this.#now();
    if (waitMs > 0) queue.cancelTimer = this.#parts.clock.after(waitMs, () => this.#look(queue));
    else this.#look(queue);
  }

  /** Looks what is due of the channel, and begins as much of it as may begin now. */
  #look(queue: ChannelQueue): void {
    const { found } = queue;
    queue.cancelTimer();
    if (this.#state !== 'running' || queue.isRemoved) return;
    if (queue.isLooking) {
      queue.isToLookAgain = true;
      return;
    }
    const now = this.#parts.clock.monotonic();
    queue.lookedAt = now;
    if (queue.pausedUntil > now) {
      this.#lookFrom(queue, queue.pausedUntil + this.#wallOffset);
      return;
    }
    // The end of a message looks again.
    if (freeMessages(queue, now) === 0) return;
    if (found !== null && !this.#mayBegin(queue, found)) return;
    queue.isLooking = true;
    if (found !== null) this.#places.take(found.workspaceId);
    this.#run(found === null ? this.#lookUp(queue) : this.#lookAt(queue, found));
  }

  /** Looks the channel up, which its first message and each change need. */
  async #lookUp(queue: ChannelQueue): Promise<void> {
    const { notificationId, generation } = queue;
    try {
      const found = await this.#parts.source.find(notificationId);
      if (found === null) this.#forget(queue);
      else if (generation === queue.generation) queue.found = found;
    } catch (error) {
      const { log } = this.#parts;
      log.error({ error: messageOf(error), notificationId }, 'looking up a channel failed: svc tries again');
      this.#pause(queue);
    }
    queue.isLooking = false;
    this.#look(queue);
  }

  async #lookAt(queue: ChannelQueue, found: FoundChannel): Promise<void> {
    const { notificationId } = queue;
    const free = freeMessages(queue, this.#parts.clock.monotonic());
    const limit = found.stoppedFor === null ? free + 1 : LEFT_OUT_AT_ONCE;
    try {
      const exceptMonitors = queue.inProgress;
      const next = this.#ledger.next({ notificationId, exceptMonitors, limit });
      const deliveries = await next.finally(() => this.#places.give(found.workspaceId));
      // The channel was changed meanwhile.
      if (found !== queue.found) queue.isToLookAgain = true;
      else if (this.#state === 'running' && !queue.isRemoved) this.#begin(queue, found, deliveries);
    } catch (error) {
      this.#attempting.ownFailure(error, { notificationId });
      this.#pause(queue);
      queue.isToLookAgain = true;
    }
    queue.isLooking = false;
    if (queue.isToLookAgain) {
      queue.isToLookAgain = false;
      this.#look(queue);
    }
    this.#lookAtStarved();
  }

  /** The database failed: the channel waits for it. */
  #pause(queue: ChannelQueue): void {
    this.counters.failures.own += 1;
    queue.pausedUntil = this.#parts.clock.monotonic() + TRY_AGAIN_MS;
  }

  /** Whether a message may begin now. If not, the channel is looked at when it may. */
  #mayBegin(queue: ChannelQueue, found: FoundChannel): boolean {
    if (found.stoppedFor === null) {
      const now = this.#parts.clock.monotonic();
      const at = Math.max(queue.heldUntil, tokensOf(queue, found)?.availableAt(now) ?? now);
      if (at > now) {
        this.#lookFrom(queue, at + this.#wallOffset);
        return false;
      }
      if (!this.#kinds.mayBegin(queue, found)) return false;
    }
    if (this.#places.hasFor(found.workspaceId)) return true;
    this.#starved.add(queue);
    return false;
  }

  /** A place is free: those that found none are looked at, the first first. */
  #lookAtStarved(): void {
    for (const queue of this.#starved) {
      if (queue.found !== null && !this.#places.hasFor(queue.found.workspaceId)) continue;
      this.#starved.delete(queue);
      this.#look(queue);
    }
  }

  /** @param deliveries of different monitors, those that are due first */
  #begin(queue: ChannelQueue, found: FoundChannel, deliveries: readonly QueuedDelivery[]): void {
    queue.isEmpty = deliveries.length === 0;
    for (const delivery of deliveries) if (!this.#beginOne(queue, found, delivery)) return;
  }

  /** Answers whether the next one may begin too. */
  #beginOne(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): boolean {
    if (delivery.dueAt > this.#now()) {
      this.#lookFrom(queue, delivery.dueAt);
      return false;
    }
    const step = this.#leftOut(queue, found, delivery);
    if (step !== null) {
      if (step.state === 'dead') this.#countStopped();
      queue.inProgress.add(delivery.monitorId);
      this.#run(this.#record(queue, delivery, step));
      return true;
    }
    const now = this.#parts.clock.monotonic();
    if (freeMessages(queue, now) === 0 || !this.#mayBegin(queue, found)) return false;
    const turn = this.#turnOf(queue, found, delivery);
    if (turn.as === 'collected') {
      // Once only: the wall clock may have been set back.
      if (queue.collecting?.id !== delivery.id) {
        queue.collecting = { id: delivery.id, until: now + turn.waitMs };
      }
      if (queue.collecting.until > now) {
        this.#lookFrom(queue, queue.collecting.until + this.#wallOffset);
        return false;
      }
    }
    this.#start(queue, found, delivery, turn);
    return !queue.isGrouping;
  }

  #leftOut(queue: ChannelQueue, { stoppedFor }: FoundChannel, delivery: QueuedDelivery): DeliveryStep | null {
    const moment = { ageMs: this.#ages.of(delivery.createdAt), lastIdBefore: this.#lastIdBefore };
    return leftOutStep(delivery, { facts: factsOfQueue(queue), stoppedFor }, moment);
  }

  /** An alert is dead without an attempt, because its channel is stopped. */
  #countStopped(): void {
    this.counters.failures.stopped += 1;
    this.counters.dead += 1;
  }

  #turnOf(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): Turn {
    if (!this.#isGroupable(queue, found, delivery)) return { as: 'alone' };
    return this.#groups.turnOf(found.workspaceId, delivery, this.#parts.clock.wall());
  }

  #isGroupable(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): boolean {
    return !queue.alone.has(delivery.id) && isGroupable(factsOfQueue(queue), found, delivery);
  }

  /** Begins a message; {@link #mayBegin} said that it may. */
  #start(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery, turn: Turn): void {
    const now = this.#parts.clock.monotonic();
    tokensOf(queue, found)?.take(now);
    this.#kinds.take(found, now);
    this.#places.take(found.workspaceId);
    queue.inProgress.add(delivery.monitorId);
    queue.sending += 1;
    queue.isGrouping = turn.as !== 'alone';
    this.#run(this.#send(queue, found, delivery, turn));
  }

  /** Sends the delivery alone or with its group, and records the attempt. All errors end here. */
  async #send(queue: ChannelQueue, found: FoundChannel, first: QueuedDelivery, turn: Turn): Promise<void> {
    let members: readonly QueuedDelivery[] = [first];
    try {
      if (turn.as !== 'alone') members = await this.#groupOf(queue, found, first, turn);
      await this.#attempt(queue, found, members);
    } catch (error) {
      const { id: deliveryId, notificationId, monitorId } = first;
      this.#attempting.ownFailure(error, { deliveryId, notificationId, monitorId });
      for (const member of members) queue.inProgress.delete(member.monitorId);
      this.#pause(queue);
    }
    queue.sending -= 1;
    if (turn.as !== 'alone') queue.isGrouping = false;
    this.#places.give(found.workspaceId);
    this.#look(queue);
    this.#lookAtStarved();
  }

  /**
   * The delivery with all others of its group that are not being sent, in the order of their ids. A group that may
   * have arrived stays as it is, and so does its id: a receiver that drops repetitions by it must not drop further
   * alerts with them.
   *
   * @throws StoreError
   */
  async #groupOf(
    queue: ChannelQueue,
    found: FoundChannel,
    first: QueuedDelivery,
    turn: Turn,
  ): Promise<readonly QueuedDelivery[]> {
    const { notificationId, groupUid } = first;
    const others = await this.#ledger.groupable({
      notificationId,
      exceptMonitors: queue.inProgress,
      limit: GROUP_MEMBERS - 1,
      queued: groupWindow(first),
      groupUid,
    });
    const isMember = (one: QueuedDelivery) =>
      this.#isGroupable(queue, found, one) && this.#leftOut(queue, found, one) === null;
    const members = [first, ...others.filter(isMember)].sort((one, other) => one.id - other.id);
    if (members.length === 1) return members;
    if (turn.as === 'grouped-if-many' && !this.#groups.areMany(found.workspaceId, [first, ...others])) {
      return [first];
    }
    if (groupUid === null) {
      await this.#ledger.joinGroup(
        members.map(({ id }) => id),
        messageIdOf(members),
      );
    }
    for (const { monitorId } of members) queue.inProgress.add(monitorId);
    return members;
  }

  /** Makes one attempt for these deliveries, in one message, and records it for each. */
  async #attempt(
    queue: ChannelQueue,
    found: FoundChannel,
    members: readonly QueuedDelivery[],
  ): Promise<void> {
    const { clock } = this.#parts;
    const { generation } = queue;
    const { signal } = this.#abort;
    const at = clock.wall();
    const startedAt = clock.monotonic();
    const alert = alertOf(members, this.#ages.of(oldestOf(members)));
    const sent = await this.#attempting.attempt(found, alert, {
      deliveryId: messageIdOf(members),
      attemptAt: at,
      signal,
      thread: threadOf(members),
      kept: found.kept,
    });
    // The stop cut it off, and nobody knows whether it arrived. It stays as it was and is sent again.
    if (signal.aborted && sent.outcome !== 'delivered') return;
    const endedAt = clock.monotonic();
    const isFormer = generation !== queue.generation;
    const doubtedMs = queue.doubtedAt === null ? null : endedAt - queue.doubtedAt;
    const result = inContext(sent, { isFormer, doubtedMs });
    const attempt = { at, durationMs: endedAt - startedAt, result };
    const moment = { now: this.#now(), random: this.#random(), isOfMany: members.length > 1 };
    const steps = members.map((delivery) => {
      const ageMs = this.#ages.of(delivery.replayedAt ?? delivery.createdAt);
      return [delivery, nextStep(delivery, attempt, { ...moment, ageMs })] as const;
    });
    const [[, first] = []] = steps;
    if (!isFormer) this.#noteAnswer(queue, result, (first?.nextAttemptAt ?? 0) - moment.now);
    if (moment.isOfMany && result.outcome === 'permanent-message') {
      for (const { id } of members) queue.alone.add(id);
    }
    // A receiver that has just proved to work takes more at once, also while the record is written.
    this.#look(queue);
    await Promise.all(
      steps.map(async ([delivery, step]) => {
        this.#report(delivery, step, result);
        await this.#record(queue, delivery, step, { ...attempt, delivery });
      }),
    );
    if (result.outcome === 'delivered' && found.stoppedFor !== null) this.#takeUp(queue);
  }

  /**
   * Notes what an answer says about the channel: whether it works, when it takes more, whether its address is dead.
   *
   * @param waitMs until the delivery is tried again
   */
  #noteAnswer(queue: ChannelQueue, result: SendResult, waitMs: number): void {
    const now = this.#parts.clock.monotonic();
    switch (result.outcome) {
      case 'delivered':
        queue.doubtedAt = null;
        if (queue.trustedFrom === Number.POSITIVE_INFINITY) queue.trustedFrom = now;
        if (result.kept !== undefined && queue.found !== null) {
          queue.found = { ...queue.found, kept: result.kept };
        }
        return;
      case 'retry': {
        const isTooMuch = reasonOf(result) === 'rate-limited';
        queue.trustedFrom = isTooMuch ? now + CAREFUL_MS : Number.POSITIVE_INFINITY;
        const asked = result.retryAfterMs ?? (isTooMuch ? waitMs : 0);
        queue.heldUntil = Math.max(queue.heldUntil, now + Math.min(asked, RETRY_AFTER_MAXIMUM_MS));
        if (result.mayBeDead === true) queue.doubtedAt ??= now;
        return;
      }
      case 'permanent-channel':
        // At once, not with the record: what is due would be sent meanwhile.
        if (queue.found !== null) queue.found = { ...queue.found, stoppedFor: result.error };
        return;
      case 'permanent-message':
      case 'not-sent':
        return;
      default:
        result satisfies never;
    }
  }

  #report(
    { id: deliveryId, notificationId, monitorId }: QueuedDelivery,
    { state, nextAttemptAt, error: reason }: DeliveryStep,
    { outcome }: SendResult,
  ): void {
    const { log } = this.#parts;
    const ids = { deliveryId, notificationId, monitorId };
    if (state === 'dead') {
      this.counters.dead += 1;
      log.warn({ ...ids, outcome, reason }, 'gave up the delivery of an alert');
    } else if (state === 'pending') {
      log.info({ ...ids, reason, nextAttemptAt }, 'the delivery of an alert failed: svc tries again later');
    }
  }

  /** Resolves when the step is recorded, or when the stop does not wait for that any more. */
  #record(
    queue: ChannelQueue,
    { id, monitorId }: QueuedDelivery,
    step: DeliveryStep,
    attempt: Omit<FinishedAttempt, 'nextAttemptAt'> | null = null,
  ): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const giveUp = () => resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      // After the grace of the stop nobody waits any more. The ledger still tries once when it closes.
      if (signal.aborted) resolve();
      this.#ledger.record(step, () => {
        signal.removeEventListener('abort', giveUp);
        queue.inProgress.delete(monitorId);
        const { state, nextAttemptAt } = step;
        if (state !== 'pending') queue.alone.delete(id);
        this.#look(queue);
        if (attempt !== null) for (const listener of this.#listeners) listener({ ...attempt, nextAttemptAt });
        resolve();
      });
    });
  }
}

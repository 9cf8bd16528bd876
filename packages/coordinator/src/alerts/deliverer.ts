import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import type { DeliveryStep } from '../store/alerts/delivery-ledger.ts';
import type { DeliveryPair, QueuedDelivery, WaitingChannel } from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { StoreError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { LOOK_AT_CLOCK_EVERY_MS, PassedTime } from '../verdict/passed-time.ts';
import type { SendResult } from './channel.ts';
import {
  type ChannelQueue,
  factsOfQueue,
  freeMessages,
  newQueue,
  noteAnswer,
  tokensOf,
} from './channel-queue.ts';
import {
  alertOf,
  GROUP_MEMBERS,
  Groups,
  groupWindow,
  isGroupable,
  mayShareMessage,
  messageIdOf,
  oldestOf,
  type Turn,
  threadOf,
} from './groups.ts';
import { Ledger, type LedgerParts } from './ledger.ts';
import { type EndedAttempt, inContext, leftOutStep, nextStep } from './next-step.ts';
import { NO_MONITOR } from './notices.ts';
import { Attempts, type ChannelSource, type FoundChannel, type Send } from './sender.ts';
import { KindRates, Places } from './sending-limits.ts';

export type DelivererParts = {
  store: Store;
  /** Opens and seals the secret parts of queued alerts. */
  secrets: Secrets;
  /** Makes the ids of messages about stopped channels. */
  ids: LedgerParts['ids'];
  clock: Clock;
  log: Logger;
  send: Send;
  source: ChannelSource;
  /** Public URL of svc, for messages of svc about itself. */
  publicUrl: string;
  /**
   * Returns a random number, uniform in [0, 1). Such numbers
   * spread the attempts of many deliveries over time.
   */
  random?: () => number;
};

/** Time that {@link Deliverer.stop} waits for messages in progress, ms. */
const STOP_GRACE_MS = 1_000;
/** Time for which a channel is paused after a failure of the deliverer, such as a failed read, ms. */
const TRY_AGAIN_MS = 1_000;
/**
 * Maximum number of deliveries that one read returns for a stopped channel. All of them are left out except
 * replays.
 */
const LEFT_OUT_AT_ONCE = 100;
/** Minimum time for which the state of a channel without deliveries is kept, ms. */
const IDLE_MS = 10 * 60_000;

/** An attempt that has ended and is recorded. */
export type FinishedAttempt = EndedAttempt & {
  readonly delivery: QueuedDelivery;
  /** When the next attempt is due, epoch ms; null: the delivery was delivered or given up. */
  readonly nextAttemptAt: number | null;
};

/** A test alert and its result. */
export type TestedDelivery = {
  readonly deliveryId: number;
  /** Start of the attempt, epoch ms. */
  readonly at: number;
  readonly durationMs: number;
  readonly result: SendResult;
  /** The channel's stored kind. */
  readonly kind: string;
};

/**
 * Sends the alerts of the outbox. The alerts of a monitor reach a channel in order, except replayed ones. An
 * alert that is neither left out nor given up is delivered at least once: after a crash between a send and its
 * record, it is sent again, with the same id. A channel that fails does not delay the others.
 *
 *     queued, changed, ──▶ read the channel's ──▶ sending ──▶ recorded ─┐
 *     a wait is over       due deliveries                               │
 *                            ▲   └─ left out ──▶ recorded ─┐            │
 *                            └─────────────────────────────┴────────────┘
 *
 * The database says which deliveries are due: for each monitor and channel, the oldest pending delivery
 * once its wait is over. After a read, messages begin while three limits allow it: the maximum number
 * of messages at once per channel, the pace of the receiver (`Retry-After`, the rates of its vendor),
 * and the places over all channels. A delivery that could not begin is found by the next read.
 */
export class Deliverer {
  /** Counts since the deliverer was created. */
  readonly counters = createTotals(DELIVERY_COUNTERS);
  readonly #parts: DelivererParts;
  readonly #random: () => number;
  readonly #ledger: Ledger;
  readonly #attempts: Attempts;
  readonly #passed: PassedTime;
  readonly #groups = new Groups();
  readonly #places = new Places();
  /** Channels that wait for a free place, in the order in which they came. */
  readonly #starved = new Set<ChannelQueue>();
  readonly #kinds: KindRates;
  readonly #queues = new Map<number, ChannelQueue>();
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(attempt: FinishedAttempt) => void>();
  /**
   * Wall time minus monotonic time when the deliverer was created, ms. The ends of waits are compared
   * with the monotonic time plus this offset, so that a change of the wall clock does not move them.
   */
  readonly #wallOffset: number;
  /**
   * Deliveries up to this id were queued before the start. An
   * earlier process may have sent them without recording it.
   */
  #lastIdBefore = 0;
  /** The next call of {@link findQueuedElsewhere} looks only for ids that are higher than this one. */
  #lastIdSeen = 0;
  #cancelSweep: () => void = () => {};
  #state: 'new' | 'loading' | 'running' | 'stopped' = 'new';

  constructor(parts: DelivererParts) {
    const { clock } = parts;
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#passed = new PassedTime(clock.wall(), clock.monotonic());
    this.#ledger = new Ledger({ ...parts, onQueued: (queued) => this.deliverQueued(queued) });
    this.#attempts = new Attempts({ ...parts, counters: this.counters });
    this.#kinds = new KindRates(clock, (queue) => this.#readDue(queue));
    this.#wallOffset = clock.wall() - clock.monotonic();
  }

  /** Number of running tasks: messages, and reads and writes of the database. Tests are not counted. */
  get sending(): number {
    return this.#running.size;
  }

  /** Reads the channels, and the recipients of status pages, with pending deliveries. */
  waitingChannels(): Promise<readonly WaitingChannel[]> {
    return this.#ledger.waitingChannels();
  }

  /**
   * Time since a stored instant, ms, >= 0. If the wall clock was set forward by two minutes or more since that
   * instant, while this process was running, the result is not longer for that. If the wall clock was set
   * back, the result may be too short.
   *
   * @param at epoch ms
   */
  ageOf(at: number): number {
    this.#compareClocks();
    return this.#passed.since(at);
  }

  #compareClocks(): void {
    const { clock } = this.#parts;
    this.#passed.compareClocks(clock.wall(), clock.monotonic());
  }

  /** Starts to send all pending deliveries, including those that are queued during the start. */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    this.#state = 'loading';
    this.#lastIdBefore = await this.#ledger.lastId();
    this.#lastIdSeen = this.#lastIdBefore;
    const due = await this.#ledger.dueAtStart(this.#now());
    if (this.#state !== 'loading') return;
    this.#state = 'running';
    this.#cancelSweep = clock.every(LOOK_AT_CLOCK_EVERY_MS, () => this.#sweep());
    const queuedMeanwhile = [...this.#queues.values()];
    for (const { notificationId, dueAt } of due) this.#readDueAt(this.#queueOf(notificationId), dueAt);
    for (const queue of queuedMeanwhile) this.#readDue(queue);
  }

  /**
   * Waits 1 s at most for messages in progress, and then aborts them.
   * A delivery whose attempt was not recorded stays pending.
   */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelSweep();
    this.#kinds.stop();
    for (const queue of this.#queues.values()) queue.cancelTimer();
    const cancelGrace = this.#parts.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    while (this.#running.size > 0) await Promise.all(this.#running);
    cancelGrace();
    await this.#ledger.close();
  }

  /** Sends a delivery that was queued or replayed. Call this after the commit of its transaction. */
  deliverQueued({ notificationId }: Pick<DeliveryPair, 'notificationId'>): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    this.#readDue(this.#queueOf(notificationId));
  }

  /**
   * Sends deliveries that were queued elsewhere: alerts of other shards, and mails of status pages that other
   * coordinators queue. One call finds at most 1,000 deliveries.
   *
   * @throws StoreError
   */
  async findQueuedElsewhere(): Promise<void> {
    if (this.#state !== 'running') return;
    for (const { id, notificationId } of await this.#ledger.deliveriesAfter(this.#lastIdSeen)) {
      this.#lastIdSeen = Math.max(this.#lastIdSeen, id);
      this.deliverQueued({ notificationId });
    }
  }

  /**
   * Call this after the channel's settings were changed. The deliverer forgets
   * the channel's earlier answers, and tries its waiting deliveries at once.
   */
  channelChanged(notificationId: number): void {
    const queue = this.#queues.get(notificationId);
    if (queue !== undefined) this.#resume(queue);
  }

  /** Call this after the channel was removed. The deliverer begins no further message to the channel. */
  channelRemoved(notificationId: number): void {
    const queue = this.#queues.get(notificationId);
    if (queue !== undefined) this.#dropQueue(queue);
  }

  /**
   * Registers a listener. It is called for each delivery of each attempt, after the commit of the attempt's
   * record. It is not called for tests. Returns a function that unregisters the listener.
   */
  onRecorded(listener: (attempt: FinishedAttempt) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Sends a test alert without the queue, and records it in the ledger. If
   * the test is delivered, the deliveries that wait for the channel are tried
   * next. If the test shows that the address is dead, they are given up. A test
   * of settings that are changed meanwhile does not stop the channel.
   *
   * @throws StoreError also when there is no such channel
   */
  async sendTest(notificationId: number, alert: Alert, thread: string | null): Promise<TestedDelivery> {
    const { clock, source } = this.#parts;
    const uid = randomUUID();
    const at = clock.wall();
    const startedAt = clock.monotonic();
    const found = await source.findChannel(notificationId);
    if (found === null) throw new StoreError('store-constraint', `there is no channel ${notificationId}`);
    const queue = this.#queueOf(notificationId);
    const { generation } = queue;
    tokensOf(queue, found)?.takeToken(startedAt);
    // The read keeps `queue`, and with it `generation`, for ten minutes. A test never takes so long.
    this.#readDue(queue);
    const { signal } = this.#abort;
    const context = { deliveryId: uid, attemptAt: at, signal, thread, kept: found.kept };
    const result = await this.#attempts.makeAttempt(found, alert, context);
    const durationMs = clock.monotonic() - startedAt;
    const delivery = { uid, notificationId, monitorId: NO_MONITOR, alert, queuedAt: at };
    const isFormer = generation !== queue.generation;
    const deliveryId = await this.#ledger.recordTest(delivery, { at, durationMs, result }, isFormer);
    if (result.outcome === 'delivered' || result.outcome === 'permanent-channel') {
      this.channelChanged(notificationId);
    }
    return { deliveryId, at, durationMs, result, kind: found.kind };
  }

  /**
   * The present time, epoch ms: the wall time when the
   * deliverer was created, plus the monotonic time since then.
   */
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

  #dropQueue(queue: ChannelQueue): void {
    queue.isRemoved = true;
    queue.cancelTimer();
    this.#starved.delete(queue);
    this.#kinds.forgetChannel(queue);
    this.#queues.delete(queue.notificationId);
  }

  /** Compares the clocks, and drops the state of idle channels. */
  #sweep(): void {
    this.#compareClocks();
    const until = this.#parts.clock.monotonic() - IDLE_MS;
    for (const queue of [...this.#queues.values()]) {
      const isIdle = queue.isEmpty && queue.inProgress.size === 0 && !queue.isReading;
      if (isIdle && queue.lastReadAt < until) this.#dropQueue(queue);
    }
  }

  /**
   * Forgets the channel's earlier answers and makes its waiting
   * deliveries due, because the channel was changed or works again.
   */
  #resume(queue: ChannelQueue): void {
    const { log } = this.#parts;
    const { notificationId } = queue;
    const { heldUntil, pausedUntil, trustedFrom, doubtedAt } = newQueue(notificationId);
    Object.assign(queue, { found: null, heldUntil, pausedUntil, trustedFrom, doubtedAt });
    queue.generation += 1;
    if (this.#state !== 'running') return;
    const hastened = this.#ledger.hastenChannel(notificationId).catch((error: unknown) => {
      log.error(
        { error: messageOf(error), notificationId },
        'cannot make the deliveries of a channel due: each waits for its next attempt',
      );
    });
    this.#run(hastened.then(() => this.#readDue(queue)));
  }

  #run(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Reads the channel's due deliveries at the instant `at`, epoch ms on the clock of {@link #now}. */
  #readDueAt(queue: ChannelQueue, at: number): void {
    queue.cancelTimer();
    const waitMs = at - this.#now();
    if (waitMs > 0) queue.cancelTimer = this.#parts.clock.after(waitMs, () => this.#readDue(queue));
    else this.#readDue(queue);
  }

  /**
   * Reads the channel's due deliveries, and begins as many of them as the limits allow. If no
   * message may begin now, the read follows later. If the channel is unknown, it is looked up first.
   */
  #readDue(queue: ChannelQueue): void {
    const { found } = queue;
    queue.cancelTimer();
    // Set even if the read must wait. Otherwise the channel
    // could be dropped as idle, and would lose its timer.
    queue.isEmpty = false;
    if (this.#state !== 'running' || queue.isRemoved) return;
    if (queue.isReading) {
      queue.isToReadAgain = true;
      return;
    }
    const now = this.#parts.clock.monotonic();
    queue.lastReadAt = now;
    if (queue.pausedUntil > now) {
      this.#readDueAt(queue, queue.pausedUntil + this.#wallOffset);
      return;
    }
    // The end of each message starts the next read.
    if (freeMessages(queue, now) === 0) return;
    // The pace does not delay the read of a stopped channel, because most of its deliveries are left out.
    if (found !== null && found.stoppedFor === null && !this.#keepsPace(queue, found)) return;
    if (found !== null && !this.#hasPlace(queue, found)) return;
    queue.isReading = true;
    if (found !== null) this.#places.takePlace(found.workspaceId);
    this.#run(found === null ? this.#lookUpChannel(queue) : this.#readNext(queue, found));
  }

  /** Looks the channel up in the database, before the first read of its deliveries and after each change. */
  async #lookUpChannel(queue: ChannelQueue): Promise<void> {
    const { notificationId, generation } = queue;
    try {
      const found = await this.#parts.source.findChannel(notificationId);
      if (found === null) this.#dropQueue(queue);
      else if (generation === queue.generation) queue.found = found;
    } catch (error) {
      const { log } = this.#parts;
      log.error({ error: messageOf(error), notificationId }, 'looking up a channel failed: svc tries again');
      this.#pause(queue);
    }
    queue.isReading = false;
    this.#readDue(queue);
  }

  async #readNext(queue: ChannelQueue, found: FoundChannel): Promise<void> {
    const { notificationId } = queue;
    const free = freeMessages(queue, this.#parts.clock.monotonic());
    const limit = found.stoppedFor === null ? free + 1 : LEFT_OUT_AT_ONCE;
    try {
      const exceptMonitors = queue.inProgress;
      const next = this.#ledger.nextDeliveries({ notificationId, exceptMonitors, limit });
      const deliveries = await next.finally(() => this.#places.givePlaceBack(found.workspaceId));
      // The channel was changed or stopped during the read, or has a new `kept`.
      if (found !== queue.found) queue.isToReadAgain = true;
      else if (this.#state === 'running' && !queue.isRemoved) this.#begin(queue, found, deliveries);
    } catch (error) {
      this.#attempts.logOwnFailure(error, { notificationId });
      this.#pause(queue);
      queue.isToReadAgain = true;
    }
    queue.isReading = false;
    if (queue.isToReadAgain) {
      queue.isToReadAgain = false;
      this.#readDue(queue);
    }
    this.#readStarved();
  }

  /** Counts a failure of the deliverer, such as a failed read of the database, and pauses the channel for 1 s. */
  #pause(queue: ChannelQueue): void {
    this.counters.failures.own += 1;
    queue.pausedUntil = this.#parts.clock.monotonic() + TRY_AGAIN_MS;
  }

  /** Whether the pace of the receiver lets a message begin now. If not, the channel is read again when it does. */
  #keepsPace(queue: ChannelQueue, found: FoundChannel): boolean {
    const now = this.#parts.clock.monotonic();
    const at = Math.max(queue.heldUntil, tokensOf(queue, found)?.availableAt(now) ?? now);
    if (at <= now) return this.#kinds.mayBegin(queue, found);
    this.#readDueAt(queue, at + this.#wallOffset);
    return false;
  }

  /** Whether a place is free for the channel. If not, the channel is read again as soon as it may take one. */
  #hasPlace(queue: ChannelQueue, found: FoundChannel): boolean {
    if (this.#places.hasPlaceFor(found.workspaceId)) return true;
    this.#starved.add(queue);
    return false;
  }

  /**
   * Called when a place becomes free. Reads the channels that wait for a place and
   * may take one now, in the order in which they came.
   */
  #readStarved(): void {
    for (const queue of this.#starved) {
      if (queue.found !== null && !this.#places.hasPlaceFor(queue.found.workspaceId)) continue;
      this.#starved.delete(queue);
      this.#readDue(queue);
    }
  }

  /**
   * Begins the deliveries one after the other, up to the first that may not begin now.
   *
   * @param deliveries the next deliveries of different monitors, in the order of their due times
   */
  #begin(queue: ChannelQueue, found: FoundChannel, deliveries: readonly QueuedDelivery[]): void {
    queue.isEmpty = deliveries.length === 0;
    for (const delivery of deliveries) if (!this.#beginOne(queue, found, delivery)) return;
  }

  /**
   * Begins one delivery, or leaves it out. Returns false when the delivery has to
   * wait, or when no other message may begin beside its message.
   */
  #beginOne(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): boolean {
    if (delivery.dueAt > this.#now()) {
      this.#readDueAt(queue, delivery.dueAt);
      return false;
    }
    const step = this.#leftOut(queue, found, delivery);
    if (step !== null) {
      if (step.state === 'dead') {
        this.counters.failures.stopped += 1;
        this.counters.dead += 1;
      }
      queue.inProgress.add(delivery.monitorId);
      this.#run(this.#recordStep(queue, delivery, step));
      return true;
    }
    const now = this.#parts.clock.monotonic();
    if (freeMessages(queue, now) === 0) return false;
    if (!this.#keepsPace(queue, found) || !this.#hasPlace(queue, found)) return false;
    const turn = this.#turnOf(queue, found, delivery);
    if (turn.as === 'collected') {
      // The end of the wait is set once per delivery: a wall
      // clock that is set back must not lengthen the wait.
      if (queue.collecting?.id !== delivery.id) {
        queue.collecting = { id: delivery.id, until: now + turn.waitMs };
      }
      if (queue.collecting.until > now) {
        this.#readDueAt(queue, queue.collecting.until + this.#wallOffset);
        return false;
      }
    }
    this.#startSending(queue, found, delivery, turn);
    return !queue.isGrouping;
  }

  #leftOut(queue: ChannelQueue, { stoppedFor }: FoundChannel, delivery: QueuedDelivery): DeliveryStep | null {
    const moment = { ageMs: this.ageOf(delivery.createdAt), lastIdBefore: this.#lastIdBefore };
    return leftOutStep(delivery, { facts: factsOfQueue(queue), stoppedFor }, moment);
  }

  #turnOf(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): Turn {
    if (!this.#isGroupable(queue, found, delivery)) return { as: 'alone' };
    return this.#groups.turnOf(found.workspaceId, delivery, this.#parts.clock.wall());
  }

  #isGroupable(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): boolean {
    return !queue.alone.has(delivery.id) && isGroupable(factsOfQueue(queue), found, delivery);
  }

  /** Begins a message. The caller must have checked {@link #keepsPace} and {@link #hasPlace}. */
  #startSending(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery, turn: Turn): void {
    const now = this.#parts.clock.monotonic();
    tokensOf(queue, found)?.takeToken(now);
    this.#kinds.takeToken(found, now);
    this.#places.takePlace(found.workspaceId);
    queue.inProgress.add(delivery.monitorId);
    queue.sending += 1;
    queue.isGrouping = turn.as !== 'alone';
    this.#run(this.#send(queue, found, delivery, turn));
  }

  /** Sends the delivery alone or with its group, and records the attempt. The promise never rejects. */
  async #send(queue: ChannelQueue, found: FoundChannel, first: QueuedDelivery, turn: Turn): Promise<void> {
    let members: readonly QueuedDelivery[] = [first];
    try {
      if (turn.as !== 'alone') members = await this.#groupOf(queue, found, first, turn);
      await this.#attempt(queue, found, members);
    } catch (error) {
      const { id: deliveryId, notificationId, monitorId } = first;
      this.#attempts.logOwnFailure(error, { deliveryId, notificationId, monitorId });
      for (const member of members) queue.inProgress.delete(member.monitorId);
      this.#pause(queue);
    }
    queue.sending -= 1;
    if (turn.as !== 'alone') queue.isGrouping = false;
    this.#places.givePlaceBack(found.workspaceId);
    this.#readDue(queue);
    this.#readStarved();
  }

  /**
   * Returns the delivery with the others of its group that are not being sent, at most 1,000 in all, in the
   * order of their ids. Returns only the delivery if the turn is `grouped-if-many` and they are not many. No
   * alert is added to a group whose message may have arrived: the receiver may drop the repetition because of
   * its id, and an added alert would be lost.
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
    const together = await this.#ledger.groupableDeliveries({
      notificationId,
      exceptMonitors: queue.inProgress,
      limit: GROUP_MEMBERS - 1,
      queued: groupWindow(first),
      groupUid,
    });
    const others = together.filter((one) => mayShareMessage(first, one));
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

  /** Makes one attempt for these deliveries, in one message, and records it for each of them. */
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
    const alert = alertOf(members, this.ageOf(oldestOf(members)));
    const sent = await this.#attempts.makeAttempt(found, alert, {
      deliveryId: messageIdOf(members),
      attemptAt: at,
      signal,
      thread: threadOf(members),
      kept: found.kept,
    });
    // The stop aborted the attempt, so it is unknown whether the
    // alert arrived. The delivery stays pending and is sent again.
    if (signal.aborted && sent.outcome !== 'delivered') return;
    const endedAt = clock.monotonic();
    const isFormer = generation !== queue.generation;
    const doubtedMs = queue.doubtedAt === null ? null : endedAt - queue.doubtedAt;
    const result = inContext(sent, { isFormer, doubtedMs });
    const attempt = { at, durationMs: endedAt - startedAt, result };
    const moment = { now: this.#now(), random: this.#random(), isOfMany: members.length > 1 };
    const steps = members.map((delivery) => {
      const ageMs = this.ageOf(delivery.replayedAt ?? delivery.createdAt);
      const step = nextStep(delivery, attempt, { ...moment, ageMs });
      // An answer to former settings says nothing about the channel's present settings.
      return [delivery, isFormer ? { ...step, channel: null } : step] as const;
    });
    const [[, first] = []] = steps;
    const waitMs = (first?.nextAttemptAt ?? 0) - moment.now;
    if (!isFormer) noteAnswer(queue, result, { now: clock.monotonic(), waitMs });
    if (moment.isOfMany && result.outcome === 'permanent-message') {
      for (const { id } of members) queue.alone.add(id);
    }
    // The next messages may begin while the record is being written.
    this.#readDue(queue);
    await Promise.all(
      steps.map(async ([delivery, step]) => {
        this.#logStep(delivery, step, result);
        await this.#recordStep(queue, delivery, step, { ...attempt, delivery });
      }),
    );
    if (result.outcome === 'delivered' && found.stoppedFor !== null) this.#resume(queue);
  }

  #logStep(
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

  /** Resolves when the step is recorded, or at the latest when a stop aborts the messages in progress. */
  #recordStep(
    queue: ChannelQueue,
    { id, monitorId }: QueuedDelivery,
    step: DeliveryStep,
    attempt: Omit<FinishedAttempt, 'nextAttemptAt'> | null = null,
  ): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const giveUp = () => resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      // The ledger tries the step once more when it closes.
      if (signal.aborted) resolve();
      this.#ledger.recordStep(step, () => {
        signal.removeEventListener('abort', giveUp);
        queue.inProgress.delete(monitorId);
        const { state, nextAttemptAt } = step;
        if (state !== 'pending') queue.alone.delete(id);
        this.#readDue(queue);
        if (attempt !== null) for (const listener of this.#listeners) listener({ ...attempt, nextAttemptAt });
        resolve();
      });
    });
  }
}

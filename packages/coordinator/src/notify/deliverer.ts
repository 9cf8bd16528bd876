import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/totals.ts';
import { DELIVERY_LIFETIME_MS, nextAttemptAt } from '../domain/backoff.ts';
import { LOOK_AT_CLOCK_EVERY_MS, PassedTime } from '../domain/passed-time.ts';
import type { DeliveryStep } from '../store/delivery-ledger.ts';
import type { LaneId, QueuedDelivery } from '../store/delivery-queue.ts';
import { StoreError } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import { Attempting } from './attempting.ts';
import { attemptStep, type FinishedAttempt, reasonOf } from './attempts.ts';
import type { SendResult } from './channel.ts';
import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import { Gathering, type Group } from './gathering.ts';
import { alertOf, Groups, type Member, ofEach, oldestOf, threadOf } from './groups.ts';
import { isFailedBefore, type Lane, type NewlyQueued, openingDelivery, ownWait, takeHead } from './lane.ts';
import { learn, ofFormer } from './learning.ts';
import { Ledger } from './ledger.ts';
import { stepLeftOut } from './left-out.ts';
import { NO_MONITOR } from './notices.ts';
import type { Send } from './sender.ts';
import { type ChannelSource, Turns } from './turns.ts';

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
/** Least time between two attempts where a younger alert of the lane asks for the second, ms. */
const HURRY_MS = 30_000;

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

export type WaitingChannel = {
  readonly notificationId: number;
  /** Null: it was not looked up yet. */
  readonly workspaceId: number | null;
  /** Monitors with pending deliveries. */
  readonly lanes: number;
  /** When the oldest of them was queued or replayed, epoch ms. */
  readonly oldestQueuedAt: number;
};

export type DelivererGauges = {
  /** Number of pairs of monitor and channel with pending deliveries. */
  readonly lanes: number;
  readonly sending: number;
  /** Age of the oldest pending delivery, ms. */
  readonly oldestMs: number;
};

/**
 * Sends the alerts of the outbox at least once, in order per monitor and channel. Channels are independent of
 * each other. A delivery that was made but not recorded, because of a crash in between, is sent again with
 * the same id.
 *
 *     wake ──▶ lane ready ──▶ its turn ──▶ sending ──▶ recorded ──▶ the lane's next, or none
 *                 ▲          (`Turns`)                    │
 *                 └── its own wait is over, ── lane ◀─────┘ failed
 *                     or the channel works     waiting
 *
 * A receiver that takes alerts later holds its channel, not the lane. A failure of our own is no attempt.
 */
export class Deliverer {
  /** Counts since the deliverer was created. */
  readonly counters = createTotals(DELIVERY_COUNTERS);
  readonly #parts: DelivererParts;
  readonly #random: () => number;
  readonly #ledger: Ledger;
  readonly #turns: Turns;
  readonly #groups = new Groups();
  readonly #gathering: Gathering;
  readonly #attempting: Attempting;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(attempt: FinishedAttempt) => void>();
  readonly #passed: PassedTime;
  #cancelLook: () => void = () => {};
  /** Deliveries up to this id are from before the start: an unrecorded attempt may have been made. */
  #lastIdBefore = 0;
  #state: 'new' | 'loading' | 'running' | 'stopped' = 'new';

  constructor(parts: DelivererParts) {
    const { clock, log, source } = parts;
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#passed = new PassedTime(clock.wall(), clock.monotonic());
    this.#ledger = new Ledger({ ...parts, onQueued: (queued) => this.wake(queued) });
    this.#turns = new Turns({
      clock,
      log,
      source,
      send: (queue, found, lane) => this.#send(queue, found, lane),
      onOwnFailure: () => {
        this.counters.failures.own += 1;
      },
    });
    this.#attempting = new Attempting({ ...parts, counters: this.counters });
    this.#gathering = new Gathering({
      turns: this.#turns,
      ledger: this.#ledger,
      isSent: (queue, found, { delivery }) => this.#leftOut(queue, found, delivery) === null,
      goOn: (queue, lane) => {
        if (this.#state === 'running' && !queue.isRemoved) this.#turns.makeReady(queue, lane, null);
      },
    });
  }

  get gauges(): DelivererGauges {
    let lanes = 0;
    let oldest = Number.POSITIVE_INFINITY;
    for (const queue of this.#turns.queues()) {
      lanes += queue.lanes.size;
      oldest = Math.min(oldest, queue.oldestQueuedAt ?? oldest);
    }
    const oldestMs = lanes === 0 ? 0 : this.#ageOf(oldest);
    return { lanes, sending: this.#turns.sending, oldestMs };
  }

  /** The channels with pending deliveries. */
  *waiting(): Iterable<WaitingChannel> {
    for (const { notificationId, found, lanes, oldestQueuedAt } of this.#turns.queues()) {
      if (oldestQueuedAt === null) continue;
      const workspaceId = found?.workspaceId ?? null;
      yield { notificationId, workspaceId, lanes: lanes.size, oldestQueuedAt };
    }
  }

  /** Starts all pending deliveries. Deliveries that are queued meanwhile are started too. */
  async start(): Promise<void> {
    this.#state = 'loading';
    this.#lastIdBefore = await this.#ledger.lastId();
    const plannedAt = new Map<Lane, number>();
    for await (const page of this.#ledger.pendingLanes()) {
      for (const { notificationId, monitorId, headId, queuedAt, nextAttemptAt: at } of page) {
        // The lane may exist already, because a delivery was queued behind its older ones during loading.
        const lane = this.#turns.queueOf(notificationId).lane(monitorId);
        Object.assign(lane, { headId, queuedAt });
        if (at !== null) plannedAt.set(lane, at);
      }
    }
    if (this.#state !== 'loading') return;
    this.#state = 'running';
    const { clock } = this.#parts;
    const now = clock.wall();
    this.#cancelLook = clock.every(LOOK_AT_CLOCK_EVERY_MS, () =>
      this.#passed.look(clock.wall(), clock.monotonic()),
    );
    this.#turns.start((lane) => (plannedAt.get(lane) ?? now) - now);
  }

  /** Running sends may end by themselves for 1 s, then they are cut off. Unrecorded attempts stay pending. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#cancelLook();
    this.#turns.stop();
    const cancelGrace = this.#parts.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    await this.#turns.idle();
    cancelGrace();
    await this.#ledger.close();
  }

  /**
   * A delivery was committed. The call is synchronous: where nothing of the lane waits and the channel is
   * known, the request of an incident's first alert is sent within the same turn.
   */
  wake(queued: NewlyQueued): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    const { notificationId, monitorId, id, queuedAt } = queued;
    const queue = this.#turns.queueOf(notificationId);
    const known = queue.lanes.get(monitorId);
    if (known !== undefined) {
      known.isWoken = true;
      this.#hurry(queue, known);
      return;
    }
    const lane = queue.lane(monitorId);
    Object.assign(lane, { headId: id, queuedAt });
    if (this.#state === 'running') {
      this.#turns.makeReady(queue, lane, queued.opens ? openingDelivery(queued) : null);
    }
  }

  /**
   * A dead delivery is pending again. The lane looks at the database now, even when it waits for a later
   * attempt.
   */
  wakeReplayed({ notificationId, monitorId }: LaneId): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    const queue = this.#turns.queueOf(notificationId);
    const isNew = !queue.lanes.has(monitorId);
    const lane = queue.lane(monitorId);
    lane.isWoken = true;
    if (isNew) {
      lane.queuedAt = this.#parts.clock.wall();
      if (this.#state === 'running') this.#turns.makeReady(queue, lane, null);
    } else this.#turns.wakeLanes(queue, (each) => each === lane);
  }

  /** The channel's settings were changed: what was learned about it does not count any more. */
  channelChanged(notificationId: number): void {
    const queue = this.#turns.find(notificationId);
    if (queue !== undefined) this.#takeUp(queue);
  }

  /** The channel is gone: nothing more is sent to it. */
  channelRemoved(notificationId: number): void {
    const queue = this.#turns.find(notificationId);
    if (queue !== undefined) this.#turns.forget(queue);
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
   * Sends an alert past the queue: a test. The ledger stores it, and what waits for the channel is tried after
   * it. The channel must exist.
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
    this.#turns.find(notificationId)?.started(startedAt);
    const { signal } = this.#abort;
    const result = await this.#attempting.attempt(found, alert, {
      deliveryId: uid,
      attemptAt: at,
      signal,
      thread,
    });
    const durationMs = clock.monotonic() - startedAt;
    const delivery = { uid, notificationId, monitorId: NO_MONITOR, alert, queuedAt: at };
    const deliveryId = await this.#ledger.recordTest(delivery, { at, durationMs, result });
    this.#tested(notificationId, result);
    return { deliveryId, at, durationMs, result, kind: found.kind };
  }

  #tested(notificationId: number, { outcome }: SendResult): void {
    const queue = this.#turns.find(notificationId);
    if (queue === undefined || outcome === 'not-sent') return;
    if (outcome === 'delivered' || outcome === 'permanent-channel') this.#takeUp(queue);
    else this.#turns.wakeLanes(queue, () => true);
  }

  #takeUp(queue: ChannelQueue): void {
    queue.reopen();
    queue.takenUp += 1;
    queue.pace.reset();
    queue.doubtedAt = null;
    queue.isProven = false;
    this.#turns.wakeLanes(queue, () => true);
  }

  /** A younger alert came while the lane waits: its head is tried soon, not at the end of a long wait. */
  #hurry(queue: ChannelQueue, lane: Lane): void {
    if (lane.place !== 'waiting') return;
    const now = this.#parts.clock.monotonic();
    const at = (lane.triedAt ?? now) + HURRY_MS;
    if (at >= lane.dueAt) return;
    lane.cancelTimer();
    this.#turns.wait(queue, lane, at - now);
  }

  /** Makes one attempt for the lane's head, or leaves it out, and records it. All errors end here. */
  async #send(queue: ChannelQueue, found: FoundChannel, lane: Lane): Promise<void> {
    const decided = queue.deciding();
    try {
      const delivery = lane.loaded ?? (await this.#head(queue, lane));
      lane.loaded = null;
      decided();
      const step = delivery === null ? null : this.#leftOut(queue, found, delivery);
      if (delivery === null || step !== null) this.#turns.giveBack(queue);
      if (delivery === null) return;
      if (step !== null) {
        if (step.state === 'dead') this.#countStopped();
        return await this.#record(step, (next) => this.#settle(queue, lane, next));
      }
      await this.#sendAs(queue, found, { lane, delivery });
    } catch (error) {
      decided();
      this.#attempting.ownFailure(error, laneOf(lane));
      this.counters.failures.own += 1;
      if (this.#state === 'running' && !queue.isRemoved) this.#turns.wait(queue, lane, ownWait(lane));
    }
  }

  #leftOut(queue: ChannelQueue, found: FoundChannel, delivery: QueuedDelivery): DeliveryStep | null {
    const ageMs = this.#ageOf(delivery.createdAt);
    return stepLeftOut(queue, found, delivery, { ageMs, lastIdBefore: this.#lastIdBefore });
  }

  /** Time that has passed since a stored instant, ms. */
  #ageOf(at: number): number {
    const { clock } = this.#parts;
    this.#passed.look(clock.wall(), clock.monotonic());
    return this.#passed.since(at);
  }

  /** An alert is dead without an attempt, because its channel is stopped. */
  #countStopped(): void {
    this.counters.failures.stopped += 1;
    this.counters.dead += 1;
  }

  /** Sends the lane's head alone or with its group, or lets it wait for that. */
  async #sendAs(queue: ChannelQueue, found: FoundChannel, member: Member): Promise<void> {
    const turn = this.#groups.turnOf(queue, found, member, this.#parts.clock.wall());
    if (turn.as === 'alone') {
      return this.#try(queue, found, { members: [member], uid: member.delivery.uid });
    }
    if (turn.as === 'collected') {
      this.#turns.giveBack(queue);
      member.lane.collectedId = member.delivery.id;
      if (this.#state === 'running' && !queue.isRemoved) this.#turns.wait(queue, member.lane, turn.waitMs);
      return;
    }
    queue.isGrouping = true;
    try {
      await this.#try(queue, found, await this.#gathering.of(queue, found, member));
    } finally {
      queue.isGrouping = false;
    }
  }

  /** Makes one attempt for these heads, in one message, and records it for each. */
  async #try(queue: ChannelQueue, found: FoundChannel, { members, uid }: Group): Promise<void> {
    const { clock } = this.#parts;
    const at = clock.wall();
    const startedAt = clock.monotonic();
    const { signal } = this.#abort;
    const { takenUp } = queue;
    for (const { lane } of members) lane.triedAt = startedAt;
    const sent = await this.#attempting.attempt(found, alertOf(members, this.#ageOf(oldestOf(members))), {
      deliveryId: uid,
      attemptAt: at,
      signal,
      thread: threadOf(members),
    });
    // The stop cut it off, and nobody knows whether it arrived. It stays as it was and is sent again.
    if (signal.aborted && sent.outcome !== 'delivered') return;
    const endedAt = clock.monotonic();
    const answer = takenUp === queue.takenUp ? sent : ofFormer(sent);
    const learned = learn(queue, answer, { startedAt, endedAt }, this.#random);
    const result = ofEach(members, learned);
    // A receiver that has just proved to work takes more at once, also while the record is written.
    this.#turns.resume(queue);
    const durationMs = endedAt - startedAt;
    await Promise.all(
      members.map((member) => this.#recordAttempt(queue, member, { at, durationMs, result })),
    );
    if (result.outcome !== 'delivered') return;
    if (found.stoppedFor !== null) this.#takeUp(queue);
    else this.#turns.wakeLanes(queue, (each) => isFailedBefore(each, startedAt));
  }

  #recordAttempt(
    queue: ChannelQueue,
    { lane, delivery }: Member,
    attempt: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>,
  ): Promise<void> {
    const { result } = attempt;
    const next = this.#nextAttempt(queue, lane, delivery, result);
    const finished = { delivery, ...attempt, nextAttemptAt: next };
    return this.#record(attemptStep(finished), (following) => {
      if (next === null) this.#settle(queue, lane, following);
      else this.#again(queue, lane, next, result);
      for (const listener of this.#listeners) listener(finished);
    });
  }

  /** Resolves when the step is recorded, or when the stop does not wait for that any more. */
  #record(step: DeliveryStep, settled: (following: QueuedDelivery | null) => void): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const giveUp = () => resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      // After the grace of the stop nobody waits any more. The ledger still tries once when it closes.
      if (signal.aborted) resolve();
      this.#ledger.record(step, (following) => {
        signal.removeEventListener('abort', giveUp);
        settled(following);
        resolve();
      });
    });
  }

  /** The lane's head. Null removes the lane, unless something was queued since the database was asked. */
  async #head(queue: ChannelQueue, lane: Lane): Promise<QueuedDelivery | null> {
    lane.isWoken = false;
    const head = await this.#ledger.head(lane);
    if (head === null) {
      if (lane.isWoken) return this.#head(queue, lane);
      this.#turns.remove(queue, lane);
      return null;
    }
    takeHead(lane, head);
    return head;
  }

  #nextAttempt(queue: ChannelQueue, lane: Lane, delivery: QueuedDelivery, result: SendResult): number | null {
    const { log } = this.#parts;
    if (result.outcome === 'delivered') return null;
    const { id: deliveryId, notificationId, monitorId } = delivery;
    const ids = { deliveryId, notificationId, monitorId };
    const next = this.#retryAt(queue, lane, delivery, result);
    if (next === null) {
      this.counters.dead += 1;
      log.warn({ ...ids, outcome: result.outcome, reason: result.error }, 'gave up the delivery of an alert');
    } else {
      log.info(
        { ...ids, reason: result.error, nextAttemptAt: next },
        'the delivery of an alert failed: svc tries again later',
      );
    }
    return next;
  }

  #retryAt(
    queue: ChannelQueue,
    lane: Lane,
    { tries, replayedAt, createdAt }: QueuedDelivery,
    result: SendResult,
  ): number | null {
    const { clock } = this.#parts;
    const now = clock.wall();
    const ageMs = this.#ageOf(replayedAt ?? createdAt);
    if (result.outcome === 'not-sent') return ageMs >= DELIVERY_LIFETIME_MS ? null : now + ownWait(lane);
    if (result.outcome !== 'retry') return null;
    return nextAttemptAt({
      attempts: tries + 1,
      ageMs,
      now,
      heldUntil: now + queue.pace.readyAt(clock.monotonic()) - clock.monotonic(),
      isRateLimited: reasonOf(result) === 'rate-limited',
      random: this.#random(),
    });
  }

  /** The head is tried again. A receiver that takes it later holds its channel, and the lane stays ready. */
  #again(queue: ChannelQueue, lane: Lane, next: number, result: SendResult): void {
    if (this.#state !== 'running' || queue.isRemoved) return;
    if (result.outcome !== 'not-sent') lane.ownFailures = 0;
    if (reasonOf(result) === 'rate-limited') this.#turns.makeReady(queue, lane, null);
    else {
      this.#turns.wait(queue, lane, next - this.#parts.clock.wall());
      // A younger alert came during the attempt.
      if (lane.isWoken) this.#hurry(queue, lane);
    }
  }

  /** Continues the lane right after the commit of its head's end, before a later transaction can wake it. */
  #settle(queue: ChannelQueue, lane: Lane, following: QueuedDelivery | null): void {
    lane.isWoken = false;
    if (this.#state !== 'running' || queue.isRemoved) return;
    if (following === null) {
      this.#turns.remove(queue, lane);
      return;
    }
    takeHead(lane, following);
    this.#turns.makeReady(queue, lane, following);
  }
}

function laneOf({ notificationId, monitorId }: LaneId): LaneId {
  return { notificationId, monitorId };
}

import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/totals.ts';
import { LONGEST_WAIT_MS, nextAttemptAt } from '../domain/backoff.ts';
import type { LaneId, QueuedDelivery } from '../store/delivery-ledger.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { FinishedAttempt } from './attempts.ts';
import type { SendContext, SendResult } from './channel.ts';
import { Ledger } from './ledger.ts';
import { Places } from './places.ts';
import type { Send, StoredChannel } from './sender.ts';

/** Finds a channel for the deliverer; null when the channel is gone. */
export interface ChannelSource {
  find(notificationId: number): Promise<StoredChannel | null>;
}

export type DelivererParts = {
  store: Store;
  /** Opens the secret parts of queued alerts. */
  secrets: Secrets;
  clock: Clock;
  log: Logger;
  send: Send;
  source: ChannelSource;
  /** The workspace of a monitor and so of its channels; null when the monitor is gone. */
  workspaceOf: (monitorId: number) => number | null;
  /** Uniform in [0, 1), for the spread of attempts. */
  random?: () => number;
};

/**
 * Most simultaneous sends to one channel. After a failure it is two, so that a hanging receiver holds few of
 * the places that all channels share, and is not flooded while it recovers.
 */
const SENDS_PER_CHANNEL = 8;
const SENDS_PER_FAILING_CHANNEL = 2;

/** Time that {@link Deliverer.stop} gives running sends to end by themselves, ms. */
const STOP_GRACE_MS = 1_000;

/**
 * The deliveries of one monitor to one channel. A lane is in exactly one of three places: `ready` (in its
 * channel's queue, waiting for a place), `sending` (until the attempt is recorded), or `waiting` (a timer
 * runs until the head's next attempt). It holds at most the head of its deliveries, and only when the head is
 * sent at once: backlogs stay in the database.
 */
type Lane = LaneId & {
  readonly queue: ChannelQueue;
  /** When the head was queued, epoch ms. */
  queuedAt: number;
  loaded: QueuedDelivery | null;
  /** Whether something was queued since the lane last looked at the database. */
  isWoken: boolean;
  cancelTimer: (() => void) | null;
};

type ChannelQueue = {
  readonly notificationId: number;
  readonly workspaceId: number | null;
  /** All lanes of the channel, wherever they are. */
  readonly lanes: Map<number, Lane>;
  /** Lanes that wait for a place, first in, first out. */
  readonly ready: Set<Lane>;
  sending: number;
  isFailing: boolean;
};

export type DelivererGauges = {
  /** Number of pairs of monitor and channel with pending deliveries. */
  readonly lanes: number;
  readonly sending: number;
  /** How long the oldest pending delivery has waited, ms; 0 without one. */
  readonly ageMs: number;
};

/**
 * Sends the alerts of the outbox at least once, in order per monitor and channel. Channels are independent of
 * each other. A delivery that was made but not recorded, because of a crash in between, is sent again with
 * the same id.
 */
export class Deliverer {
  /** Counts since the deliverer was created. */
  readonly counters = createTotals(DELIVERY_COUNTERS);
  readonly #parts: DelivererParts;
  readonly #random: () => number;
  readonly #ledger: Ledger;
  readonly #queues = new Map<number, ChannelQueue>();
  readonly #places = new Places();
  /** Queues with ready lanes that found no place, in all or for their workspace. */
  readonly #starved = new Set<ChannelQueue>();
  readonly #sends = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(attempt: FinishedAttempt) => void>();
  #state: 'new' | 'loading' | 'running' | 'stopped' = 'new';

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#ledger = new Ledger(parts);
  }

  get gauges(): DelivererGauges {
    const now = this.#parts.clock.wall();
    let lanes = 0;
    let ageMs = 0;
    for (const queue of this.#queues.values()) {
      lanes += queue.lanes.size;
      for (const { queuedAt } of queue.lanes.values()) ageMs = Math.max(ageMs, now - queuedAt);
    }
    return { lanes, sending: this.#sends.size, ageMs };
  }

  /** Starts all pending deliveries. Deliveries that are queued meanwhile are started too. */
  async start(): Promise<void> {
    this.#state = 'loading';
    const now = this.#parts.clock.wall();
    for await (const page of this.#ledger.pendingLanes()) {
      for (const { notificationId, monitorId, queuedAt, nextAttemptAt: at } of page) {
        // The lane may exist already, because a delivery was queued behind its older ones during loading.
        const lane = this.#lane({ notificationId, monitorId }, queuedAt);
        lane.queuedAt = queuedAt;
        if (at === null || at <= now) lane.queue.ready.add(lane);
        else {
          lane.queue.ready.delete(lane);
          this.#wait(lane, at);
        }
      }
    }
    if (this.#state !== 'loading') return;
    this.#state = 'running';
    for (const queue of this.#queues.values()) this.#pump(queue);
  }

  /** Running sends may end by themselves for 1 s, then they are cut off. Unrecorded attempts stay pending. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    for (const queue of this.#queues.values()) {
      for (const lane of queue.lanes.values()) lane.cancelTimer?.();
    }
    const cancelGrace = this.#parts.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    await Promise.all(this.#sends);
    cancelGrace();
    await this.#ledger.close();
  }

  /**
   * A delivery was committed. The call is synchronous: where a place is free, the request is sent within the
   * same turn.
   */
  wake(delivery: QueuedDelivery): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    const known = this.#queues.get(delivery.notificationId)?.lanes.get(delivery.monitorId);
    if (known !== undefined) {
      known.isWoken = true;
      return;
    }
    this.#makeReady(this.#lane(delivery, delivery.queuedAt), delivery);
  }

  /**
   * A dead delivery is pending again. The lane looks at the database now, even when it waits for a later
   * attempt.
   */
  wakeReplayed(lane: LaneId): void {
    if (this.#state === 'new' || this.#state === 'stopped') return;
    const known = this.#queues.get(lane.notificationId)?.lanes.get(lane.monitorId);
    if (known === undefined) this.#makeReady(this.#lane(lane, this.#parts.clock.wall()), null);
    else if (known.cancelTimer === null) known.isWoken = true;
    else {
      known.cancelTimer();
      known.cancelTimer = null;
      this.#makeReady(known, null);
    }
  }

  /**
   * Registers a listener for each attempt after its record is committed. Returns a function that unregisters
   * it.
   */
  onRecorded(listener: (attempt: FinishedAttempt) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Makes one attempt outside of any queue. Never rejects. */
  async attempt(notificationId: number, alert: Alert | null, context: SendContext): Promise<SendResult> {
    const { clock } = this.#parts;
    const startedAt = clock.monotonic();
    const result = await this.#attempt(notificationId, alert, context);
    if (result.outcome !== 'not-sent') this.counters.attempts[result.outcome] += 1;
    this.counters.attemptDuration.record((clock.monotonic() - startedAt) / 1_000);
    return result;
  }

  async #attempt(notificationId: number, alert: Alert | null, context: SendContext): Promise<SendResult> {
    const { source, send, log } = this.#parts;
    if (alert === null)
      return { outcome: 'permanent-message', error: 'this version of svc cannot read the stored alert' };
    try {
      const channel = await source.find(notificationId);
      if (channel === null) return { outcome: 'permanent-channel', error: 'the channel was deleted' };
      return await send(channel, alert, context);
    } catch (error) {
      // The receiver did not cause it (unreadable settings, a defect), so its text stays in the log.
      log.error({ error: messageOf(error), notificationId }, 'sending an alert failed because of svc itself');
      return { outcome: 'retry', error: 'svc could not send the alert: see the log of the coordinator' };
    }
  }

  /** @param queuedAt of its head, epoch ms; a lane that exists keeps its own */
  #lane({ notificationId, monitorId }: LaneId, queuedAt: number): Lane {
    let queue = this.#queues.get(notificationId);
    if (queue === undefined) {
      const workspaceId = this.#parts.workspaceOf(monitorId);
      const empty = { lanes: new Map(), ready: new Set<Lane>(), sending: 0, isFailing: false };
      queue = { notificationId, workspaceId, ...empty };
      this.#queues.set(notificationId, queue);
    }
    let lane = queue.lanes.get(monitorId);
    if (lane === undefined) {
      lane = { notificationId, monitorId, queue, queuedAt, loaded: null, isWoken: false, cancelTimer: null };
      queue.lanes.set(monitorId, lane);
    }
    return lane;
  }

  #remove(lane: Lane): void {
    lane.queue.lanes.delete(lane.monitorId);
    if (lane.queue.lanes.size === 0) this.#queues.delete(lane.notificationId);
  }

  #makeReady(lane: Lane, head: QueuedDelivery | null): void {
    lane.loaded = head;
    lane.queue.ready.add(lane);
    this.#pump(lane.queue);
    if (lane.queue.ready.has(lane)) lane.loaded = null;
  }

  #wait(lane: Lane, until: number): void {
    // `until` may come from a time before the system's clock was set back. No wait is longer than the
    // schedule's.
    const wait = Math.min(until - this.#parts.clock.wall(), LONGEST_WAIT_MS);
    lane.cancelTimer = this.#parts.clock.after(wait, () => {
      lane.cancelTimer = null;
      this.#makeReady(lane, null);
    });
  }

  /** Starts as many of the channel's ready lanes as there are places. */
  #pump(queue: ChannelQueue): void {
    if (this.#state !== 'running') return;
    const places = queue.isFailing ? SENDS_PER_FAILING_CHANNEL : SENDS_PER_CHANNEL;
    for (const lane of queue.ready) {
      if (queue.sending >= places) return;
      if (!this.#places.take(queue.workspaceId)) {
        this.#starved.add(queue);
        return;
      }
      queue.ready.delete(lane);
      queue.sending += 1;
      const send = this.#send(lane).finally(() => {
        queue.sending -= 1;
        this.#sends.delete(send);
        this.#places.give(queue.workspaceId);
        this.#pump(queue);
        this.#pumpStarved();
      });
      this.#sends.add(send);
    }
  }

  #pumpStarved(): void {
    // A copy is walked, because a queue that finds no place is added to the set again.
    for (const queue of [...this.#starved]) {
      if (this.#places.isFull) return;
      this.#starved.delete(queue);
      this.#pump(queue);
    }
  }

  /** Makes one attempt for the lane's head and records it. All errors of this loop end here. */
  async #send(lane: Lane): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      const delivery = lane.loaded ?? (await this.#head(lane));
      lane.loaded = null;
      if (delivery === null) return;
      lane.queuedAt = delivery.queuedAt;
      const at = clock.wall();
      const startedAt = clock.monotonic();
      const { signal } = this.#abort;
      const result = await this.attempt(lane.notificationId, delivery.alert, {
        deliveryId: delivery.uid,
        attemptAt: at,
        signal,
        thread: null,
      });
      // The stop cut it off, and nobody knows whether it arrived. It stays as it was and is sent again.
      if (signal.aborted && result.outcome !== 'delivered') return;
      lane.queue.isFailing = result.outcome === 'retry';
      const next = this.#nextAttempt(delivery, result);
      await this.#record(lane, {
        delivery,
        at,
        durationMs: clock.monotonic() - startedAt,
        result,
        nextAttemptAt: next,
      });
    } catch (error) {
      log.error({ error: messageOf(error), ...laneOf(lane) }, 'starting a delivery failed');
      if (this.#state === 'running') this.#wait(lane, clock.wall() + 1_000);
    }
  }

  /** Resolves when the attempt is recorded, or when the stop does not wait for that any more. */
  #record(lane: Lane, attempt: FinishedAttempt): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const giveUp = () => resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      // After the grace of the stop nobody waits any more. The ledger still tries once when it closes.
      if (signal.aborted) resolve();
      this.#ledger.record(attempt, (following) => {
        signal.removeEventListener('abort', giveUp);
        this.#settle(lane, attempt.nextAttemptAt, following);
        for (const listener of this.#listeners) listener(attempt);
        resolve();
      });
    });
  }

  /** The lane's head. Null removes the lane, unless something was queued since the database was asked. */
  async #head(lane: Lane): Promise<QueuedDelivery | null> {
    lane.isWoken = false;
    const head = await this.#ledger.head(lane);
    if (head === null) {
      if (lane.isWoken) return this.#head(lane);
      this.#remove(lane);
    }
    return head;
  }

  #nextAttempt(delivery: QueuedDelivery, result: SendResult): number | null {
    const { clock, log } = this.#parts;
    if (result.outcome === 'delivered') return null;
    const next =
      result.outcome === 'retry'
        ? nextAttemptAt({
            attempts: delivery.tries + 1,
            queuedAt: delivery.queuedAt,
            now: clock.wall(),
            retryAfterMs: result.retryAfterMs,
            random: this.#random(),
          })
        : null;
    const ids = {
      deliveryId: delivery.id,
      notificationId: delivery.notificationId,
      monitorId: delivery.monitorId,
    };
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

  /** Continues the lane right after the commit of an attempt, before any later transaction can wake it. */
  #settle(lane: Lane, next: number | null, following: QueuedDelivery | null): void {
    lane.isWoken = false;
    if (this.#state !== 'running') return;
    if (next !== null) this.#wait(lane, next);
    else if (following !== null) {
      lane.queuedAt = following.queuedAt;
      this.#makeReady(lane, following);
    } else this.#remove(lane);
  }
}

function laneOf({ notificationId, monitorId }: LaneId): LaneId {
  return { notificationId, monitorId };
}

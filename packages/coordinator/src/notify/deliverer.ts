import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import { createTotals } from '@svc/shared/metrics/totals.ts';
import type { LaneId } from '../store/delivery-queue.ts';
import { StoreError } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import { Ages } from './ages.ts';
import { Attempting } from './attempting.ts';
import type { FinishedAttempt } from './attempts.ts';
import type { SendResult } from './channel.ts';
import { type Lane, type NewlyQueued, openingDelivery } from './lane.ts';
import { LaneSending } from './lane-sending.ts';
import { Ledger } from './ledger.ts';
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
  readonly #ledger: Ledger;
  readonly #turns: Turns;
  readonly #attempting: Attempting;
  readonly #sending: LaneSending;
  readonly #ages: Ages;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(attempt: FinishedAttempt) => void>();
  #state: 'new' | 'loading' | 'running' | 'stopped' = 'new';

  constructor(parts: DelivererParts) {
    const { clock, log, source } = parts;
    this.#parts = parts;
    this.#ages = new Ages(clock);
    this.#ledger = new Ledger({ ...parts, onQueued: (queued) => this.wake(queued) });
    this.#turns = new Turns({
      clock,
      log,
      source,
      send: (queue, found, lane) => this.#sending.send(queue, found, lane),
      onOwnFailure: () => {
        this.counters.failures.own += 1;
      },
    });
    this.#attempting = new Attempting({ ...parts, counters: this.counters });
    this.#sending = new LaneSending({
      clock,
      log,
      random: parts.random ?? Math.random,
      turns: this.#turns,
      ledger: this.#ledger,
      attempting: this.#attempting,
      ages: this.#ages,
      counters: this.counters,
      signal: this.#abort.signal,
      onRecorded: (attempt) => {
        for (const listener of this.#listeners) listener(attempt);
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
    const oldestMs = lanes === 0 ? 0 : this.#ages.of(oldest);
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
    this.#sending.lastIdBefore = await this.#ledger.lastId();
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
    const now = this.#parts.clock.wall();
    this.#ages.start();
    this.#turns.start((lane) => (plannedAt.get(lane) ?? now) - now);
  }

  /** Running sends may end by themselves for 1 s, then they are cut off. Unrecorded attempts stay pending. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#ages.stop();
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
      this.#turns.hurry(queue, known);
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
    if (queue !== undefined) this.#turns.takeUp(queue);
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
      kept: found.kept,
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
    if (outcome === 'delivered' || outcome === 'permanent-channel') this.#turns.takeUp(queue);
    else this.#turns.wakeLanes(queue, () => true);
  }
}

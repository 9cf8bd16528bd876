import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { LONGEST_WAIT_MS } from '../domain/backoff.ts';
import type { QueuedDelivery } from '../store/delivery-queue.ts';
import { ChannelQueue, type FoundChannel } from './channel-queue.ts';
import { earliest, KindGates } from './kind-gates.ts';
import type { Lane } from './lane.ts';
import { Places } from './places.ts';

/** Finds a channel; null when it is gone. */
export interface ChannelSource {
  find(notificationId: number): Promise<FoundChannel | null>;
}

type Parts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly source: ChannelSource;
  /** Sends or settles the lane's head. Never rejects. */
  readonly send: (queue: ChannelQueue, found: FoundChannel, lane: Lane) => Promise<void>;
  /** A channel could not be looked up. */
  readonly onOwnFailure: () => void;
};

/** A send that takes longer is slow, ms: see `Places`. */
const SLOW_AFTER_MS = 1_000;
/** Least time between two attempts where a younger alert of the lane asks for the second, ms. */
const HURRY_MS = 30_000;
/** Wait after a lookup of a channel that failed, ms. */
const LOOK_AGAIN_MS = 1_000;
/** Time for which the queue of a channel without alerts is kept, ms. */
const IDLE_MS = 10 * 60_000;
const SWEEP_EVERY_MS = 60_000;

/**
 * Whose turn it is: the lanes of all channels, and when each may send. A ready lane is sent when its channel
 * was looked up, the receiver takes it (hold, pace, rate of the channel and of the kind), and there is a place.
 * Lanes of one channel take turns in the order of their alerts, and so do channels that wait for places.
 */
export class Turns {
  readonly #parts: Parts;
  readonly #queues = new Map<number, ChannelQueue>();
  readonly #places = new Places();
  readonly #kinds: KindGates;
  /** Queues with ready lanes that found no place, in all or for their workspace. */
  readonly #starved = new Set<ChannelQueue>();
  readonly #running = new Set<Promise<void>>();
  #cancelSweep: () => void = () => {};
  #isRunning = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#kinds = new KindGates(parts.clock, (queue) => this.#pump(queue));
  }

  get sending(): number {
    return this.#running.size;
  }

  queues(): Iterable<ChannelQueue> {
    return this.#queues.values();
  }

  find(notificationId: number): ChannelQueue | undefined {
    return this.#queues.get(notificationId);
  }

  /** The channel's queue, which is made if there is none. */
  queueOf(notificationId: number): ChannelQueue {
    let queue = this.#queues.get(notificationId);
    if (queue === undefined) {
      queue = new ChannelQueue(notificationId);
      queue.usedAt = this.#parts.clock.monotonic();
      this.#queues.set(notificationId, queue);
    }
    return queue;
  }

  /**
   * Starts all lanes that there are.
   *
   * @param waitOf time until a lane's next attempt, ms; 0 or less: at once
   */
  start(waitOf: (lane: Lane) => number): void {
    this.#isRunning = true;
    this.#cancelSweep = this.#parts.clock.every(SWEEP_EVERY_MS, () => this.#sweep());
    for (const queue of [...this.#queues.values()]) {
      for (const lane of queue.lanes.values()) {
        const waitMs = waitOf(lane);
        if (waitMs > 0) this.wait(queue, lane, waitMs);
        else queue.ready.push(lane);
      }
      this.#pump(queue);
    }
  }

  /** Starts nothing any more. */
  stop(): void {
    this.#isRunning = false;
    this.#cancelSweep();
    this.#kinds.stop();
    for (const queue of this.#queues.values()) queue.cancelTimers();
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** @param head the lane's head, if it is at hand; it is kept only when it is sent at once */
  makeReady(queue: ChannelQueue, lane: Lane, head: QueuedDelivery | null): void {
    lane.place = 'ready';
    lane.loaded = head;
    queue.ready.push(lane);
    this.#pump(queue);
    if (lane.place === 'ready') lane.loaded = null;
  }

  wait(queue: ChannelQueue, lane: Lane, forMs: number): void {
    // The instant may come from a time before the system's clock was set back. No wait is longer than the
    // schedule's.
    const waitMs = Math.min(Math.max(0, forMs), LONGEST_WAIT_MS);
    lane.place = 'waiting';
    queue.waiting.add(lane);
    lane.dueAt = this.#parts.clock.monotonic() + waitMs;
    lane.cancelTimer = this.#parts.clock.after(waitMs, () => {
      lane.isEarly = false;
      queue.waiting.delete(lane);
      this.makeReady(queue, lane, null);
    });
  }

  /** Ends the waits of these lanes of the channel; a lane that fails then is not woken by a success again. */
  wakeLanes(queue: ChannelQueue, isWoken: (lane: Lane) => boolean): void {
    for (const lane of queue.waiting) {
      if (!isWoken(lane)) continue;
      queue.waiting.delete(lane);
      lane.cancelTimer();
      lane.isEarly = true;
      lane.place = 'ready';
      queue.ready.push(lane);
    }
    this.#pump(queue);
  }

  /** Takes lanes that are not being sent out of their places, in the order of their alerts: they are being sent. */
  takeAlong(queue: ChannelQueue, isTaken: (lane: Lane) => boolean, most: number): Lane[] {
    const along = [...queue.lanes.values()].filter((lane) => lane.place !== 'sending' && isTaken(lane));
    const taken = new Set(along.sort((one, other) => one.headId - other.headId).slice(0, most));
    queue.ready.takeWhere((lane) => taken.has(lane));
    for (const lane of taken) {
      if (lane.place === 'waiting') lane.cancelTimer();
      queue.waiting.delete(lane);
      lane.place = 'sending';
    }
    return [...taken];
  }

  /** A younger alert came while the lane waits: its head is tried soon, not at the end of a long wait. */
  hurry(queue: ChannelQueue, lane: Lane): void {
    if (lane.place !== 'waiting') return;
    const now = this.#parts.clock.monotonic();
    const at = (lane.triedAt ?? now) + HURRY_MS;
    if (at >= lane.dueAt) return;
    lane.cancelTimer();
    this.wait(queue, lane, at - now);
  }

  /** The channel was changed, or works again: what was learned counts no more, and what waits is tried. */
  takeUp(queue: ChannelQueue): void {
    queue.takeUp();
    this.wakeLanes(queue, () => true);
  }

  /** Whether lanes of the channel still get turns. */
  isGoingOn(queue: ChannelQueue): boolean {
    return this.#isRunning && !queue.isRemoved;
  }

  /** The channel may take more than before. */
  resume(queue: ChannelQueue): void {
    this.#pump(queue);
  }

  remove(queue: ChannelQueue, lane: Lane): void {
    queue.lanes.delete(lane.monitorId);
  }

  forget(queue: ChannelQueue): void {
    queue.isRemoved = true;
    queue.cancelTimers();
    queue.lanes.clear();
    queue.waiting.clear();
    this.#starved.delete(queue);
    this.#queues.delete(queue.notificationId);
  }

  /** Forgets the queues of channels that had nothing to send for a while. */
  #sweep(): void {
    const until = this.#parts.clock.monotonic() - IDLE_MS;
    for (const queue of [...this.#queues.values()]) {
      if (queue.lanes.size === 0 && queue.sending === 0 && queue.usedAt < until) this.forget(queue);
    }
  }

  /** Starts as many of the channel's ready lanes as its receiver takes and as there are places. */
  #pump(queue: ChannelQueue): void {
    queue.cancelTurn();
    while (this.#isRunning && !queue.isRemoved && queue.ready.size > 0 && queue.hasPlace) {
      if (queue.found === undefined || queue.found === null) {
        this.#open(queue);
        return;
      }
      const now = this.#parts.clock.monotonic();
      const at = queue.readyAt(now);
      if (at > now) {
        queue.cancelTurn = this.#parts.clock.after(at - now, () => this.#pump(queue));
        return;
      }
      if (!this.#kinds.isOpen(queue)) return;
      if (!this.#launch(queue, queue.found)) {
        this.#starved.add(queue);
        return;
      }
    }
  }

  /** Sends the channel's first ready lane; false: there is no place. */
  #launch(queue: ChannelQueue, found: FoundChannel): boolean {
    const { clock } = this.#parts;
    const place = this.#places.take(found.workspaceId, queue.isSlow);
    if (place === null) return false;
    const lane = queue.ready.pop();
    if (lane === undefined) throw new TypeError('no lane is ready');
    queue.started(clock.monotonic());
    this.#kinds.started(queue);
    lane.place = 'sending';
    queue.sending += 1;
    let isSlow = false;
    const cancelSlow = clock.after(SLOW_AFTER_MS, () => {
      isSlow = true;
      queue.isSlow = true;
      if (place.slow()) this.#pumpStarved();
    });
    this.#run(this.#parts.send(queue, found, lane), () => {
      cancelSlow();
      queue.isSlow = isSlow;
      place.give();
      queue.sending -= 1;
      this.#pump(queue);
      this.#pumpStarved();
    });
    return true;
  }

  /** Nothing was sent in the turn: what the receiver takes is not used up. */
  giveBack(queue: ChannelQueue): void {
    queue.givenBack();
    this.#kinds.giveBack(queue);
  }

  /** Gives free places to the channels that found none, the oldest alert first. */
  #pumpStarved(): void {
    for (;;) {
      // Those of full workspaces are passed over: trying each of them again with every end costs too much.
      const queue = earliest(this.#withPlaces());
      if (queue === null) return;
      this.#starved.delete(queue);
      this.#pump(queue);
    }
  }

  *#withPlaces(): Iterable<ChannelQueue> {
    for (const queue of this.#starved) {
      const workspaceId = queue.found?.workspaceId;
      if (workspaceId === undefined || this.#places.hasFor(workspaceId, queue.isSlow)) yield queue;
    }
  }

  /** Looks the channel up, which its first send and each change need. */
  #open(queue: ChannelQueue): void {
    if (queue.opening !== null) return;
    const opening = Symbol('lookup');
    queue.opening = opening;
    this.#run(this.#lookUp(queue, opening), () => {});
  }

  async #lookUp(queue: ChannelQueue, opening: symbol): Promise<void> {
    const { source, clock, log, onOwnFailure } = this.#parts;
    const { notificationId } = queue;
    try {
      const found = await source.find(notificationId);
      // The channel was changed meanwhile.
      if (queue.opening !== opening) return;
      queue.opening = null;
      queue.found = found;
      if (found === null) this.forget(queue);
      else this.#pump(queue);
    } catch (error) {
      queue.opening = null;
      onOwnFailure();
      log.error({ error: messageOf(error), notificationId }, 'looking up a channel failed: svc tries again');
      if (this.#isRunning) queue.cancelTurn = clock.after(LOOK_AGAIN_MS, () => this.#pump(queue));
    }
  }

  #run(work: Promise<void>, ended: () => void): void {
    const running = work.finally(() => {
      this.#running.delete(running);
      ended();
    });
    this.#running.add(running);
  }
}

import type { ApartSubscription, Bus, BusMessage } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { agentsSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { DispatchCounters } from './counters.ts';
import { regionIndex } from './job.ts';
import { MESSAGE_COST, RegionAllowance } from './region-allowance.ts';

/** Wait until a lost connection is tried again, ms. */
const RETRY_MS = 500;
/**
 * Delay of each region's connection after the one before it, ms, so that 28 handshakes do not hold the thread
 * together.
 */
const STAGGER_MS = 20;
/** First and longest time for which a region is muted, ms; each further time is twice as long. */
const FIRST_MUTE_MS = 10_000;
const LONGEST_MUTE_MS = 10 * 60_000;
/** Time without being muted after which the next mute is a first one again, ms. */
const CALM_MS = 10 * 60_000;
/** Time for which agents without a connection do not count as silent, ms. */
const EXCUSED_MS = 10_000;
/** Time after which a connection without an answer is not awaited any more, ms. */
const FENCE_MS = 1_000;
/** Cost of messages handled in one turn of the event loop, so that they do not hold the thread for long. */
const TURN_COST = 128 * 1_024;

export type RegionEarParts = {
  readonly region: Region;
  readonly bus: Pick<Bus, 'isConnected' | 'subscribeApart'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly counters: Pick<DispatchCounters, 'regionMutings'>;
  /** Called when something has come; it is judged next. */
  readonly onArrival: () => void;
  readonly onMessage: (region: Region, message: BusMessage) => void;
  /** Called when the region begins to be heard. */
  readonly onHearing: (region: Region) => void;
};

/**
 * Listens to the agents of one region over a connection of its own: their messages reach no other region and
 * do not use the connection of jobs and results. A region that sends more than is allowed is muted.
 *
 *     closed ── open ──▶ opening ──connected──▶ hearing ──more than allowed──▶ muted
 *                          ▲  │                    │                             ▲ │
 *                          │  └──failed──▶ lost ◀──┘ ended                       │ │
 *                          │                │ └── cut off more than allowed ─────┘ │
 *                          ├── 0.5 s ───────┘                                      │
 *                          └── 10 s, 20 s … 10 min ────────────────────────────────┘
 */
export class RegionEar {
  readonly #parts: RegionEarParts;
  readonly #allowance = new RegionAllowance();
  #state: 'closed' | 'opening' | 'hearing' | 'lost' | 'muted' = 'closed';
  /** Grows with every change of the connection; events of an earlier connection are ignored. */
  #attempt = 0;
  #subscription: ApartSubscription | null = null;
  #cancelTimer: () => void = () => {};
  /** Start of deafness, monotonic ms; null while it hears. */
  #deafSince: number | null = null;
  #hasToldDeaf = false;
  /** Its connection has ended, and that of the bus has not: the server may have cut it off. */
  #wasCutOff = false;
  /** It was muted, and not heard since. */
  #wasMuted = false;
  #hearingSince = 0;
  #muteMs = 0;
  /** Callers that wait for an answer of the connection. */
  readonly #fences = new Set<(hasCaughtUp: boolean) => void>();
  /** Messages that are not handled yet, and callers that wait until the messages before them are. */
  #waiting: (BusMessage | (() => void))[] = [];
  #turnCost = 0;

  constructor(parts: RegionEarParts) {
    this.#parts = parts;
  }

  get isMuted(): boolean {
    return this.#state === 'muted';
  }

  /** Resolves when the first attempt to connect has succeeded or failed. */
  async open(): Promise<void> {
    this.#deafSince = this.#parts.clock.monotonic();
    await this.#connect();
  }

  /** To be called when the bus has lost its connection. A server that ends cuts off nobody, and ends others first. */
  busLost(): void {
    this.#wasCutOff = false;
  }

  /** To be called when the bus is connected again: this connection may work as well then. */
  busConnected(): void {
    if (this.#state === 'lost') this.#connectIn(0);
  }

  /**
   * Waits until all messages that the agents had sent are handled.
   *
   * @returns false: messages may still be on the way, so silence means nothing
   */
  async caughtUp(): Promise<boolean> {
    switch (this.#state) {
      case 'hearing':
        return this.#fence();
      case 'muted':
      case 'closed':
        return true;
      case 'opening':
      case 'lost':
        return this.#parts.clock.monotonic() - (this.#deafSince ?? 0) >= EXCUSED_MS;
      default:
        return this.#state satisfies never;
    }
  }

  /** Notes that this process stood still for `ms` until now. */
  stood(ms: number): void {
    this.#allowance.stood(ms, this.#parts.clock.monotonic());
  }

  async close(): Promise<void> {
    await this.#leave('closed');
  }

  async #connect(): Promise<void> {
    const { region, bus, clock, log, onHearing } = this.#parts;
    void this.#leave('opening');
    const attempt = this.#attempt;
    const isOver = () => attempt !== this.#attempt;
    try {
      const subscription = await bus.subscribeApart(
        agentsSubject(region),
        (message) => {
          if (!isOver()) this.#hear(message);
        },
        () => {
          if (!isOver()) this.#lost();
        },
      );
      if (isOver()) {
        await subscription.close();
        return;
      }
      this.#subscription = subscription;
      await subscription.flush();
    } catch (error) {
      if (isOver()) return;
      this.#failed(error);
      this.#lost();
      return;
    }
    if (isOver()) return;
    if (this.#wasMuted) log.info({ region }, 'a region is heard again');
    this.#wasMuted = false;
    this.#state = 'hearing';
    this.#deafSince = null;
    this.#hasToldDeaf = false;
    this.#hearingSince = clock.monotonic();
    onHearing(region);
  }

  /** The bus itself reports that NATS cannot be reached; any other cause is logged once. */
  #failed(error: unknown): void {
    const { region, bus, clock, log } = this.#parts;
    const deafMs = clock.monotonic() - (this.#deafSince ?? 0);
    if (this.#hasToldDeaf || !bus.isConnected || deafMs < EXCUSED_MS) return;
    this.#hasToldDeaf = true;
    log.warn({ region, error: messageOf(error) }, DEAF);
  }

  #hear(message: BusMessage): void {
    this.#parts.onArrival();
    if (!this.#allowance.message(message.bytes, this.#parts.clock.monotonic())) {
      this.#mute();
      return;
    }
    this.#waiting.push(message);
    this.#work();
  }

  /** Handles waiting messages up to the cost of one turn of the event loop, and the rest in the next turns. */
  #work(): void {
    const { region, onMessage } = this.#parts;
    while (this.#turnCost < TURN_COST) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (typeof next === 'function') {
        next();
        continue;
      }
      if (this.#turnCost === 0) setImmediate(() => this.#nextTurn());
      this.#turnCost += next.bytes + MESSAGE_COST;
      onMessage(region, next);
    }
  }

  #nextTurn(): void {
    this.#turnCost = 0;
    this.#work();
  }

  async #fence(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#parts.clock.after(FENCE_MS, () => resolve(false));
    this.#fences.add(resolve);
    this.#subscription?.flush().then(
      () => {
        this.#waiting.push(() => resolve(true));
        this.#work();
      },
      () => resolve(false), // It ended meanwhile: that is told to onEnd.
    );
    try {
      return await promise;
    } finally {
      cancel();
      this.#fences.delete(resolve);
    }
  }

  #lost(): void {
    const { bus, clock, onArrival } = this.#parts;
    this.#wasCutOff = this.#subscription !== null && bus.isConnected;
    this.#deafSince ??= clock.monotonic();
    onArrival();
    void this.#leave('lost');
    this.#connectIn(RETRY_MS);
  }

  #connectIn(ms: number): void {
    const { region, bus, clock } = this.#parts;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(ms + regionIndex(region) * STAGGER_MS, () => {
      const isTooMuch = this.#wasCutOff && !this.#allowance.cutOff(clock.monotonic());
      this.#wasCutOff = false;
      if (isTooMuch) this.#mute();
      // Without the bus there is no server either; the bus reports when it is back.
      else if (bus.isConnected) void this.#connect();
    });
  }

  #mute(): void {
    const { region, clock, log, counters } = this.#parts;
    const now = clock.monotonic();
    const wasCalm = this.#deafSince === null && now - this.#hearingSince >= CALM_MS;
    this.#muteMs =
      this.#muteMs === 0 || wasCalm ? FIRST_MUTE_MS : Math.min(2 * this.#muteMs, LONGEST_MUTE_MS);
    this.#deafSince ??= now;
    void this.#leave('muted');
    this.#wasMuted = true;
    counters.regionMutings += 1;
    log.error({ region, seconds: this.#muteMs / 1_000 }, MUTED);
    this.#cancelTimer = clock.after(this.#muteMs, () => void this.#connect());
  }

  /** Ends the connection, and drops waiting messages. */
  async #leave(state: 'closed' | 'opening' | 'lost' | 'muted'): Promise<void> {
    this.#state = state;
    this.#attempt += 1;
    this.#cancelTimer();
    this.#waiting = [];
    for (const answer of this.#fences) answer(false);
    const subscription = this.#subscription;
    this.#subscription = null;
    await subscription?.close();
  }
}

const DEAF =
  'cannot hear the agents of a region: its separate connection to NATS fails; svc tries again, and the region takes no jobs meanwhile';
const MUTED =
  'the agents of a region, or somebody with their key, send more than svc reads: svc ignores them for a while, so the region takes no jobs; find the connection that floods, delete its key and reload NATS';

import type { Clock } from '@svc/shared/clock.ts';
import type { CpuCounterSource } from './cpu-counters.ts';
import { freeMs } from './free-time.ts';
import { type CpuSample, isStarvedBy, waitingParts } from './waiting.ts';

/** How often the event loop is asked whether it is late. */
const SAMPLE_MS = 100;
/** From this delay on, the agent's time-outs mean nothing. */
const STARVED_MS = 500;
/** Stalls and counters are remembered this long: longer than any attempt (120 s) may take. */
const REMEMBERED_MS = 180_000;
/** The kernel's counters are read this often: by every third sample of the loop, and no sooner for an attempt. */
const COUNTERS_MS = 250;
/** Of the last so many ms the agent says whether it is starved as a whole; a voided attempt says so for as long. */
const SICK_MS = 10_000;
/** It is, when it waited for this part of them. */
const SICK_PART = 0.5;

type Stall = { to: number; delay: number };

/** What kept the agent from its work during an attempt. */
export type HeldBack = {
  /** Delay of the event loop's stalls of at least {@link STARVED_MS}, 0 without one. */
  readonly loopDelayMs: number;
  /** It waited for a CPU for a large part of the time. */
  readonly isWaiting: boolean;
  /** For at least so long, all the same, it had nothing to do: an answer would have been read at once. */
  readonly freeMs: number;
  /** Time that was looked at. */
  readonly durationMs: number;
};

/**
 * Tells a slow target from a slow agent: watches how late the event loop runs its timers, and what the
 * kernel counts of the time that the process waited to run ({@link waitingParts}). The loop alone does not
 * tell: beside busy neighbours every step of an attempt is late, and none by half a second.
 *
 * Only stalls of 500 ms and more are remembered; at most one exists per half second, and four samples of the
 * counters per second, so both lists are bounded by {@link REMEMBERED_MS}.
 */
export class Starvation {
  readonly #clock: Clock;
  readonly #counters: CpuCounterSource;
  #stalls: Stall[] = [];
  #samples: CpuSample[] = [];
  #lastSampleAt: number;
  #largestDelay = 0;
  #voidedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, counters: CpuCounterSource) {
    this.#clock = clock;
    this.#counters = counters;
    this.#lastSampleAt = clock.monotonic();
  }

  start(): void {
    this.#lastSampleAt = this.#clock.monotonic();
    this.#readCounters();
    this.#cancel = this.#clock.every(SAMPLE_MS, () => this.#sample());
  }

  /** Closes the counters; it is not started again. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#counters.close();
  }

  /**
   * Delay of the stalls that touch the time from `from` until now, ms; 0 when there was none of at
   * least {@link STARVED_MS}. Includes the one that is just ending: after a stall a probe's time-out may be run before
   * our sample is.
   *
   * @param from monotonic milliseconds
   */
  delaySince(from: number): number {
    const pending = this.#pendingDelay();
    let total = pending >= STARVED_MS ? Math.min(pending, this.#clock.monotonic() - from) : 0;
    for (let index = this.#stalls.length - 1; index >= 0; index -= 1) {
      const stall = this.#stalls[index];
      if (stall === undefined || stall.to <= from) break;
      total += Math.min(stall.delay, stall.to - from);
    }
    return total;
  }

  /**
   * What kept the agent back from `from` until now. For the few attempts whose verdict depends on it: it may
   * read the counters.
   *
   * @param from begin of the attempt, monotonic milliseconds
   * @param latency when its answer was there, ms: what came after it (decoding) is no free time
   */
  heldBackSince(from: number, latency = Number.POSITIVE_INFINITY): HeldBack {
    this.#readCountersIfOld();
    const now = this.#clock.monotonic();
    const loopDelayMs = this.delaySince(from);
    return {
      loopDelayMs,
      isWaiting: isStarvedBy(waitingParts(this.#samples, from, now)),
      // A process that is stopped, or a machine that stands still, may seem to sleep in the poll phase.
      freeMs: Math.max(0, freeMs(this.#samples, from, Math.min(now, from + latency)) - loopDelayMs),
      durationMs: now - from,
    };
  }

  /** An attempt was given up because of what {@link heldBackSince} said. */
  voided(): void {
    this.#voidedAt = this.#clock.monotonic();
  }

  /** Within the last ten seconds attempts were given up, or the agent waited for half of the time. */
  get isSick(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#voidedAt < SICK_MS) return true;
    const first = this.#samples[0];
    if (first === undefined || now - first.at < SICK_MS) return false;
    return waitingParts(this.#samples, now - SICK_MS, now).waited >= SICK_PART;
  }

  /** Largest delay since it was last asked, ms. */
  takeLargestDelay(): number {
    const largest = Math.max(this.#largestDelay, this.#pendingDelay());
    this.#largestDelay = 0;
    return largest;
  }

  #sample(): void {
    const now = this.#clock.monotonic();
    const delay = this.#pendingDelay();
    this.#largestDelay = Math.max(this.#largestDelay, delay);
    if (delay >= STARVED_MS) {
      this.#stalls = this.#stalls.filter((stall) => stall.to > now - REMEMBERED_MS);
      this.#stalls.push({ to: now, delay });
    }
    this.#lastSampleAt = now;
    this.#readCountersIfOld();
  }

  #readCountersIfOld(): void {
    const newest = this.#samples.at(-1);
    if (newest === undefined || this.#clock.monotonic() - newest.at >= COUNTERS_MS) this.#readCounters();
  }

  #readCounters(): void {
    const at = this.#clock.monotonic();
    this.#samples.push({ at, ...this.#counters.read() });
    const [oldest] = this.#samples;
    // Twice as many as are needed, so that throwing away costs nothing to speak of.
    if (oldest !== undefined && at - oldest.at > 2 * REMEMBERED_MS) {
      this.#samples = this.#samples.filter((sample) => sample.at > at - REMEMBERED_MS);
    }
  }

  #pendingDelay(): number {
    if (this.#cancel === null) return 0;
    return Math.max(0, this.#clock.monotonic() - this.#lastSampleAt - SAMPLE_MS);
  }
}

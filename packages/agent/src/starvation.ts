import type { Clock } from '@svc/shared/clock.ts';
import type { CpuCounterSource } from '@svc/shared/process/cpu-counters.ts';
import { type CpuSample, freeMs, isStarvedBy, waitingParts } from './cpu-waiting.ts';

/** Interval between two measurements of the event loop's lateness, ms. */
const SAMPLE_MS = 100;
/** Delays below this limit occur in an idle event loop, ms. */
const SMALL_DELAY_MS = 10;
/** Factor by which {@link Starvation.recentStall} fades with each sample. */
const FADING = 0.8;
/** Minimum delay of the event loop that makes the agent's time-outs meaningless, ms. */
const STARVED_MS = 500;
/** Minimum time for which stalls and counters are remembered, ms: longer than any attempt (120 s). */
const REMEMBERED_MS = 180_000;
/**
 * Shortest interval between two readings of the kernel's counters, ms. On an
 * idle agent, they are read at every third sample of the event loop.
 */
const COUNTERS_MS = 250;
/**
 * Span over which the agent is judged as sick, ms. An attempt
 * that was voided makes the agent sick for the same time.
 */
const SICK_MS = 10_000;
/** An agent that waited for a CPU for this part of {@link SICK_MS} is sick. */
const SICK_PART = 0.5;

type Stall = { to: number; delay: number };

/** The delays of the agent itself during an attempt. */
export type HeldBack = {
  /**
   * Total delay of the event loop by stalls of at least
   * {@link STARVED_MS}, ms; 0 when there was no such stall.
   */
  readonly loopDelayMs: number;
  /** Whether the agent waited for a CPU for so long that it counts as starved ({@link isStarvedBy}). */
  readonly isWaiting: boolean;
  /** Time in which the agent certainly had nothing to do and would have read an answer at once, ms. */
  readonly freeMs: number;
  /** Time from the start of the attempt until now, ms. */
  readonly durationMs: number;
};

/**
 * Distinguishes a slow target from a slow agent. It measures how late the event loop runs its timers,
 * and reads the kernel's count of the time for which the main thread waited to run ({@link waitingParts}).
 *
 * Measuring the event loop is not enough: beside busy processes, every step of an attempt is late, but no
 * step by half a second. Only stalls of 500 ms or more are remembered. {@link REMEMBERED_MS} bounds both
 * lists, because at most two stalls end in a second, and about four samples of the counters are taken.
 */
export class Starvation {
  readonly #clock: Clock;
  readonly #counters: CpuCounterSource;
  #stalls: Stall[] = [];
  #samples: CpuSample[] = [];
  #lastSampleAt: number;
  #largestDelay = 0;
  #recentDelay = 0;
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

  /** Stops the measurements and closes the counters. The object cannot be started again. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#counters.close();
  }

  /**
   * Total delay by stalls of at least {@link STARVED_MS} between `from` and now,
   * ms; 0 when there was none. Of a stall that began before `from`, the part after `from` counts.
   *
   * The total includes a stall that is just ending, because after
   * a stall a probe's time-out may run before the next sample.
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
   * The delays of the agent itself from `from` until now. The method may read the
   * counters, so call it only for the few attempts whose verdict depends on it.
   *
   * @param from start of the attempt, monotonic milliseconds
   * @param latency time from `from` until the whole answer had arrived, ms. Only this time counts for
   *   `freeMs`, because decoding keeps the process busy afterwards
   */
  heldBackSince(from: number, latency = Number.POSITIVE_INFINITY): HeldBack {
    this.#readCountersIfOld();
    const now = this.#clock.monotonic();
    const loopDelayMs = this.delaySince(from);
    return {
      loopDelayMs,
      isWaiting: isStarvedBy(waitingParts(this.#samples, from, now)),
      // While the process is stopped or the machine stands still, the event
      // loop seems to sleep in the poll phase, so such stalls are subtracted.
      freeMs: Math.max(0, freeMs(this.#samples, from, Math.min(now, from + latency)) - loopDelayMs),
      durationMs: now - from,
    };
  }

  /** Records that an attempt was voided, that is, reported as `not_run: agent-starved`. */
  voided(): void {
    this.#voidedAt = this.#clock.monotonic();
  }

  /**
   * Whether the agent voided an attempt within the last ten seconds, or waited for a CPU for at
   * least half of that time. The wait is judged only when the samples cover these ten seconds.
   */
  get isSick(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#voidedAt < SICK_MS) return true;
    const first = this.#samples[0];
    if (first === undefined || now - first.at < SICK_MS) return false;
    return waitingParts(this.#samples, now - SICK_MS, now).waited >= SICK_PART;
  }

  /**
   * The longest time for which the event loop can have stood still recently, ms; less than 10 for an
   * idle loop. A stall is longer than the delay of a sample, because it began before the sample was due.
   */
  get recentStall(): number {
    const delay = Math.max(this.#recentDelay, this.#pendingDelay());
    return delay < SMALL_DELAY_MS ? delay : delay + SAMPLE_MS;
  }

  /** Returns the largest delay of the event loop since the last call, ms. */
  takeLargestDelay(): number {
    const largest = Math.max(this.#largestDelay, this.#pendingDelay());
    this.#largestDelay = 0;
    return largest;
  }

  #sample(): void {
    const now = this.#clock.monotonic();
    const delay = this.#pendingDelay();
    this.#largestDelay = Math.max(this.#largestDelay, delay);
    this.#recentDelay = Math.max(delay, this.#recentDelay * FADING);
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
    // Old samples are dropped rarely, when the list covers twice
    // the needed time, so that dropping costs almost nothing.
    if (oldest !== undefined && at - oldest.at > 2 * REMEMBERED_MS) {
      this.#samples = this.#samples.filter((sample) => sample.at > at - REMEMBERED_MS);
    }
  }

  #pendingDelay(): number {
    if (this.#cancel === null) return 0;
    return Math.max(0, this.#clock.monotonic() - this.#lastSampleAt - SAMPLE_MS);
  }
}

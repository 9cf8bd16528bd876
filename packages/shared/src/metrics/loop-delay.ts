import { Distribution } from './distribution.ts';
import { PROCESS_HISTOGRAMS } from './process-instruments.ts';

/** Interval at which the delay is measured, ms: ten timers a second take some 0.01 % of a CPU. */
const SAMPLE_MS = 100;

/**
 * Measures how late the event loop runs its timers. Ten times a second, a timer notes its delay. A longer
 * standstill makes one value.
 */
export class LoopDelay {
  /** Seconds, since the start. */
  readonly values = new Distribution(PROCESS_HISTOGRAMS.loopDelay.bounds);
  #timer: NodeJS.Timeout | null = null;
  #dueAt = 0;

  /** Starts to measure. The timer keeps no process alive. */
  start(): void {
    this.#dueAt = performance.now() + SAMPLE_MS;
    this.#timer ??= setInterval(() => this.#sample(), SAMPLE_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #sample(): void {
    const now = performance.now();
    this.values.record(Math.max(0, now - this.#dueAt) / 1_000);
    this.#dueAt = now + SAMPLE_MS;
  }
}

import type { Clock } from '@svc/shared/clock.ts';

/** Longest part of a turn of the event loop that counts as time, ms of real time. */
const LONGEST_TURN_MS = 50;
/** The clock is read at least this often, ms of real time. */
const READ_EVERY_MS = 20;

/**
 * Real time that runs faster: a monitor's 30 s period passes in one second and a half at a scale of 20.
 * For tests of the whole system in one process; sockets and NATS keep their own real time.
 *
 * While a busy machine holds this process, no time passes: otherwise half a second without a CPU would be five
 * seconds of silence of every agent at once. Other tests cover a service that stands still.
 */
export class ScaledClock implements Clock {
  readonly #scale: number;
  readonly #wallOrigin = Date.now();
  #offset = 0;
  /** Real ms since the beginning, without those in which this process was held. */
  #passed = 0;
  #readAt = performance.now();

  constructor(scale: number) {
    this.#scale = scale;
    setInterval(() => this.monotonic(), READ_EVERY_MS).unref();
  }

  wall(): number {
    return Math.floor(this.#wallOrigin + this.#offset + this.monotonic());
  }

  monotonic(): number {
    const now = performance.now();
    this.#passed += Math.min(now - this.#readAt, LONGEST_TURN_MS);
    this.#readAt = now;
    return this.#passed * this.#scale;
  }

  after(delayMs: number, task: () => void): () => void {
    const dueAt = this.monotonic() + delayMs;
    const fire = () => {
      const left = dueAt - this.monotonic();
      if (left > 0) timer = setTimeout(fire, left / this.#scale);
      else task();
    };
    let timer = setTimeout(fire, delayMs / this.#scale);
    return () => clearTimeout(timer);
  }

  every(intervalMs: number, task: () => void): () => void {
    const again = () => {
      cancel = this.after(intervalMs, again);
      task();
    };
    let cancel = this.after(intervalMs, again);
    return () => cancel();
  }

  /** Sets the system's clock: `wall` jumps, `monotonic` does not. */
  stepWall(ms: number): void {
    this.#offset += ms;
  }
}

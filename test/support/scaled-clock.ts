import type { Clock } from '@svc/shared/clock.ts';

/**
 * Real time that runs faster: a monitor's 30 s period passes in one second and a half at a scale of 20.
 * For tests of the whole system in one process; sockets and NATS keep their own real time.
 */
export class ScaledClock implements Clock {
  readonly #scale: number;
  readonly #wallOrigin = Date.now();
  readonly #origin = performance.now();
  #offset = 0;

  constructor(scale: number) {
    this.#scale = scale;
  }

  wall(): number {
    return Math.floor(this.#wallOrigin + this.#offset + this.monotonic());
  }

  monotonic(): number {
    return (performance.now() - this.#origin) * this.#scale;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = setTimeout(task, delayMs / this.#scale);
    return () => clearTimeout(timer);
  }

  every(intervalMs: number, task: () => void): () => void {
    const timer = setInterval(task, intervalMs / this.#scale);
    return () => clearInterval(timer);
  }

  /** Sets the system's clock: `wall` jumps, `monotonic` does not. */
  stepWall(ms: number): void {
    this.#offset += ms;
  }
}

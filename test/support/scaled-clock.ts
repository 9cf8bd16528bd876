import type { Clock } from '@svc/shared/clock.ts';

/**
 * Maximum time between two readings of the clock that counts, real ms. A busy machine lets a process wait for some tens
 * of ms at a time, so this clock has the speed that the process has.
 */
const LONGEST_TURN_MS = 15;
/** While a timer waits, the clock is read at least this often, ms of real time. */
const READ_EVERY_MS = 10;
/** Longest time of a timer of Node, ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Real time that runs faster: a monitor's 30 s period passes in one second and a half at a scale of 20.
 * For tests of the whole system in one process; sockets and NATS keep their own real time.
 *
 * While a busy machine stops this process, no time passes: otherwise half a second without a CPU would count
 * as five seconds of silence of every agent at once. Other tests cover a service that stands still.
 */
export class ScaledClock implements Clock {
  readonly #wallOrigin = Date.now();
  #scale: number;
  #offset = 0;
  /** Time on this clock since its creation, ms. */
  #passed = 0;
  #readAt = performance.now();
  /** Functions that set each waiting timer again. */
  readonly #waiting = new Set<() => void>();
  #reading: NodeJS.Timeout | undefined;

  constructor(scale: number) {
    this.#scale = scale;
  }

  wall(): number {
    return Math.floor(this.#wallOrigin + this.#offset + this.monotonic());
  }

  monotonic(): number {
    const now = performance.now();
    this.#passed += Math.min(now - this.#readAt, LONGEST_TURN_MS) * this.#scale;
    this.#readAt = now;
    return this.#passed;
  }

  after(delayMs: number, task: () => void): () => void {
    const dueAt = this.monotonic() + delayMs;
    let timer: NodeJS.Timeout | undefined;
    const set = () => {
      clearTimeout(timer);
      // The time is rounded up, because Node drops the fraction.
      // A timer that is early would need another timer.
      const leftMs = Math.ceil((dueAt - this.monotonic()) / this.#scale);
      timer = setTimeout(fire, Math.max(0, Math.min(leftMs, LONGEST_TIMER_MS)));
    };
    const end = () => {
      clearTimeout(timer);
      this.#waiting.delete(set);
      this.#readWhileAnyWaits();
    };
    const fire = () => {
      if (dueAt > this.monotonic()) {
        set();
        return;
      }
      end();
      task();
    };
    this.#waiting.add(set);
    this.#readWhileAnyWaits();
    set();
    return end;
  }

  every(intervalMs: number, task: () => void): () => void {
    const again = () => {
      cancel = this.after(intervalMs, again);
      task();
    };
    let cancel = this.after(intervalMs, again);
    return () => cancel();
  }

  /** Changes the ratio to real time, for waiting timers too. Returns the former ratio. */
  runAt(scale: number): number {
    this.monotonic();
    const former = this.#scale;
    this.#scale = scale;
    for (const set of [...this.#waiting]) set();
    return former;
  }

  /** Sets the system's clock: `wall` jumps, `monotonic` does not. */
  stepWall(ms: number): void {
    this.#offset += ms;
  }

  #readWhileAnyWaits(): void {
    if (this.#waiting.size > 0) {
      this.#reading ??= setInterval(() => this.monotonic(), READ_EVERY_MS).unref();
      return;
    }
    clearInterval(this.#reading);
    this.#reading = undefined;
  }
}

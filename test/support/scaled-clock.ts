import type { Clock } from '@svc/shared/clock.ts';

/**
 * Maximum time between two readings of the clock that counts, real ms. A busy machine lets a process wait for some tens
 * of ms at a time, so this clock has the speed that the process has.
 */
const LONGEST_TURN_MS = 15;
/** While a timer waits, the clock is read at least this often, ms of real time. */
const READ_EVERY_MS = 10;
/** Real time by which a timer that repeats may be early, ms: as much as a timer of Node. */
const EARLY_MS = 1;
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
    return this.#startTimer(delayMs, null, task);
  }

  every(intervalMs: number, task: () => void): () => void {
    return this.#startTimer(intervalMs, intervalMs, task);
  }

  /** @param everyMs the interval of a timer that repeats; null: it ends when it is due */
  #startTimer(delayMs: number, everyMs: number | null, task: () => void): () => void {
    let dueAt = this.monotonic() + delayMs;
    let timer: NodeJS.Timeout | undefined;
    /** Real time for which the timer was set, ms. */
    let setForMs = -1;
    const set = () => {
      // The time is rounded up, because Node drops the fraction.
      // A timer that is early would need another timer.
      const leftMs = Math.ceil((dueAt - this.monotonic()) / this.#scale);
      const waitMs = Math.max(0, Math.min(leftMs, LONGEST_TIMER_MS));
      // Most timers repeat. Making a timer takes several times longer than refreshing one, because the
      // search for leaks records where it was made.
      if (waitMs === setForMs) {
        timer?.refresh();
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(fire, waitMs);
      setForMs = waitMs;
    };
    const end = () => {
      clearTimeout(timer);
      this.#waiting.delete(set);
      this.#readWhileAnyWaits();
    };
    const fire = () => {
      const now = this.monotonic();
      if (dueAt > now + (everyMs === null ? 0 : EARLY_MS * this.#scale)) {
        set();
        return;
      }
      if (everyMs === null) end();
      else {
        dueAt = Math.max(dueAt, now) + everyMs;
        set();
      }
      task();
    };
    this.#waiting.add(set);
    this.#readWhileAnyWaits();
    set();
    return end;
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

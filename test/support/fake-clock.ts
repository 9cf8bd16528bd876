import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@svc/shared/clock.ts';

type Timer = { at: number; task: () => void; everyMs: number | null };

/** A clock that moves only inside `advance`. Timers run there, in the order of their instants. */
export class FakeClock implements Clock {
  /** The wall clock at the monotonic instant 0, epoch ms. */
  #origin: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#origin = wall;
  }

  /** Returns whole milliseconds, as the system's clock does. */
  wall(): number {
    return Math.floor(this.#origin + this.#monotonic);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#add({ at: this.#monotonic + Math.max(0, delayMs), task, everyMs: null });
  }

  every(intervalMs: number, task: () => void): () => void {
    return this.#add({ at: this.#monotonic + intervalMs, task, everyMs: intervalMs });
  }

  /** Moves both clocks forward by `ms` and runs the timers that fall due, each at its own instant. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let timer = this.#next(end); timer; timer = this.#next(end)) {
      this.#moveTo(Math.max(timer.at, this.#monotonic));
      if (timer.everyMs === null) this.#timers.delete(timer);
      else timer.at += timer.everyMs;
      timer.task();
    }
    this.#moveTo(end);
  }

  /** Like {@link advance}, but lets promises settle after each timer, for code that awaits between timers. */
  async advanceSettling(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let timer = this.#next(end); timer; timer = this.#next(end)) {
      this.#moveTo(Math.max(timer.at, this.#monotonic));
      if (timer.everyMs === null) this.#timers.delete(timer);
      else timer.at += timer.everyMs;
      timer.task();
      await settle();
    }
    this.#moveTo(end);
    await settle();
  }

  /** Simulates a process that was frozen: both clocks jump by `ms`, and no timer runs yet. */
  stepBoth(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
  }

  /** Sets the system's clock: `wall` jumps, `monotonic` and timers do not. */
  stepWall(ms: number): void {
    this.#origin += ms;
  }

  /**
   * Simulates a process that stands still for `ms`. Timers that fell due run once, late, in the next
   * `advance`.
   */
  stall(ms: number): void {
    this.#moveTo(this.#monotonic + ms);
    for (const timer of this.#timers) timer.at = Math.max(timer.at, this.#monotonic);
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  #add(timer: Timer): () => void {
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer;
    }
    return first;
  }

  #moveTo(monotonic: number): void {
    this.#monotonic = monotonic;
  }
}

/** Work of other processes for the code under test. {@link settle} waits for it. */
const awaited = new Set<Promise<unknown>>();

/** Makes {@link settle} wait for `work` too, whether it succeeds or fails. */
export function settleAfter(work: Promise<unknown>): void {
  const ended = work.catch(() => {});
  awaited.add(ended);
  void ended.then(() => awaited.delete(ended));
}

/**
 * Lets pending promise callbacks and one turn of the event loop run. Resolves only when queries
 * to a PostgreSQL server are answered, and the code that waits for the answers has run.
 */
export async function settle(): Promise<void> {
  await setImmediate();
  while (awaited.size > 0) {
    await Promise.all(awaited);
    await setImmediate();
  }
}

import type { Now, Window } from '../told.ts';

/** Maximum part by which the slots' clock is faster or slower than the monotonic clock. */
const SLEW = 0.1;
const DAY_MS = 86_400_000;

/**
 * Knows when maintenance windows hold alerts. "During a window alerts are
 * held; when it ends only a state that differs from the last announced is
 * sent." A world has one monitor, and all of its windows are for this monitor.
 */
export class Maintenance {
  readonly #windows = new Map<number, Window>();
  #seen: Now | null = null;
  /**
   * The last instant at which a jump of the slots' clock was
   * noticed, or a change of a window was committed, monotonic ms.
   */
  #noticedAt = Number.NEGATIVE_INFINITY;
  /** Whether a change of a window was evaluated, and its commit has not ended. */
  #isChanging = false;

  /** Sets a window. Null: the window is removed. */
  set(number: number, window: Window | null): void {
    this.#isChanging = true;
    if (window === null) this.#windows.delete(number);
    else this.#windows.set(number, window);
  }

  /** Replaces all windows, because the service has started and has read them. */
  setAll(windows: ReadonlyMap<number, Window>): void {
    this.#windows.clear();
    for (const [number, window] of windows) this.#windows.set(number, window);
  }

  /**
   * Notices jumps of the clock, and committed changes. Call
   * it once at the beginning of each look of the oracle.
   *
   * @param freeSince since when the service was free to evaluate, monotonic
   *   ms: usually the end of the previous commit
   */
  look(now: Now, freeSince: number): void {
    const seen = this.#seen;
    if (seen !== null && now.age - seen.age > now.monotonic - seen.monotonic + 1)
      this.#noticedAt = now.monotonic;
    if (this.#isChanging) this.#noticedAt = Math.max(this.#noticedAt, freeSince);
    this.#isChanging = false;
    this.#seen = now;
  }

  /** Forgets the clocks, because the service ended. */
  forget(): void {
    this.#seen = null;
    this.#noticedAt = Number.NEGATIVE_INFINITY;
  }

  isHeld({ slot }: Now): boolean {
    return this.#isCovered(slot, slot);
  }

  /**
   * Whether all windows ended more than `timerMs` ago. The service may notice the end of a window late by
   * this time. It may notice an end as late after a jump of the clock, and after the commit of a change.
   */
  isOver({ slot, monotonic }: Now, timerMs: number): boolean {
    return monotonic > this.#noticedAt + timerMs && !this.#isCovered(slot - timerMs * (1 + SLEW), slot);
  }

  #isCovered(first: number, last: number): boolean {
    for (const { from, until, isDaily } of this.#windows.values()) {
      const days = isDaily ? Math.max(0, Math.floor((first - from) / DAY_MS)) : 0;
      for (const shift of isDaily ? [days, days + 1].map((day) => day * DAY_MS) : [0]) {
        if (from + shift <= last && first < until + shift) return true;
      }
    }
    return false;
  }
}

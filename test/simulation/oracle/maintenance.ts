import type { Now, Window } from '../told.ts';

/** The slots' clock is at most a tenth faster or slower than the monotonic one. */
const SLEW = 0.1;
const DAY_MS = 86_400_000;

/**
 * "During a window alerts are held; when it ends only a state that differs from the last announced is sent." A
 * world has one monitor, which all of its windows are for.
 */
export class Maintenance {
  readonly #windows = new Map<number, Window>();
  #seen: Now | null = null;
  /** When the slots' clock was seen to have jumped, or a change was committed, monotonic ms. */
  #noticedAt = Number.NEGATIVE_INFINITY;
  /** A change was evaluated, and its commit has not ended. */
  #isChanging = false;

  /** Null: the window is removed. */
  set(number: number, window: Window | null): void {
    this.#isChanging = true;
    if (window === null) this.#windows.delete(number);
    else this.#windows.set(number, window);
  }

  /** The service has started, and has read them. */
  setAll(windows: ReadonlyMap<number, Window>): void {
    this.#windows.clear();
    for (const [number, window] of windows) this.#windows.set(number, window);
  }

  /**
   * Follows the clocks. It is called once at the beginning of each look.
   *
   * @param freeSince when the commit before it had ended, monotonic ms
   */
  look(now: Now, freeSince: number): void {
    const seen = this.#seen;
    if (seen !== null && now.age - seen.age > now.monotonic - seen.monotonic + 1)
      this.#noticedAt = now.monotonic;
    if (this.#isChanging) this.#noticedAt = Math.max(this.#noticedAt, freeSince);
    this.#isChanging = false;
    this.#seen = now;
  }

  /** The service ended, and its clocks begin anew. */
  forget(): void {
    this.#seen = null;
    this.#noticedAt = Number.NEGATIVE_INFINITY;
  }

  isHeld({ slot }: Now): boolean {
    return this.#isCovered(slot, slot);
  }

  /**
   * Whether no window has held alerts for more than `timerMs`, by which the end of one may be noticed late. After a
   * jump of the clock, and after the commit of a change, its end is noticed as late.
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

import type { Now } from '../told.ts';

/** The slots' clock is at most a tenth faster or slower than the monotonic one. */
const SLEW = 0.1;
const DAY_MS = 86_400_000;

/** Epoch ms. `isDaily`: it comes again every 24 hours. */
export type Window = { readonly from: number; readonly until: number; readonly isDaily: boolean };

/**
 * "During a window alerts are held; when it ends only a state that differs from the last announced is sent." A
 * world has one monitor, which all of its windows are for.
 */
export class Maintenance {
  readonly #windows = new Map<number, Window>();
  #seen: Now | null = null;
  /** Whether the slots' clock has jumped since the last look. */
  #hasJumped = false;

  /** Null: the window is removed. */
  set(number: number, window: Window | null): void {
    if (window === null) this.#windows.delete(number);
    else this.#windows.set(number, window);
  }

  /** Follows the clocks. It is called once at the beginning of each look. */
  look(now: Now): void {
    const seen = this.#seen;
    this.#hasJumped = seen !== null && now.age - seen.age > now.monotonic - seen.monotonic + 1;
    this.#seen = now;
  }

  /** The service ended, and its clocks begin anew. */
  forget(): void {
    this.#seen = null;
  }

  isHeld({ slot }: Now): boolean {
    return this.#isCovered(slot, slot);
  }

  /**
   * Whether no window has held alerts for more than `timerMs`, by which the end of one may be noticed late. It is
   * not told of an instant to which the clock has just jumped.
   */
  isOver({ slot }: Now, timerMs: number): boolean {
    return !this.#hasJumped && !this.#isCovered(slot - timerMs * (1 + SLEW), slot);
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

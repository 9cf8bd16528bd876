import { DELIVERY_LIFETIME_MS } from './backoff.ts';

/**
 * Longest time between two calls of {@link PassedTime.compareClocks}, ms. It must be
 * shorter than `SMALLEST_JUMP_MS`.
 */
export const LOOK_AT_CLOCK_EVERY_MS = 60_000;
/** Smallest step of the wall clock that counts as a jump, ms. Smaller steps hardly change an age. */
const SMALLEST_JUMP_MS = 2 * LOOK_AT_CLOCK_EVERY_MS;

/**
 * A jump of the wall clock forward by `byMs`. `before` is the time that the wall clock would have shown
 * without the jump when the jump was found, epoch ms.
 */
type Jump = { readonly before: number; readonly byMs: number };

/**
 * Computes ages of stored instants from the time that really passed. If the wall clock is set forward by a
 * day, nothing becomes a day older, and waiting alerts keep the rest of their schedule. A jump while no process
 * runs cannot be noticed, so it counts as time that passed.
 */
export class PassedTime {
  readonly #jumps: Jump[] = [];
  #wall: number;
  #monotonic: number;

  /**
   * @param wall      epoch ms
   * @param monotonic ms, of any origin
   */
  constructor(wall: number, monotonic: number) {
    this.#wall = wall;
    this.#monotonic = monotonic;
  }

  /** Compares the clocks. Call it at least every {@link LOOK_AT_CLOCK_EVERY_MS}. */
  compareClocks(wall: number, monotonic: number): void {
    const expected = this.#wall + monotonic - this.#monotonic;
    const byMs = wall - expected;
    this.#wall = wall;
    this.#monotonic = monotonic;
    if (byMs >= SMALLEST_JUMP_MS) this.#jumps.push({ before: expected, byMs });
    else if (byMs <= -SMALLEST_JUMP_MS) this.#takeBack(-byMs);
    // Removes jumps that are older than the lifetime of an alert, because every alert that waited
    // during such a jump is gone. The newest jump is kept, because it may still be taken back.
    while (this.#jumps.length > 1 && this.#passedSince(this.#jumps[0]?.before ?? 0) > DELIVERY_LIFETIME_MS) {
      this.#jumps.shift();
    }
  }

  /** Time from a stored instant (epoch ms) to the last comparison of the clocks, ms, >= 0. */
  since(at: number): number {
    return Math.max(0, this.#passedSince(at));
  }

  #passedSince(at: number): number {
    return this.#jumps.reduce(
      (passed, { before, byMs }) => (at <= before ? passed - byMs : passed),
      this.#wall - at,
    );
  }

  /** Handles a clock that was set back by `byMs`. Earlier jumps are undone, completely or in part. */
  #takeBack(byMs: number): void {
    for (let left = byMs; left > 0; ) {
      const last = this.#jumps.pop();
      if (last === undefined) return;
      if (last.byMs > left) this.#jumps.push({ ...last, byMs: last.byMs - left });
      left -= last.byMs;
    }
  }
}

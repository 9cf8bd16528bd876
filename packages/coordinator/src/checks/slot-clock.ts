import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

/**
 * If the wall clock is ahead of the slots' clock by more than this, the slots' clock jumps to it at once, and
 * the slots in between are skipped, ms.
 */
const JUMP_MS = 10_000;
/**
 * Largest part by which the slots' clock runs faster or slower than the monotonic clock, while it approaches
 * a wall clock that is behind or only a little ahead.
 */
const SLEW = 0.1;
/** Longest shift of the grids, ms. It is shorter than any period. */
const MOST_SHIFT_MS = 9_973;

/**
 * The clock that slots follow, epoch ms.
 *
 * It starts at the wall clock, or at the newest recorded slot if this is later. Then it runs with the
 * monotonic clock and approaches the wall clock slowly. So it never goes back, and setting the wall clock
 * back repeats no slot. When the wall clock is set forward by more than 10 s, or the machine slept for
 * longer, the slots' clock jumps. Votes then age by the jump, which the monotonic clock does not show.
 */
export class SlotClock {
  readonly #clock: Clock;
  readonly #log: Logger;
  #now: number;
  /** Monotonic instant of the last reading. */
  #readAt: number;
  #hasJumped = false;
  #jumpedAt: number | null = null;
  readonly #listeners = new Set<() => void>();
  /**
   * The newest recorded slot in the future, which was given while a clock was ahead, epoch ms; null: there is
   * no such slot.
   */
  readonly aheadSlot: number | null;
  /**
   * Shift of the grids of all monitors, ms; 0 if {@link aheadSlot} is null. Without a shift, new slots could
   * coincide with recorded slots in the future, and their results would count as repetitions. The shift
   * depends on the instant of the start, so that two starts rarely have the same one.
   */
  readonly gridShiftMs: number;
  /** Number of forward jumps so far. */
  jumps = 0;
  /** Sum of all forward jumps so far, ms. */
  jumpedMs = 0;

  /**
   * @param newestSlot newest recorded slot that is believed; null: there is no such slot
   * @param aheadSlot  newest recorded slot that is too far in the future to be believed; null: there is no
   *   such slot
   */
  constructor(clock: Clock, newestSlot: number | null, log: Logger, aheadSlot: number | null = null) {
    this.#clock = clock;
    this.#log = log;
    this.#readAt = clock.monotonic();
    this.aheadSlot = aheadSlot;
    const wall = clock.wall();
    if (aheadSlot !== null) {
      log.error(
        { aheadSlot, wall, aheadMs: aheadSlot - wall },
        'recorded slots lie in the future; svc ignores them until their time comes: check whether the clock of this machine was set back',
      );
    }
    this.#now = Math.max(wall, newestSlot ?? wall);
    this.gridShiftMs = aheadSlot === null ? 0 : 1 + (Math.floor(this.#now) % MOST_SHIFT_MS);
  }

  /** The present time, whole epoch ms. */
  now(): number {
    const jumps = this.jumps;
    this.#read();
    if (this.jumps > jumps) for (const listener of this.#listeners) listener();
    return Math.floor(this.#now);
  }

  #read(): void {
    const readAt = this.#clock.monotonic();
    const elapsed = Math.max(0, readAt - this.#readAt);
    this.#readAt = readAt;
    const next = this.#now + elapsed;
    const behindMs = this.#clock.wall() - next;
    if (behindMs > JUMP_MS) {
      this.#now = next + behindMs;
      this.#hasJumped = true;
      this.#jumpedAt = readAt;
      this.jumps += 1;
      this.jumpedMs += behindMs;
      this.#log.warn(
        { jumpMs: Math.round(behindMs) },
        'the clock went forward; the slots in between are skipped',
      );
    } else {
      const most = elapsed * SLEW;
      this.#now = next + Math.min(most, Math.max(-most, behindMs));
    }
  }

  /** Monotonic instant at which the last jump was noticed; null: the clock has not jumped. */
  get jumpedAt(): number | null {
    return this.#jumpedAt;
  }

  /**
   * Whether the slots' clock has jumped within the last `ms` (monotonic). Reads the clock first, to notice a
   * jump.
   */
  hasJumpedWithin(ms: number): boolean {
    this.now();
    return this.#jumpedAt !== null && this.#clock.monotonic() - this.#jumpedAt < ms;
  }

  /**
   * Registers a listener. The reading that notices a jump calls the listener, which
   * must not throw. Returns a function that unregisters it.
   */
  onJump(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Whether the clock has jumped forward since the last call of this method. Only the scheduler may call it.
   */
  takeJump(): boolean {
    const hasJumped = this.#hasJumped;
    this.#hasJumped = false;
    return hasJumped;
  }
}

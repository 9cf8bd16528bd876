import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Now } from '../told.ts';
import { tookMs } from './rule.ts';

/** "A result whose check ended 30 s or more before it is read comes from a backlog", ms. */
const OLD_MS = 30_000;
/** "Its monitor is not announced until none such has come for 3 s", ms. */
const QUIET_MS = 3_000;
/** "A monitor is held for a minute at most within ten, in one hold or in many", ms. */
const LONGEST_MS = 60_000;
const NOT_AGAIN_MS = 600_000;
/**
 * The end of each hold may be late by this time, ms. The
 * later holds of the ten minutes are then shorter by as much.
 */
const TIMER_MS = 100;

type Hold = {
  readonly since: number;
  until: number;
  /** Latest end of the hold. */
  readonly latest: number;
  /**
   * Uncertainty of the hold, ms: the service may have ended
   * the hold earlier by this time, or may not have begun it.
   */
  readonly doubtMs: number;
};

/**
 * The times in which nothing is announced about the monitor,
 * because the results that are read are old (decision 0151).
 */
export class Holds {
  #hold: Hold | null = null;
  /** Time and number of the recent holds, and the instant at which they are forgotten, monotonic ms. */
  #spent: { readonly heldMs: number; readonly holds: number; readonly until: number } | null = null;

  /** A result was read, whether or not it is recorded. */
  read({ outcome, slot, attempts }: CheckResult, now: Now): void {
    if (outcome === 'not_run' || now.slot - slot - tookMs({ attempts }) < OLD_MS) return;
    const { monotonic } = now;
    this.#end(monotonic);
    if (this.#hold !== null) {
      this.#hold.until = Math.min(monotonic + QUIET_MS, this.#hold.latest);
      return;
    }
    if (this.#spent !== null && this.#spent.until <= monotonic) this.#spent = null;
    const { heldMs = 0, holds = 0 } = this.#spent ?? {};
    const latest = monotonic + LONGEST_MS - heldMs;
    const until = monotonic + QUIET_MS;
    if (until <= latest) this.#hold = { since: monotonic, until, latest, doubtMs: holds * TIMER_MS };
  }

  /** Whether no announcement is allowed now. */
  isHeld({ monotonic }: Now): boolean {
    if (this.#hold === null) return false;
    const { since, until, latest, doubtMs } = this.#hold;
    return since + QUIET_MS <= latest - doubtMs && monotonic < Math.min(until, latest - doubtMs);
  }

  /**
   * Whether all channels must know the status: the last hold
   * ended more than `timerMs` ago, by which its end may be late.
   */
  isOver({ monotonic }: Now, timerMs: number): boolean {
    return this.#hold === null || monotonic > this.#hold.until + timerMs;
  }

  /** The service ended, and forgot its holds. */
  forget(): void {
    this.#hold = null;
    this.#spent = null;
  }

  #end(monotonic: number): void {
    const hold = this.#hold;
    if (hold === null || monotonic <= hold.until) return;
    // A hold that ends after the ten minutes belongs to the next ones.
    const spent = this.#spent !== null && this.#spent.until > hold.until ? this.#spent : null;
    const { heldMs = 0, holds = 0, until = hold.until + NOT_AGAIN_MS } = spent ?? {};
    this.#spent = { heldMs: heldMs + hold.until - hold.since, holds: holds + 1, until };
    this.#hold = null;
  }
}

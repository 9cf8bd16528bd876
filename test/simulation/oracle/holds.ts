import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Now } from '../told.ts';
import { tookMs } from './rule.ts';

/** "A result whose check ended 30 s or more before it is read comes from a backlog", ms. */
const OLD_MS = 30_000;
/** "Its monitor is not announced until none such has come for 3 s", ms. */
const QUIET_MS = 3_000;
/** "A hold lasts at most a minute, and is not repeated for ten", ms. */
const LONGEST_MS = 60_000;
const NOT_AGAIN_MS = 600_000;

/** When nothing is announced about the monitor, because what is read is about the past (decision 0164). */
export class Holds {
  #hold: { readonly since: number; until: number } | null = null;
  /** Monotonic ms. */
  #notBefore = 0;

  /** A result has come, whatever becomes of it. */
  read({ outcome, slot, attempts }: CheckResult, now: Now): void {
    if (outcome === 'not_run' || now.slot - slot - tookMs({ attempts }) < OLD_MS) return;
    const { monotonic } = now;
    this.#end(monotonic);
    if (this.#hold === null && monotonic >= this.#notBefore) {
      this.#hold = { since: monotonic, until: monotonic + QUIET_MS };
    } else if (this.#hold !== null) {
      this.#hold.until = Math.min(monotonic + QUIET_MS, this.#hold.since + LONGEST_MS);
    }
  }

  /** Nobody is to be told anything now. */
  isHeld({ monotonic }: Now): boolean {
    return this.#hold !== null && monotonic < this.#hold.until;
  }

  /**
   * Everybody is to know the status: nothing was held within the last `timerMs`, which is what the end of a hold
   * may be late by.
   */
  isOver({ monotonic }: Now, timerMs: number): boolean {
    return this.#hold === null || monotonic > this.#hold.until + timerMs;
  }

  /** The service ended, and forgot its holds. */
  forget(): void {
    this.#hold = null;
    this.#notBefore = 0;
  }

  #end(monotonic: number): void {
    const hold = this.#hold;
    if (hold === null || monotonic <= hold.until) return;
    if (hold.until >= hold.since + LONGEST_MS) this.#notBefore = hold.until + NOT_AGAIN_MS;
    this.#hold = null;
  }
}

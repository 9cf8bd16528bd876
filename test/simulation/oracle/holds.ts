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
/** The end of each hold may be late by this, and what is left for others less, ms. */
const TIMER_MS = 100;

type Hold = {
  readonly since: number;
  until: number;
  /** It ends by then in any case. */
  readonly latest: number;
  /** The service may have ended it, or not have begun it, by so much less. */
  readonly doubtMs: number;
};

/** When nothing is announced about the monitor, because what is read is about the past (decision 0164). */
export class Holds {
  #hold: Hold | null = null;
  /** For how long there were holds lately, how many, and when that is forgotten, monotonic ms. */
  #spent: { readonly heldMs: number; readonly holds: number; readonly until: number } | null = null;

  /** A result has come, whatever becomes of it. */
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

  /** Nobody is to be told anything now. */
  isHeld({ monotonic }: Now): boolean {
    if (this.#hold === null) return false;
    const { since, until, latest, doubtMs } = this.#hold;
    return since + QUIET_MS <= latest - doubtMs && monotonic < Math.min(until, latest - doubtMs);
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
    this.#spent = null;
  }

  #end(monotonic: number): void {
    const hold = this.#hold;
    if (hold === null || monotonic <= hold.until) return;
    const { heldMs = 0, holds = 0, until = hold.until + NOT_AGAIN_MS } = this.#spent ?? {};
    this.#spent = { heldMs: heldMs + hold.until - hold.since, holds: holds + 1, until };
    this.#hold = null;
  }
}

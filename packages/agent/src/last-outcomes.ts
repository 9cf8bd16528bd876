import type { Clock } from '@svc/shared/clock.ts';
import { type CheckResult, OUTCOMES } from '@svc/shared/messages/check-result.ts';

/** A monitor is remembered at least this long after its last result, at most twice as long: longer than any period. */
const REMEMBERED_MS = 7_200_000;
/** Beyond this many monitors in a generation they are forgotten earlier; two generations take some 8 MB. */
const GENERATION_LIMIT = 65_536;

/**
 * What this agent reported last about each monitor, to tell a result that may change the region's vote from
 * one that repeats it. A wrong guess costs no correctness, only the time that a batch waits.
 *
 * Two generations, of which the older is thrown away as a whole: no timer and no instant per monitor.
 */
export class LastOutcomes {
  readonly #clock: Clock;
  readonly #limit: number;
  #newer = new Map<number, number>();
  #older = new Map<number, number>();
  #generationStartedAt: number;

  /** @param limit most monitors in a generation, >= 1 */
  constructor(clock: Clock, limit = GENERATION_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
    this.#generationStartedAt = clock.monotonic();
  }

  /** Monitors remembered, those in both generations twice. */
  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /**
   * Notes the result and says whether it differs from the last one of its monitor. The first result of a
   * monitor, or of a version of it, differs. `not_run` is no vote: it never differs, and is not noted.
   */
  isNews({ monitor, version, outcome }: Pick<CheckResult, 'monitor' | 'version' | 'outcome'>): boolean {
    if (outcome === 'not_run') return false;
    this.#turnGeneration();
    const found = version * OUTCOMES.length + OUTCOMES.indexOf(outcome);
    const last = this.#newer.get(monitor) ?? this.#older.get(monitor);
    this.#newer.set(monitor, found);
    return last !== found;
  }

  /** The last result never arrived: the next one differs, whatever it is. */
  forget(monitor: number): void {
    this.#newer.delete(monitor);
    this.#older.delete(monitor);
  }

  #turnGeneration(): void {
    const now = this.#clock.monotonic();
    const age = now - this.#generationStartedAt;
    if (age < REMEMBERED_MS && this.#newer.size < this.#limit) return;
    this.#older = age < 2 * REMEMBERED_MS ? this.#newer : new Map();
    this.#newer = new Map();
    this.#generationStartedAt = now;
  }
}

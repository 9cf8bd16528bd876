import type { Clock } from '@svc/shared/clock.ts';
import type { CheckResult, Outcome } from '@svc/shared/messages/check-result.ts';

/**
 * Shortest time that a monitor is remembered after its last result, ms: longer than any period. The longest
 * is twice as much.
 */
const REMEMBERED_MS = 7_200_000;
/** Number of monitors in a generation beyond which they are forgotten earlier. */
const GENERATION_LIMIT = 65_536;

type Last = { readonly version: number; readonly outcome: Outcome };

/**
 * The last outcome that this agent reported about each monitor. It tells a result that may change the
 * region's vote from one that repeats it. A wrong guess never makes a result wrong; it only changes how long
 * a batch waits.
 *
 * There are two generations, and the older one is dropped as a whole, which needs no timer and no instant for
 * each monitor.
 */
export class LastOutcomes {
  readonly #clock: Clock;
  readonly #limit: number;
  /** By monitor; null: it was forgotten. */
  #newer = new Map<number, Last | null>();
  #older = new Map<number, Last | null>();
  #generationStartedAt: number;

  /** @param limit most monitors in a generation, >= 1 */
  constructor(clock: Clock, limit = GENERATION_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
    this.#generationStartedAt = clock.monotonic();
  }

  /** Number of remembered monitors; those in both generations count twice. */
  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /**
   * Notes the result and returns whether it differs from the last one of its monitor. The first result of a version
   * differs. The first one of a monitor differs unless it passed: nobody is alerted about that, and tens of thousands of
   * new monitors would make a message for each few of their results. `not_run` is not a vote: it never differs and is
   * not noted.
   */
  isNews({ monitor, version, outcome }: Pick<CheckResult, 'monitor' | 'version' | 'outcome'>): boolean {
    if (outcome === 'not_run') return false;
    this.#turnGeneration();
    const last = this.#lastOf(monitor);
    this.#newer.set(monitor, { version, outcome });
    if (last === undefined) return outcome !== 'passed';
    return last?.version !== version || last.outcome !== outcome;
  }

  /** Forgets a monitor whose last result never arrived. The next result then differs, whatever it is. */
  forget(monitor: number): void {
    if (this.#lastOf(monitor) !== undefined) this.#newer.set(monitor, null);
  }

  #lastOf(monitor: number): Last | null | undefined {
    const newer = this.#newer.get(monitor);
    return newer === undefined ? this.#older.get(monitor) : newer;
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

import type { ChangeEffects } from './declaration/configuration.ts';
import type { Live } from './live.ts';
import { Term } from './term.ts';
import type { TermParts } from './term-parts.ts';

/**
 * The work of the coordinator that leads: it dispatches checks, reads, records and evaluates results,
 * delivers alerts, rolls up, sweeps, and applies changes of the declaration. It can be started and stopped as
 * often as needed. Each time is a {@link Term}, built anew from the stored data.
 */
export class Leading implements ChangeEffects {
  readonly #parts: TermParts;
  #term: Term | null = null;
  /** Live state of the last term that has ended, until the next one has its own. */
  #lastLive: Live | null = null;

  constructor(parts: TermParts) {
    this.#parts = parts;
  }

  /** The present live state, or that of the last term; null: it has not led yet. */
  get live(): Live | null {
    return this.#term?.live ?? this.#lastLive;
  }

  /** Whether all parts are started and none is being stopped. */
  get isLeading(): boolean {
    return this.#term?.isLeading ?? false;
  }

  /**
   * Resolves when the declaration is applied and results are read. Jobs are given out a few seconds later at
   * most. After a failure nothing runs, and it may be called again.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), TermEnded ({@link
   *   stop} was called meanwhile)
   */
  async start(): Promise<{ dispatching: Promise<void> }> {
    if (this.#term !== null) throw new TypeError('it leads already');
    const term = new Term(this.#parts);
    this.#term = term;
    try {
      const started = await term.start();
      // It holds all that the term had in memory.
      this.#lastLive = null;
      return started;
    } catch (error) {
      await this.#end(term);
      throw error;
    }
  }

  /** Stops leading. It may be called at any time, also during the start, and twice. */
  async stop(): Promise<void> {
    if (this.#term !== null) await this.#end(this.#term);
  }

  /** Resolves when the change is applied. Without a leader the change waits in the log. */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#term?.applyUntil(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#term?.reload();
  }

  async #end(term: Term): Promise<void> {
    await term.stop();
    if (this.#term !== term) return;
    this.#lastLive = term.live ?? this.#lastLive;
    this.#term = null;
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';

/** Time between the beginnings of two rounds, ms. */
const ROUND_EVERY_MS = 60_000;

type Parts<T> = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Name of the work for the log: `fetching icons`. */
  readonly work: string;
  /**
   * Reads the next objects whose page has a greater id than
   * this, in the order of the ids; empty: there are none.
   */
  readonly readAfter: (pageId: number) => Promise<readonly T[]>;
  /** Does the work for the page of one object, if the work is due. */
  readonly workOn: (one: T) => Promise<unknown>;
};

/** Does work for pages, one page after the other, at the start and every minute. Rounds do not overlap. */
export class PageRounds<T extends { readonly pageId: number }> {
  readonly #parts: Parts<T>;
  readonly #abort = new AbortController();
  #cancel: () => void = () => {};
  #running: Promise<void> | null = null;

  constructor(parts: Parts<T>) {
    this.#parts = parts;
  }

  /** The signal that {@link stop} aborts. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  start(): void {
    this.#cancel = this.#parts.clock.every(ROUND_EVERY_MS, () => this.#beginRound());
    this.#beginRound();
  }

  async stop(): Promise<void> {
    this.#cancel();
    this.#abort.abort();
    await this.roundEnded();
  }

  /** Resolves when the current round has ended. */
  async roundEnded(): Promise<void> {
    await this.#running;
  }

  #beginRound(): void {
    this.#running ??= this.#visitPages().finally(() => {
      this.#running = null;
    });
  }

  async #visitPages(): Promise<void> {
    const { log, work, readAfter, workOn } = this.#parts;
    try {
      for (let pageId = 0; !this.signal.aborted; ) {
        const found = await readAfter(pageId);
        const last = found.at(-1);
        if (last === undefined) return;
        for (const one of found) {
          if (this.signal.aborted) return;
          await workOn(one);
        }
        pageId = last.pageId;
      }
    } catch (error) {
      log.error({ error: messageOf(error) }, `${work} failed: svc tries again within a minute`);
    }
  }
}

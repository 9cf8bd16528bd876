import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';

/** A result whose transaction is committed. */
export type RecordedResult = {
  readonly result: CheckResult;
  /** The monitor as it was declared when the result was recorded. */
  readonly monitor: LiveMonitor;
  readonly region: Region;
  /** The stream of the message that had the result. */
  readonly stream: string;
  /** False: the result repeats a result that was recorded before. */
  readonly isNew: boolean;
};

export type ResultListener = (results: readonly RecordedResult[]) => void;

/**
 * Hands recorded results to listeners, in order. Each listener is called later, by `setImmediate`, so that it
 * does not delay the steps after the commit. An error of a listener does not affect the other listeners.
 */
export class ResultFeed {
  readonly #log: Logger;
  readonly #listeners = new Set<ResultListener>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Registers a listener and returns a function that unregisters it. */
  onResults(listener: ResultListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  handOutResults(results: readonly RecordedResult[]): void {
    if (results.length === 0) return;
    for (const listener of this.#listeners) {
      setImmediate(() => {
        if (this.#listeners.has(listener)) this.#tellOne(listener, results);
      });
    }
  }

  #tellOne(listener: ResultListener, results: readonly RecordedResult[]): void {
    try {
      listener(results);
    } catch (error) {
      this.#log.error({ error: messageOf(error) }, 'a listener of recorded results failed');
    }
  }
}

import { DatabaseSync } from 'node:sqlite';
import type { StoreWorker, StoreWorkers } from '@svc/coordinator/store/sqlite/store-thread.ts';
import { STORE_IN_PROCESS } from './store-in-process.ts';

/** Notes the texts of the statements that a store runs, for tests of how the database carries them out. */
export class NotedStatements {
  /** The workers with which the test opens the store. */
  readonly workers: StoreWorkers = {
    writer: (data) => this.#noted(STORE_IN_PROCESS.writer(data)),
    reader: (data) => this.#noted(STORE_IN_PROCESS.reader(data)),
  };
  readonly #texts = new Set<string>();

  /** Forgets the statements so far. */
  clear(): void {
    this.#texts.clear();
  }

  /** The steps of each statement's plan, in the database at `path`. */
  plans(path: string): Map<string, string[]> {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      // Plans name the functions of svc's connections.
      for (const name of ['report_sums', 'phase_sums', 'merged_histogram']) {
        database.aggregate(name, { start: 0, step: (sum: number) => sum, varargs: true });
      }
      database.function('keep_result_day', (_slot) => null);
      const stepsOf = (text: string) =>
        database.prepare(`EXPLAIN QUERY PLAN ${text.replaceAll(/\?::\w+/g, '?')}`).all();
      return new Map(
        Array.from(this.#texts, (text) => [text, stepsOf(text).map(({ detail }) => String(detail))]),
      );
    } finally {
      database.close();
    }
  }

  #noted(worker: StoreWorker): StoreWorker {
    const { postMessage } = worker;
    worker.postMessage = (message: { request: { sql?: string; steps?: { sql: string }[] } }) => {
      const { sql, steps = [] } = message.request;
      for (const text of [sql, ...steps.map((step) => step.sql)])
        if (text !== undefined) this.#texts.add(text);
      postMessage.call(worker, message);
    };
    return worker;
  }
}

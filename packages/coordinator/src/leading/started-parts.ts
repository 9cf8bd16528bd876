import type { Logger } from '@svc/shared/log.ts';

/** The parts that were started, which are stopped in the opposite order. */
export class StartedParts {
  readonly #log: Logger;
  readonly #parts: { name: string; stop: () => Promise<void> | void }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  add(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop });
  }

  /**
   * Stops all parts. A part that fails to stop is logged and does not keep the others running. It may be
   * called twice.
   */
  async stop(): Promise<void> {
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      try {
        await part.stop();
      } catch (error) {
        this.#log.error({ error, part: part.name }, 'a part failed to stop cleanly');
      }
    }
  }
}

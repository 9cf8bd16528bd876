import type { Logger } from '@svc/shared/log.ts';

/** Remembers the started parts, and stops them in the opposite order of their start. */
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
   * Stops all parts. If a part fails to stop, the error is logged, and
   * the other parts are still stopped. The method may be called again.
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

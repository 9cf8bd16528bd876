import type { Logger } from '@svc/shared/log.ts';

/** What has been started, to be stopped in the opposite order. */
export class StartedParts {
  readonly #log: Logger;
  readonly #parts: { name: string; stop: () => Promise<void> | void }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  add(name: string, stop: () => Promise<void> | void): void {
    this.#parts.push({ name, stop });
  }

  /** A part that does not stop cleanly is logged and does not keep the others. May be called twice. */
  async stop(): Promise<void> {
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      try {
        await part.stop();
      } catch (error) {
        this.#log.error({ error, part: part.name }, 'a part did not stop cleanly');
      }
    }
  }
}

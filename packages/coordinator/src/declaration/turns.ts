import { setImmediate } from 'node:timers/promises';

/**
 * ms that long work may hold the thread before the event loop gets a turn; the work of that turn takes
 * additional time.
 */
const TURN_MS = 8;

/** Gives the event loop turns during long work. */
export class Turns {
  #began = performance.now();

  /** Gives a turn when the work has held the thread for long. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

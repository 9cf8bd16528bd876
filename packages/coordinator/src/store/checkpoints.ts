import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Mutex } from './mutex.ts';
import type { CheckpointRow } from './read-protocol.ts';

/** ms between two checkpoints while there is something to move. */
const INTERVAL_MS = 1_000;

/** Frames of 4 KiB (64 MiB) above which writers wait until the journal is moved, so that it starts anew. */
export const JOURNAL_FRAMES_LIMIT = 16_384;

type Parts = {
  /** Asks the reading thread. */
  readonly checkpoint: () => Promise<CheckpointRow>;
  /** What transactions queue on. */
  readonly writers: Mutex;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Decides when the reading thread moves the journal into the database file. SQLite starts the journal
 * anew only when a transaction begins after all of it was moved. Between commits that happens by itself;
 * under writing so dense that it never does, writers are held once the journal is too long.
 */
export class Checkpoints {
  readonly #parts: Parts;
  #cancelTimer: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** To be called after every commit; cheap. */
  committed(): void {
    if (this.#cancelTimer !== null || this.#stopped) return;
    this.#cancelTimer = this.#parts.clock.after(INTERVAL_MS, () => {
      this.#running = this.#run();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { checkpoint, writers, log: logger } = this.#parts;
    try {
      const { log, checkpointed } = await checkpoint();
      if (log > JOURNAL_FRAMES_LIMIT && checkpointed < log) await writers.run(checkpoint);
    } catch (error) {
      // The journal is kept and grows; the next commit tries again.
      if (!this.#stopped) logger.warn({ reason: messageOf(error) }, 'the journal could not be moved');
    } finally {
      this.#cancelTimer = null;
    }
  }
}

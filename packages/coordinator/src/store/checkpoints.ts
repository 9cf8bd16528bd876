import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Mutex } from './mutex.ts';
import type { CheckpointRow } from './read-protocol.ts';

/** ms between two checkpoints while there is something to move. */
const INTERVAL_MS = 1_000;

/** Frames of 4 KiB (64 MiB) above which writers wait until the journal is moved, so that it starts anew. */
export const JOURNAL_FRAMES_LIMIT = 16_384;

/**
 * Decides when the reading thread moves the journal into the database file. SQLite starts the journal
 * anew only when a transaction begins after all of it was moved. Between commits that happens by itself;
 * under writing so dense that it never does, writers are held once the journal is too long.
 */
export class Checkpoints {
  readonly #checkpoint: () => Promise<CheckpointRow>;
  readonly #writers: Mutex;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  /**
   * @param checkpoint asks the reading thread
   * @param writers    what transactions queue on
   */
  constructor(checkpoint: () => Promise<CheckpointRow>, writers: Mutex, log: Logger) {
    this.#checkpoint = checkpoint;
    this.#writers = writers;
    this.#log = log;
  }

  /** To be called after every commit; cheap. */
  committed(): void {
    if (this.#timer !== null || this.#stopped) return;
    // Disk work of the machine, not behaviour anybody sees: real time, and no reason to keep a process alive.
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      const { log, checkpointed } = await this.#checkpoint();
      if (log > JOURNAL_FRAMES_LIMIT && checkpointed < log) {
        await this.#writers.run(this.#checkpoint);
      }
    } catch (error) {
      // The journal is kept and grows; the next commit tries again.
      if (!this.#stopped) this.#log.warn({ reason: messageOf(error) }, 'the journal could not be moved');
    } finally {
      this.#timer = null;
    }
  }
}

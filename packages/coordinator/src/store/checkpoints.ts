/** ms from a commit to the checkpoint that moves it, and with it all commits until then. */
const INTERVAL_MS = 4_000;

/** Frames of 4 KiB (64 MiB) above which the next transaction waits until no read uses the journal. */
export const JOURNAL_FRAMES_LIMIT = 16_384;

/** The one row of `PRAGMA wal_checkpoint`: frames in the journal, and how many of them are in the database file now. */
export type CheckpointRow = { busy: number; log: number; checkpointed: number };

type Parts = {
  /**
   * PASSIVE moves what no read holds back and waits for nobody; RESTART waits for reads as well (for as
   * long as the connection waits for locks), so that the next transaction writes from the beginning.
   */
  readonly checkpoint: (mode: 'PASSIVE' | 'RESTART') => CheckpointRow;
  readonly isInTransaction: () => boolean;
  readonly onFailure: (error: unknown) => void;
};

/**
 * Moves the journal into the database file, on the writing thread, between two transactions. SQLite starts
 * the journal anew when a transaction begins after all of it was moved and no read uses it. Between reads
 * that happens by itself; under reads so dense that it never does, it is waited for once the journal is
 * too long.
 */
export class Checkpoints {
  readonly #parts: Parts;
  #timer: NodeJS.Timeout | null = null;
  #isDue = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** To be called after every commit; cheap. */
  committed(): void {
    if (this.#isDue) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#isDue = true;
      this.runIfDue();
    }, INTERVAL_MS);
  }

  /** To be called when a transaction has ended. */
  runIfDue(): void {
    if (!this.#isDue || this.#parts.isInTransaction()) return;
    this.#isDue = false;
    try {
      const { log } = this.#parts.checkpoint('PASSIVE');
      if (log > JOURNAL_FRAMES_LIMIT) this.#parts.checkpoint('RESTART');
    } catch (error) {
      // The journal is kept and grows; the next commit tries again.
      this.#parts.onFailure(error);
    }
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isDue = false;
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import { StoreError } from '../errors.ts';

/** Time from the first commit after a checkpoint to the next checkpoint, ms. Further commits do not delay it. */
export const INTERVAL_MS = 3_000;

/**
 * Length of the journal, in frames of 4 KiB (64 MiB in all), above which a checkpoint
 * waits until no read uses the journal. The next transaction waits for the checkpoint.
 */
export const JOURNAL_FRAMES_LIMIT = 16_384;

/** Longest wait of a checkpoint until no read uses the journal, ms. */
export const RESTART_WAIT_MS = 250;
/**
 * Shortest time from a wait that a read has outlasted to the next wait for reads, ms.
 */
const RESTART_AGAIN_MS = 30_000;

const FRAME_BYTES = 4_096;

/**
 * The row that `PRAGMA wal_checkpoint` returns. `log`: the number of frames in the journal. `checkpointed`:
 * how many of these frames are in the database file now.
 */
export type CheckpointRow = { busy: number; log: number; checkpointed: number };

type Parts = {
  /**
   * PASSIVE moves the frames that no read holds back, and does not wait. RESTART also waits for reads, at
   * most {@link RESTART_WAIT_MS}, so that the next transaction writes from the journal's beginning. `busy` is
   * 1 when the wait ran out.
   */
  readonly checkpoint: (mode: 'PASSIVE' | 'RESTART') => CheckpointRow;
  readonly isInTransaction: () => boolean;
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
};

/**
 * Moves the content of the journal (SQLite's WAL) into the database file, on
 * the writing thread, between two transactions.
 *
 * A transaction overwrites the journal from its beginning if all frames were moved and no read uses
 * the journal. If there are gaps between reads, this happens by itself. Without gaps, it may never
 * happen. So this class waits for the end of reads when the journal is longer than
 * {@link JOURNAL_FRAMES_LIMIT}. While a read does not end (a shell with an open transaction), this
 * wait delays a transaction at most every 30 s, and the journal grows.
 */
export class Checkpoints {
  readonly #parts: Parts;
  #cancelTimer: (() => void) | null = null;
  #isDue = false;
  /** Earliest instant of the next wait for reads, monotonic ms. */
  #restartAt = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Starts the timer of the next checkpoint. Call this after every commit. */
  scheduleAfterCommit(): void {
    if (this.#isDue) return;
    this.#cancelTimer ??= this.#parts.clock.after(INTERVAL_MS, () => {
      this.#cancelTimer = null;
      this.#isDue = true;
      this.runIfDue();
    });
  }

  /** Runs a checkpoint if its time has come. Call this when a transaction has ended. */
  runIfDue(): void {
    if (!this.#isDue || this.#parts.isInTransaction()) return;
    this.#isDue = false;
    try {
      const { log } = this.#parts.checkpoint('PASSIVE');
      if (log > JOURNAL_FRAMES_LIMIT && this.#parts.clock.monotonic() >= this.#restartAt) this.#restart();
    } catch (error) {
      // The journal is kept and grows. The next commit schedules another checkpoint.
      this.#parts.onFailure(error);
    }
  }

  #restart(): void {
    const { busy, log } = this.#parts.checkpoint('RESTART');
    if (busy === 0) return;
    this.#restartAt = this.#parts.clock.monotonic() + RESTART_AGAIN_MS;
    const mebibytes = Math.round((log * FRAME_BYTES) / 2 ** 20);
    this.#parts.onFailure(
      new StoreError(
        'store-busy',
        `a program has been reading it for long; the journal has ${mebibytes} MiB`,
      ),
    );
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isDue = false;
  }
}

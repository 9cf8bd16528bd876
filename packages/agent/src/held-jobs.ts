import type { Clock } from '@svc/shared/clock.ts';
import { FinishedJobs } from './finished-jobs.ts';

/** Shortest time that finished jobs are remembered, ms. The longest is twice as much. */
const FINISHED_MS = 300_000;
/**
 * Number of finished jobs beyond which they are forgotten earlier: 3,300 checks a second for five minutes,
 * 16 MiB, and as much for the jobs before them.
 */
const FINISHED_LIMIT = 1_000_000;

/**
 * The jobs that this agent answers for. A job is held from its receipt until the stream has its result. Then
 * it is remembered as finished, so that a job that is sent twice runs once.
 *
 * A job that ended as `not_run` is forgotten at once: it may be tried again when it is sent again.
 */
export class HeldJobs {
  readonly #clock: Clock;
  /** Bytes that each took in its message. */
  readonly #held = new Map<string, number>();
  #bytes = 0;
  // Two generations. The old one is dropped as a whole, which needs no timer and no instant for each job.
  #finished = new FinishedJobs();
  #finishedBefore = new FinishedJobs();
  #generationStartedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#generationStartedAt = clock.monotonic();
  }

  get size(): number {
    return this.#held.size;
  }

  /** Bytes that the held jobs took in their messages. */
  get bytes(): number {
    return this.#bytes;
  }

  stateOf(monitor: number, slot: number): 'held' | 'finished' | 'unknown' {
    if (this.#held.has(textOf(monitor, slot))) return 'held';
    this.#turnGeneration();
    const isFinished = this.#finished.has(monitor, slot) || this.#finishedBefore.has(monitor, slot);
    return isFinished ? 'finished' : 'unknown';
  }

  /** @param bytes the job's share of its message. The job must not be held yet */
  hold(monitor: number, slot: number, bytes: number): void {
    this.#held.set(textOf(monitor, slot), bytes);
    this.#bytes += bytes;
  }

  /**
   * Ends the holding of a job. `finished`: its result is acknowledged. `forgotten`: its result is given up,
   * and nobody answers for the job.
   */
  release(monitor: number, slot: number, as: 'finished' | 'forgotten'): void {
    const text = textOf(monitor, slot);
    this.#bytes -= this.#held.get(text) ?? 0;
    this.#held.delete(text);
    if (as === 'forgotten') return;
    this.#turnGeneration();
    this.#finished.add(monitor, slot);
  }

  #turnGeneration(): void {
    const now = this.#clock.monotonic();
    const age = now - this.#generationStartedAt;
    if (age < FINISHED_MS && this.#finished.size < FINISHED_LIMIT) return;
    this.#finishedBefore = age < 2 * FINISHED_MS ? this.#finished : new FinishedJobs();
    this.#finished = new FinishedJobs();
    this.#generationStartedAt = now;
  }
}

const textOf = (monitor: number, slot: number): string => `${monitor}:${slot}`;

import type { Clock } from '@svc/shared/clock.ts';

/** Minimum time for which a finished job is remembered, ms. On a busy agent, the maximum is twice as long. */
const FINISHED_MS = 300_000;

/**
 * The jobs that this agent is responsible for. A job is held from its receipt until the stream has its
 * result, or until its result is `not_run`. After that, it is remembered as finished, so that it runs only once even if it is sent twice. Only
 * the last finished job of each monitor is remembered, because a slot is sent again only within its period.
 *
 * A job whose result was `not_run` or was given up is not
 * remembered as finished, so that it runs when it is sent again.
 */
export class HeldJobs {
  readonly #clock: Clock;
  /** Size of each held job in its message, bytes, by `monitor:slot`. */
  readonly #held = new Map<string, number>();
  #bytes = 0;
  // The last finished slot of each monitor, in two generations. The older generation is
  // dropped as a whole, so that neither a timer nor a time stamp for each job is needed.
  #finished = new Map<number, number>();
  #finishedBefore = new Map<number, number>();
  #generationStartedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#generationStartedAt = clock.monotonic();
  }

  get size(): number {
    return this.#held.size;
  }

  /** Total size of the held jobs in their messages, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  stateOf(monitor: number, slot: number): 'held' | 'finished' | 'unknown' {
    if (this.#held.has(textOf(monitor, slot))) return 'held';
    this.#turnGeneration();
    const finished = this.#finished.get(monitor) ?? this.#finishedBefore.get(monitor);
    return finished === slot ? 'finished' : 'unknown';
  }

  /**
   * Holds a job, which must not be held yet.
   *
   * @param bytes the job's share of its message
   */
  holdJob(monitor: number, slot: number, bytes: number): void {
    this.#held.set(textOf(monitor, slot), bytes);
    this.#bytes += bytes;
  }

  /**
   * Stops holding a job. `finished`: the stream has its result, and the job is not run
   * again. `forgotten`: its result was `not_run` or was given up, so the job may run again.
   */
  release(monitor: number, slot: number, as: 'finished' | 'forgotten'): void {
    const text = textOf(monitor, slot);
    this.#bytes -= this.#held.get(text) ?? 0;
    this.#held.delete(text);
    if (as === 'forgotten') return;
    this.#turnGeneration();
    this.#finished.set(monitor, slot);
  }

  #turnGeneration(): void {
    const now = this.#clock.monotonic();
    const age = now - this.#generationStartedAt;
    if (age < FINISHED_MS) return;
    this.#finishedBefore = age < 2 * FINISHED_MS ? this.#finished : new Map();
    this.#finished = new Map();
    this.#generationStartedAt = now;
  }
}

const textOf = (monitor: number, slot: number): string => `${monitor}:${slot}`;

import type { Clock } from '@svc/shared/clock.ts';
import type { JobKey } from '@svc/shared/messages/heartbeat.ts';

/** Shortest time that finished jobs are remembered, ms. The longest is twice as much. */
const FINISHED_MS = 300_000;
/**
 * Number of finished jobs beyond which they are forgotten earlier: 3,300 checks a second for five minutes,
 * some 30 MB.
 */
const FINISHED_LIMIT = 1_000_000;

/**
 * The jobs that this agent answers for. A job is held from acceptance until the stream has its result. Then
 * it is remembered as finished, so that a job that is offered twice runs once.
 *
 * A job that ended as `not_run` is forgotten at once: it may be tried again when it is offered again.
 */
export class HeldJobs {
  readonly #clock: Clock;
  readonly #held = new Map<string, { key: JobKey; bytes: number }>();
  #bytes = 0;
  // Two generations of slots by monitor. The old one is dropped as a whole, which needs no timer and no
  // instant for each job.
  #finished: Finished = new Map();
  #finishedBefore: Finished = new Map();
  #finishedCount = 0;
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

  keys(): JobKey[] {
    return Array.from(this.#held.values(), (entry) => entry.key);
  }

  stateOf(monitor: number, slot: number): 'held' | 'finished' | 'unknown' {
    if (this.#held.has(textOf(monitor, slot))) return 'held';
    this.#turnGeneration();
    const isFinished =
      isAmong(this.#finished.get(monitor), slot) || isAmong(this.#finishedBefore.get(monitor), slot);
    return isFinished ? 'finished' : 'unknown';
  }

  /** @param bytes the job's share of its message. The job must not be held yet */
  hold(monitor: number, slot: number, bytes: number): void {
    this.#held.set(textOf(monitor, slot), { key: [monitor, slot], bytes });
    this.#bytes += bytes;
  }

  /**
   * Ends the holding of a job. `finished`: its result is acknowledged. `forgotten`: its result is given up,
   * and nobody answers for the job.
   */
  release(monitor: number, slot: number, as: 'finished' | 'forgotten'): void {
    const text = textOf(monitor, slot);
    this.#bytes -= this.#held.get(text)?.bytes ?? 0;
    this.#held.delete(text);
    if (as === 'forgotten') return;
    this.#turnGeneration();
    const slots = this.#finished.get(monitor);
    if (slots === undefined) this.#finished.set(monitor, slot);
    else if (typeof slots === 'number') this.#finished.set(monitor, [slots, slot]);
    else slots.push(slot);
    this.#finishedCount += 1;
  }

  #turnGeneration(): void {
    const now = this.#clock.monotonic();
    const age = now - this.#generationStartedAt;
    if (age < FINISHED_MS && this.#finishedCount < FINISHED_LIMIT) return;
    this.#finishedBefore = age < 2 * FINISHED_MS ? this.#finished : new Map();
    this.#finished = new Map();
    this.#finishedCount = 0;
    this.#generationStartedAt = now;
  }
}

/**
 * Finished slots by monitor. A single one is no array: an array that grows gets room for sixteen more, and under an
 * overload there are many monitors with few slots each.
 */
type Finished = Map<number, number | number[]>;

function isAmong(slots: number | number[] | undefined, slot: number): boolean {
  return typeof slots === 'object' ? slots.includes(slot) : slots === slot;
}

const textOf = (monitor: number, slot: number): string => `${monitor}:${slot}`;

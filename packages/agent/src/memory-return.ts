import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type ProcessMemory, returnMemory } from '@svc/shared/process-memory.ts';

/** Interval at which the memory is looked at, ms. */
const LOOK_MS = 5_000;
/** Looks in a row that must find the agent calm: an overload is over, and not only between two slots. */
const CALM_LOOKS = 6;
/** The agent is calm while it runs at most this part of the most attempts that it has run. */
const CALM_PART = 0.25;
/** Memory above the least that was seen from which a return is worth a pause of the event loop, bytes. */
const WORTH_BYTES = 32 * 1_024 ** 2;
/** The same after a burst: so many attempts at once, since the last return. It is over, and does not come every minute. */
const WORTH_AFTER_BURST_BYTES = 12 * 1_024 ** 2;
const BURST_ATTEMPTS = 64;
/** What a burst may leave behind after its return, bytes. */
const REST_BYTES = 15 * 1_024 ** 2;
/** Most returns after a burst and what follows it within so long, ms. What is left then is in use. */
const MOST_RETURNS = 3;
const RETURNS_MS = 1_800_000;
/**
 * Time after the return that follows a burst, ms: the agent has then forgotten the jobs that it finished in the burst
 * (`held-jobs.ts`), which took memory until then.
 */
const FORGOTTEN_MS = 660_000;

/**
 * Returns memory to the system after the start and after an overload.
 *
 * A start leaves 5 MiB behind that nothing refers to: what it took to load and link the program. They are
 * returned once, when the agent is calm for the first time and runs nothing that the pause could delay.
 *
 * V8 keeps the pages that a burst of checks filled, for another burst, as long as the agent allocates at all:
 * the agent held 60 MiB of free pages for ever. Only the last resort of its collector returns them, and that
 * pauses the event loop. So it is used when the agent has been calm for half a minute, and holds clearly more
 * than it held at some time since the last return. An agent with a steady load is never calm in this sense.
 *
 * A burst comes in waves, so a return can fall between two of them and leave what the burst still uses. When the burst goes
 * on after a return, its end is compared with the memory before the burst: three returns within half an hour at most.
 *
 * The agent remembers for some minutes which jobs it has finished. Where a long overload has left much of that, the rest
 * is returned when it is forgotten.
 */
export class MemoryReturn {
  readonly #parts: MemoryReturnParts;
  /** Least resident memory since the start or the last return, bytes. */
  #least = Number.POSITIVE_INFINITY;
  /** Most running attempts since the start or the last return. */
  #mostRunning = 0;
  #calmLooks = 0;
  /** Returns after bursts in the last half hour, oldest first. */
  #afterBursts: readonly AfterBurst[] = [];
  /** What the start has left behind is still there. */
  #isAfterStart = true;
  #cancel: (() => void) | null = null;

  constructor(parts: MemoryReturnParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#cancel = this.#parts.clock.every(LOOK_MS, () => this.#look());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #look(): void {
    const { clock, memory, running } = this.#parts;
    this.#afterBursts = this.#afterBursts.filter(({ at }) => clock.monotonic() < at + RETURNS_MS);
    const count = running();
    this.#mostRunning = Math.max(this.#mostRunning, count);
    this.#calmLooks = count <= this.#mostRunning * CALM_PART ? this.#calmLooks + 1 : 0;
    const resident = memory.residentBytes();
    this.#least = Math.min(this.#least, resident);
    const worth = this.#mostRunning >= BURST_ATTEMPTS ? WORTH_AFTER_BURST_BYTES : WORTH_BYTES;
    const isWorthIt =
      (this.#isAfterStart && count === 0) || resident >= this.#least + worth || this.#hasGoneOn(resident);
    if ((this.#calmLooks >= CALM_LOOKS && isWorthIt) || this.#hasRest(resident)) this.#collect();
  }

  /** Whether a burst has gone on after its last return, which therefore left what the burst still used. */
  #hasGoneOn(resident: number): boolean {
    const isBurst = this.#mostRunning >= BURST_ATTEMPTS && this.#afterBursts.length < MOST_RETURNS;
    return isBurst && resident > this.#mostAfterBurst();
  }

  /** Whether memory of an earlier burst is worth another return, and no further burst has come. */
  #hasRest(resident: number): boolean {
    const last = this.#afterBursts.at(-1);
    if (last === undefined || this.#parts.clock.monotonic() < last.at + FORGOTTEN_MS) return false;
    const hasLeftMuch = Math.min(last.left, resident) > this.#mostAfterBurst();
    return hasLeftMuch && this.#mostRunning <= last.mostRunning * CALM_PART;
  }

  /** Memory above which what a burst has left is returned, bytes; infinite where none was returned before. */
  #mostAfterBurst(): number {
    const [first] = this.#afterBursts;
    return first === undefined ? Number.POSITIVE_INFINITY : first.leastBefore + REST_BYTES;
  }

  #collect(): void {
    const at = this.#parts.clock.monotonic();
    const [leastBefore, mostRunning] = [this.#least, this.#mostRunning];
    const left = returnMemory(this.#parts, 'the agent is calm and has returned memory to the system');
    // Memory that could not be returned is in use, so it is no reason to try again.
    this.#least = left;
    // What remains although no burst has come since the last return is in use.
    const isAfterBurst = mostRunning >= BURST_ATTEMPTS;
    this.#afterBursts = isAfterBurst ? [...this.#afterBursts, { at, leastBefore, left, mostRunning }] : [];
    this.#mostRunning = 0;
    this.#calmLooks = 0;
    this.#isAfterStart = false;
  }
}

/** A return after a burst. */
type AfterBurst = {
  /** Monotonic ms. */
  readonly at: number;
  /** Least resident memory between the return before it and the burst, bytes. */
  readonly leastBefore: number;
  /** Resident memory after it, bytes. */
  readonly left: number;
  /** Most running attempts in the burst. */
  readonly mostRunning: number;
};

export type MemoryReturnParts = {
  readonly memory: ProcessMemory;
  /** Number of attempts that run now. */
  readonly running: () => number;
  readonly clock: Clock;
  readonly log: Logger;
};

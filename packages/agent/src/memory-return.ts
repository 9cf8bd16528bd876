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
 * on after its first return, its end is compared with the memory before the burst, once.
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
  /** What a burst may have left after its return; null: nothing is expected. */
  #rest: { readonly from: number; readonly least: number; readonly mostRunning: number } | null = null;
  /**
   * Least resident memory before the burst whose first return is done, bytes; null: no return of a burst is repeated. The
   * burst may have gone on after it.
   */
  #leastBeforeBurst: number | null = null;
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
    const { memory, running } = this.#parts;
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

  /** Whether a burst has gone on after its first return, which therefore left what the burst still used. */
  #hasGoneOn(resident: number): boolean {
    const before = this.#leastBeforeBurst;
    return before !== null && this.#mostRunning >= BURST_ATTEMPTS && resident > before + REST_BYTES;
  }

  /** Whether memory of an earlier burst is worth another return, and no further burst has come. */
  #hasRest(resident: number): boolean {
    if (this.#rest === null || this.#parts.clock.monotonic() < this.#rest.from) return false;
    const { least, mostRunning } = this.#rest;
    return this.#mostRunning <= mostRunning * CALM_PART && resident > least + REST_BYTES;
  }

  #collect(): void {
    const startedAt = this.#parts.clock.monotonic();
    const after = returnMemory(this.#parts, 'the agent is calm and has returned memory to the system');
    const [least, mostRunning] = [this.#leastBeforeBurst ?? this.#least, this.#mostRunning];
    const isAfterBurst = mostRunning >= BURST_ATTEMPTS;
    const hasRest = isAfterBurst && after > least + REST_BYTES;
    this.#rest = hasRest ? { from: startedAt + FORGOTTEN_MS, least, mostRunning } : null;
    this.#leastBeforeBurst = isAfterBurst && this.#leastBeforeBurst === null ? least : null;
    // Memory that could not be returned is in use, so it is no reason to try again.
    this.#least = after;
    this.#mostRunning = 0;
    this.#calmLooks = 0;
    this.#isAfterStart = false;
  }
}

export type MemoryReturnParts = {
  readonly memory: ProcessMemory;
  /** Number of attempts that run now. */
  readonly running: () => number;
  readonly clock: Clock;
  readonly log: Logger;
};

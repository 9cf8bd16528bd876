import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type ProcessMemory, returnMemory } from '@svc/shared/process-memory.ts';
import type { DispatchCounters } from './dispatch/counters.ts';
import { MOST_AHEAD_MS } from './dispatch/scheduler.ts';
import type { LiveMonitors } from './domain/monitor.ts';

/** Interval at which the memory is looked at, ms. */
const LOOK_MS = 5_000;
/** Looks in a row that must find nothing skipped and little changed. */
const CALM_LOOKS = 6;
/** Changed monitors that leave much garbage, and so few between two looks that nothing large is under way. */
const MANY_CHANGES = 5_000;
const FEW_CHANGES = 10;
/** Most returns in so long, ms: an overload that comes and goes does not hold the thread each time. */
const MOST_RETURNS = 3;
const RETURNS_MS = 1_800_000;
/**
 * Memory above the least that was seen from which the return after an overload is worth a pause of the thread, bytes.
 * After many changes it always is: a start sees the least in the midst of them.
 */
const WORTH_BYTES = 64 * 1_024 ** 2;
const WORTH_AFTER_CHANGES_BYTES = 0;
/**
 * Time between the request for jobs ahead and the pause, ms: six ticks of dispatch, which open up to 9,000 jobs, and the
 * agents' answers.
 */
const SEND_MS = 300;

export type MemoryReturnParts = {
  readonly memory: ProcessMemory;
  readonly monitors: Pick<LiveMonitors, 'onChange'>;
  /** Counters of skipped jobs, by reason. */
  readonly jobsSkipped: () => DispatchCounters['jobsSkipped'];
  /** Gives out the jobs of the next time, ms. */
  readonly openAhead: (ms: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Returns memory to the system after an overload, and after a change of many monitors.
 *
 * V8 keeps the pages that both have filled as long as a thread allocates at all, and only the last resort of its
 * collector returns them. It holds this thread for 0.4 s where 120,000 monitors are declared. So the jobs of that time go
 * out before, half a minute after the last skipped slot or the last of many changes, and at most three times
 * in half an hour. Checks then begin in time; results, requests and alerts wait.
 *
 * A steady load causes no return, however much its memory comes and goes.
 */
export class MemoryReturn {
  readonly #parts: MemoryReturnParts;
  /** Least resident memory since the start or the last return, bytes. */
  #least = Number.POSITIVE_INFINITY;
  #skipped = 0;
  /** Monitors that changed since the last look, and before it since the last calm. */
  #changes = 0;
  #changesBefore = 0;
  /** Memory above the least from which there is a return; null: nothing is expected to be left behind. */
  #worthBytes: number | null = null;
  #calmLooks = 0;
  /** Monotonic ms of the last returns, oldest first. */
  #returns: number[] = [];
  #stops: (() => void)[] = [];

  constructor(parts: MemoryReturnParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, monitors } = this.#parts;
    this.#skipped = this.#skippedNow();
    this.#stops = [
      monitors.onChange(() => {
        this.#changes += 1;
      }),
      clock.every(LOOK_MS, () => this.#look()),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #look(): void {
    const { clock, memory } = this.#parts;
    const skipped = this.#skippedNow();
    const isSkipping = skipped > this.#skipped;
    this.#skipped = skipped;
    if (isSkipping) this.#worthBytes ??= WORTH_BYTES;
    this.#calmLooks = isSkipping || this.#changes > FEW_CHANGES ? 0 : this.#calmLooks + 1;
    this.#changesBefore += this.#changes;
    this.#changes = 0;
    const resident = memory.residentBytes();
    this.#least = Math.min(this.#least, resident);
    if (this.#calmLooks < CALM_LOOKS) return;
    if (this.#changesBefore >= MANY_CHANGES) this.#worthBytes = WORTH_AFTER_CHANGES_BYTES;
    this.#changesBefore = 0;
    this.#returns = this.#returns.filter((at) => clock.monotonic() - at < RETURNS_MS);
    if (this.#worthBytes === null || this.#returns.length >= MOST_RETURNS) return;
    const isWorthIt = resident >= this.#least + this.#worthBytes;
    this.#worthBytes = null;
    if (isWorthIt) this.#prepare();
  }

  #prepare(): void {
    const { clock, openAhead } = this.#parts;
    openAhead(MOST_AHEAD_MS);
    this.#stops.push(clock.after(SEND_MS, () => this.#collect()));
  }

  #collect(): void {
    this.#returns.push(this.#parts.clock.monotonic());
    const message = 'the memory that an overload or a large change left behind is returned to the system';
    this.#least = returnMemory(this.#parts, message);
  }

  #skippedNow(): number {
    const { 'predecessor-running': _, ...byOverload } = this.#parts.jobsSkipped();
    return Object.values(byOverload).reduce((sum, jobs) => sum + jobs, 0);
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { storedBelievedTime, writeBelievedTime } from '../store/facts.ts';
import type { Store } from '../store/store.ts';
import { type BelievedTime, believe, doubtMs, firstBelieved } from '../verdict/believed-time.ts';
import { HOUR_MS } from '../verdict/summary-range.ts';

/**
 * The clock that decides whether data is old enough to be deleted. It follows a sudden step forward of the
 * system clock only after a while; see {@link BelievedTime}.
 */
export class BelievedClock {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  #believed: BelievedTime;
  /** When `#believed` was set, monotonic ms. */
  #believedAt: number;

  private constructor(parts: { store: Store; clock: Clock; log: Logger }, believed: BelievedTime) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#believed = believed;
    this.#believedAt = parts.clock.monotonic();
  }

  /**
   * Loads the believed time. Call it before anything is recorded.
   *
   * @param newestSlot the newest recorded slot that is believed, epoch ms, for the first believed time if
   *   none is stored yet; null: there is no such slot
   */
  static async load(
    parts: { store: Store; clock: Clock; log: Logger },
    newestSlot: number | null,
  ): Promise<BelievedClock> {
    const stored = await storedBelievedTime(parts.store);
    return new BelievedClock(parts, stored ?? firstBelieved(parts.clock.wall(), newestSlot));
  }

  /** The believed time, whole epoch ms. */
  now(): number {
    const before = this.#believed;
    const monotonic = this.#clock.monotonic();
    this.#believed = believe(before, this.#clock.wall(), monotonic - this.#believedAt);
    this.#believedAt = monotonic;
    this.#sayDoubt(before);
    return Math.floor(this.#believed.at);
  }

  /** Stores the believed time. The next process continues from it. */
  async save(): Promise<void> {
    this.now();
    await writeBelievedTime(this.#store, this.#believed);
  }

  #sayDoubt(before: BelievedTime): void {
    const { doubt } = this.#believed;
    if (doubt === null || doubt.aheadMs === before.doubt?.aheadMs) return;
    this.#log.warn(
      { aheadHours: hours(doubt.aheadMs), doubtedForHours: hours(doubtMs(doubt.aheadMs)) },
      'the system clock went forward further than the time that has passed: svc deletes nothing because of it until the clock has kept this time for a while',
    );
  }
}

function hours(ms: number): number {
  return Math.round(ms / HOUR_MS);
}

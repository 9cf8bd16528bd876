import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type BelievedTime, believe, doubtMs, firstBelieved } from '../domain/believed-time.ts';
import { HOUR_MS } from '../domain/summary-range.ts';
import { storedBelievedTime, writeBelievedTime } from '../store/believed-time.ts';
import type { Store } from '../store/store.ts';

/** By this ages are judged where something is deleted: see {@link BelievedTime}. */
export class BelievedClock {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  #believed: BelievedTime;
  /** When `#believed` was made, monotonic ms. */
  #lookedAt: number;

  private constructor(parts: { store: Store; clock: Clock; log: Logger }, believed: BelievedTime) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#believed = believed;
    this.#lookedAt = parts.clock.monotonic();
  }

  /**
   * To be called before anything is recorded.
   *
   * @param newestSlot of all results recorded so far, epoch ms; null: there is none. Counts where no process
   *   has said yet what it believed
   */
  static async load(
    parts: { store: Store; clock: Clock; log: Logger },
    newestSlot: number | null,
  ): Promise<BelievedClock> {
    const stored = await storedBelievedTime(parts.store);
    return new BelievedClock(parts, stored ?? firstBelieved(parts.clock.wall(), newestSlot));
  }

  /** Epoch ms, whole. */
  now(): number {
    const before = this.#believed;
    const monotonic = this.#clock.monotonic();
    this.#believed = believe(before, this.#clock.wall(), monotonic - this.#lookedAt);
    this.#lookedAt = monotonic;
    this.#sayDoubt(before);
    return Math.floor(this.#believed.at);
  }

  /** Writes down what is believed now, so that the next process goes on from it. */
  async save(): Promise<void> {
    this.now();
    await writeBelievedTime(this.#store, this.#believed);
  }

  #sayDoubt(before: BelievedTime): void {
    const { doubt } = this.#believed;
    if (doubt === null || doubt.aheadMs === before.doubt?.aheadMs) return;
    this.#log.warn(
      { aheadHours: hours(doubt.aheadMs), doubtedForHours: hours(doubtMs(doubt.aheadMs)) },
      'the clock is further than the time that passed: nothing is deleted for its age by it until it has stood for a while',
    );
  }
}

function hours(ms: number): number {
  return Math.round(ms / HOUR_MS);
}

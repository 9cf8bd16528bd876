import type { Clock } from '@svc/shared/clock.ts';

/** Interval at which the sizes are measured, ms. */
const MEASURE_EVERY_MS = 15_000;

/** Sizes of the database, bytes. NaN: the database does not report this size. */
export type DatabaseSizes = {
  readonly file: number;
  /** Size of SQLite's write-ahead log; 0: there is no log. */
  readonly journal: number;
  /** Free space of the file's disk for this user. */
  readonly free: number;
};

/**
 * Measures the database every 15 s, so that metrics need not wait for the disk. While a stalled disk holds up
 * a measurement, no further measurement starts.
 */
export class MeasuredSizes {
  readonly #sizesNow: () => Promise<DatabaseSizes>;
  readonly #clock: Pick<Clock, 'every'>;
  #sizes: DatabaseSizes | null = null;
  #measuring: Promise<void> | null = null;
  #cancel: () => void = () => {};

  constructor(sizesNow: () => Promise<DatabaseSizes>, clock: Pick<Clock, 'every'>) {
    this.#sizesNow = sizesNow;
    this.#clock = clock;
  }

  /** The last measured sizes; null: nothing was measured yet. */
  get sizes(): DatabaseSizes | null {
    return this.#sizes;
  }

  start(): void {
    this.#cancel = this.#clock.every(MEASURE_EVERY_MS, () => void this.measure());
    void this.measure();
  }

  stop(): void {
    this.#cancel();
  }

  /**
   * Measures the sizes. Resolves when the measurement has ended. After a failed measurement, the last known
   * sizes stay.
   */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null;
    });
    return this.#measuring;
  }

  async #measure(): Promise<void> {
    try {
      this.#sizes = await this.#sizesNow();
    } catch {
      // A process that cannot read the database cannot write it either, and the recorder reports that.
    }
  }
}

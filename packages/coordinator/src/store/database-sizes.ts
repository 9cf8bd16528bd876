import type { Clock } from '@svc/shared/clock.ts';

/** Interval at which the sizes are measured, ms. */
const MEASURE_EVERY_MS = 15_000;

/** Sizes of the database, bytes. NaN: the database does not report this size. */
export type DatabaseSizes = {
  readonly file: number;
  /** Size of SQLite's write-ahead log; 0: the log is missing or empty. */
  readonly journal: number;
  /** Free space on the file's disk for users without privileges. */
  readonly free: number;
};

/**
 * Measures the database every 15 s, so that metrics need not wait for the disk. No measurement starts while
 * another one runs, because a stalled disk would hold up all of them.
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
   * Measures the sizes, or waits for the measurement that runs. Never rejects: after a failed measurement,
   * the last known sizes stay.
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
      // The error is not reported here: work that needs the database fails too, and reports it.
    }
  }
}

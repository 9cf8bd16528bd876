import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import { isSqliteFailure, StoreError, storeErrorOf } from '../errors.ts';

/** Interval at which the sizes are measured, ms. */
const MEASURE_EVERY_MS = 15_000;

/** Sizes of the database's files, bytes. */
export type DatabaseSizes = {
  readonly file: number;
  /** SQLite's write-ahead log; 0 without one. */
  readonly journal: number;
  /** Free space of the file's disk for this user. */
  readonly free: number;
};

/**
 * Measures the database's files every 15 s, so that metrics need not wait for the disk. While a stalled disk
 * holds up one measurement, no second one starts.
 */
export class FileSizes {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'every'>;
  #sizes: DatabaseSizes | null = null;
  #measuring: Promise<void> | null = null;
  #cancel: () => void = () => {};

  /** @param path of the database file */
  constructor(path: string, clock: Pick<Clock, 'every'>) {
    this.#path = path;
    this.#clock = clock;
  }

  /** The last measured sizes; null before the first measurement. */
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

  /** Resolves when a measurement has ended. Where a file cannot be read, the last known sizes stay. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null;
    });
    return this.#measuring;
  }

  async #measure(): Promise<void> {
    try {
      const [file, journal, disk] = await Promise.all([
        stat(this.#path),
        // The journal does not exist after the last program has closed the database.
        stat(`${this.#path}-wal`).catch(() => ({ size: 0 })),
        statfs(dirname(this.#path)),
      ]);
      this.#sizes = { file: file.size, journal: journal.size, free: disk.bavail * disk.bsize };
    } catch {
      // A process that cannot read the file cannot write it either, and the recorder reports that.
    }
  }
}

/**
 * Locks the database file for this process until the returned function is called or the process ends.
 *
 * @throws StoreError `store-in-use`
 */
export function lockDatabaseFile(path: string): () => void {
  let release: (() => void) | null;
  try {
    release = lockFile(`${path}.lock`);
  } catch (error) {
    throw isSqliteFailure(error)
      ? storeErrorOf({ errcode: error.errcode, message: `${path}.lock: ${error.message}` }, error)
      : error;
  }
  if (release !== null) return release;
  throw new StoreError(
    'store-in-use',
    `another coordinator uses ${path}: one SQLite file serves one coordinator (several need PostgreSQL)`,
  );
}

import type { Region } from '@svc/shared/regions.ts';
import type { Job } from './job.ts';

/**
 * Time after which the result of a missing job counts as unread, ms. A reader that is not behind says so within 2 s, and
 * then the job is lost.
 */
const UNREAD_AFTER_MS = 5_000;

/** Accepted jobs that their agents no longer name. They are lost, unless their results wait in the stream. */
export class MissingJobs {
  readonly #readerCaughtUp: (region: Region) => boolean;
  /** With the instants since when they are missing, monotonic ms. */
  readonly #since = new Map<Job, number>();

  constructor(readerCaughtUp: (region: Region) => boolean) {
    this.#readerCaughtUp = readerCaughtUp;
  }

  add(job: Job, now: number): void {
    if (!this.#since.has(job)) this.#since.set(job, now);
  }

  delete(job: Job): void {
    this.#since.delete(job);
  }

  /** Whether the job is missing, and its region's stream has not been read to its end for a while. */
  isUnread(job: Job, now: number): boolean {
    return now - (this.#since.get(job) ?? now) >= UNREAD_AFTER_MS;
  }

  /** The jobs whose region's stream is read to its end. Asked in every tick. */
  lost(): readonly Job[] {
    if (this.#since.size === 0) return NONE;
    const isCaughtUp = new Map<Region, boolean>();
    const lost: Job[] = [];
    for (const job of this.#since.keys()) {
      const { region } = job;
      if (!isCaughtUp.has(region)) isCaughtUp.set(region, this.#readerCaughtUp(region));
      if (isCaughtUp.get(region) === true) lost.push(job);
    }
    return lost;
  }
}

const NONE: readonly never[] = [];

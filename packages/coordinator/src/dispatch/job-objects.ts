import { Job, type NewJob } from './job.ts';

/** Ended jobs that are kept for later ones: more than run at once at 2,000 checks a second. */
const MOST_KEPT = 4_096;

/**
 * Makes jobs of ended ones. A job lives for a second, which is longer than the young generation lasts: a new object for
 * each would be garbage of the old generation, where it costs a multiple.
 */
export class JobObjects {
  readonly #ended: Job[] = [];

  make(job: NewJob): Job {
    const object = this.#ended.pop();
    if (object === undefined) return new Job(job);
    object.become(job);
    return object;
  }

  /** @param job has ended, is in no collection, and was not given before */
  ended(job: Job): void {
    if (this.#ended.length < MOST_KEPT) this.#ended.push(job);
  }
}

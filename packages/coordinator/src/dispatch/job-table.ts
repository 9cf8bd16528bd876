import type { Region } from '@svc/shared/regions.ts';
import { type Job, jobKey } from './job.ts';

/**
 * The jobs by monitor and region: at most one that is awaited, and those that their agents hold although nobody
 * awaits them any more.
 */
export class JobTable {
  /** The awaited jobs, by key. */
  readonly #awaited = new Map<number, Job>();
  /** The others, by key. */
  readonly #apart = new Map<number, readonly Job[]>();
  #apartCount = 0;

  /** Number of all jobs. */
  get size(): number {
    return this.#awaited.size + this.#apartCount;
  }

  /** The awaited job of the monitor in the region. */
  get(monitorId: number, region: Region): Job | undefined {
    return this.#awaited.get(jobKey(monitorId, region));
  }

  /** The awaited jobs. */
  values(): Iterable<Job> {
    return this.#awaited.values();
  }

  /** The job of the slot, awaited or not. */
  find(monitorId: number, slot: number, region: Region): Job | null {
    const key = jobKey(monitorId, region);
    const job = this.#awaited.get(key);
    if (job !== undefined && job.slot === slot) return job;
    return this.#apart.get(key)?.find((each) => each.slot === slot) ?? null;
  }

  /** Adds an awaited job. There must be no other of its monitor and region. */
  add(job: Job): void {
    this.#awaited.set(job.key, job);
  }

  /** Stops awaiting the job, which need not be in the table, and keeps it. */
  setApart(job: Job): void {
    job.isAwaited = false;
    if (this.#awaited.get(job.key) === job) this.#awaited.delete(job.key);
    this.#apart.set(job.key, [...(this.#apart.get(job.key) ?? []), job]);
    this.#apartCount += 1;
  }

  /** @param job is in the table */
  delete(job: Job): void {
    if (job.isAwaited) {
      this.#awaited.delete(job.key);
      return;
    }
    const others = this.#apart.get(job.key)?.filter((each) => each !== job) ?? [];
    if (others.length === 0) this.#apart.delete(job.key);
    else this.#apart.set(job.key, others);
    this.#apartCount -= 1;
  }
}

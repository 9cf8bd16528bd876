import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { jobKey } from './job.ts';

/**
 * Which monitors timed out in which region at their last attempt. Their jobs are marked, because an
 * agent gives such checks at most half of its capacity. Not kept over a restart: one round of results
 * brings it back.
 */
export class SlowChecks {
  /** Keys of (monitor, region). */
  readonly #slow = new Set<number>();

  has(key: number): boolean {
    return this.#slow.has(key);
  }

  set(monitorId: number, region: Region, timedOut: boolean): void {
    if (timedOut) this.#slow.add(jobKey(monitorId, region));
    else if (this.#slow.size > 0) this.#slow.delete(jobKey(monitorId, region));
  }

  /** The monitor is gone or is another one now. */
  forget(monitorId: number): void {
    if (this.#slow.size === 0) return;
    for (const region of REGIONS) this.#slow.delete(jobKey(monitorId, region));
  }
}

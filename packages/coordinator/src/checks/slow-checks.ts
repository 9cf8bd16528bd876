import { REGIONS } from '@svc/shared/regions.ts';
import { jobKey } from './job.ts';

/**
 * The monitors whose last attempt timed out, by region. Their jobs are marked, because an agent gives such
 * checks at most half of its capacity. This is not kept over a restart: one round of results restores it.
 */
export class SlowChecks {
  /** Keys of (monitor, region). */
  readonly #slow = new Set<number>();

  has(key: number): boolean {
    return this.#slow.has(key);
  }

  set(key: number, timedOut: boolean): void {
    if (timedOut) this.#slow.add(key);
    else if (this.#slow.size > 0) this.#slow.delete(key);
  }

  /** The monitor was removed or changed. */
  forget(monitorId: number): void {
    if (this.#slow.size === 0) return;
    for (const region of REGIONS) this.#slow.delete(jobKey(monitorId, region));
  }
}

import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';

/**
 * Maximum time from giving a slot to offering its job, ms.
 * Dispatch publishes the job in the turn that opens the slot.
 */
const OFFERED_WITHIN_MS = 2_000;

/** A job that was offered to an agent and has no answer yet. */
type Job = { readonly slot: number; readonly version: number };

/**
 * Checks which regions are given a slot and are offered its job. "A monitor gets one slot
 * per period, the same for all its regions": each of its regions that has an agent. "A slot
 * whose predecessor still runs in that region is skipped", and no other slot is skipped.
 */
export class Offers {
  /** Regions that were given a slot and have not been offered its job. `since`: monotonic ms. */
  readonly #owed = new Map<Region, { readonly slot: number; readonly since: number }>();
  readonly #running = new Map<Region, Map<number, Job>>();
  /** The pairs of region and slot that were answered, also to an earlier life of the coordinator. */
  readonly #answered = new Set<string>();

  /**
   * Records that regions are given a slot. Returns what is wrong;
   * null: each region that has an agent is given the slot.
   *
   * @param live the regions that have an agent
   * @param heldBy returns the slots whose jobs the region's agent holds
   * @param now monotonic ms
   */
  opened(
    { regions: declared }: Pick<LiveMonitor, 'regions'>,
    slot: number,
    given: readonly Region[],
    {
      live,
      heldBy,
      now,
    }: { live: readonly Region[]; heldBy: (region: Region) => Iterable<number>; now: number },
  ): string | null {
    for (const region of given) {
      const isHeld = [...heldBy(region)].includes(slot);
      // A region that answered the slot to an earlier life of the coordinator is offered no job.
      const isAnswered = this.#answered.has(`${region} ${slot}`);
      if (!isHeld && !isAnswered) this.#owed.set(region, { slot, since: now });
    }
    const due = live.filter((region) => declared === null || declared.includes(region));
    const missing = due.find((region) => !given.includes(region));
    return missing === undefined ? null : `${missing} is not given slot ${slot}`;
  }

  offered(region: Region, job: Job): void {
    const jobs = this.#running.get(region) ?? new Map<number, Job>();
    this.#running.set(region, jobs.set(job.slot, job));
    if (this.#owed.get(region)?.slot === job.slot) this.#owed.delete(region);
  }

  /** Records that dispatch does not wait for the region's part of the slot any more. */
  answered(region: Region, slot: number): void {
    this.read(region, slot);
    this.#running.get(region)?.delete(slot);
  }

  /** Records that the region's report is read. The region need not be offered the job any more. */
  read(region: Region, slot: number): void {
    this.#answered.add(`${region} ${slot}`);
    if (this.#owed.get(region)?.slot === slot) this.#owed.delete(region);
  }

  /**
   * Records that the slot is skipped in the region because the job of
   * another slot runs there. Returns what is wrong; null: such a job runs.
   */
  leftOut(region: Region, slot: number, version: number): string | null {
    this.answered(region, slot);
    const jobs = [...(this.#running.get(region)?.values() ?? [])];
    if (jobs.some((job) => job.slot !== slot && job.version === version)) return null;
    return `${region} leaves out slot ${slot}, and no check of it runs`;
  }

  /**
   * Forgets the jobs that are not offered yet, because the service has ended, or another monitor is declared.
   */
  forgive(): void {
    this.#owed.clear();
  }

  /** Returns what is wrong when a region was not offered its job in time; null: nothing is wrong. */
  overdue(live: readonly Region[], now: number): string | null {
    for (const [region, { slot, since }] of this.#owed) {
      if (live.includes(region) && now - since <= OFFERED_WITHIN_MS) continue;
      this.#owed.delete(region);
      if (live.includes(region)) return `${region} was given slot ${slot}, and no agent was offered its job`;
    }
    return null;
  }
}

import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';

/** Dispatch publishes a job in the tick that opens its slot, ms. */
const OFFERED_WITHIN_MS = 2_000;

/** A job that an agent was offered and that nobody has answered yet. */
type Job = { readonly slot: number; readonly version: number };

/**
 * "A monitor gets one slot per period, the same for all its regions": each of them that has an agent is given the slot,
 * and is offered its job. "A slot whose predecessor still runs in that region is skipped": no other slot is.
 */
export class Offers {
  /** Regions that were given a slot and have not been offered its job. `since`: monotonic ms. */
  readonly #owed = new Map<Region, { readonly slot: number; readonly since: number }>();
  readonly #running = new Map<Region, Map<number, Job>>();
  /** What regions have answered, also in a life before. */
  readonly #answered = new Set<string>();

  /**
   * Answers the first fault in who is given a slot; null: none.
   *
   * @param live   the regions that have an agent
   * @param heldBy the slots whose jobs the region's agent holds
   * @param now    monotonic ms
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
      // What was answered before it is given, in a life before, is not asked for.
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

  /** Nobody waits for the region's part of the slot. */
  answered(region: Region, slot: number): void {
    this.read(region, slot);
    this.#running.get(region)?.delete(slot);
  }

  /** The region's report is read: it is asked nothing more about the slot. */
  read(region: Region, slot: number): void {
    this.#answered.add(`${region} ${slot}`);
    if (this.#owed.get(region)?.slot === slot) this.#owed.delete(region);
  }

  /** The region leaves the slot out because its job of another one runs. Answers what is wrong with that; null: nothing. */
  leftOut(region: Region, slot: number, version: number): string | null {
    this.answered(region, slot);
    const jobs = [...(this.#running.get(region)?.values() ?? [])];
    if (jobs.some((job) => job.slot !== slot && job.version === version)) return null;
    return `${region} leaves out slot ${slot}, and no check of it runs`;
  }

  /** Nothing is owed any more: the service has ended, or something else is declared. */
  forgive(): void {
    this.#owed.clear();
  }

  /** Answers a region that was not offered its job in time; null: there is none. */
  overdue(live: readonly Region[], now: number): string | null {
    for (const [region, { slot, since }] of this.#owed) {
      if (live.includes(region) && now - since <= OFFERED_WITHIN_MS) continue;
      this.#owed.delete(region);
      if (live.includes(region)) return `${region} was given slot ${slot}, and no agent was offered its job`;
    }
    return null;
  }
}

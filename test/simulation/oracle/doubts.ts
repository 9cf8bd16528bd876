import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';

/**
 * Regions whose vote is not known, because it depends on what the service had written. Nothing
 * is judged until each of these regions has voted again, or until its unknown vote has aged.
 */
export class Doubts {
  readonly #times = new Map<Region, readonly { readonly from: number; readonly until: number }[]>();

  /** Pairs of region and slot, see {@link ahead}. */
  readonly #ahead = new Set<string>();

  /**
   * Records that the region's vote is not known from `from`
   * to `until`. Both are ms on the clock by which votes age.
   */
  add(region: Region, until: number, from = Number.NEGATIVE_INFINITY): void {
    this.#times.set(region, [{ from, until }]);
  }

  /** Records a further time in which the region's vote is not known. */
  addAlso(region: Region, from: number, until: number): void {
    this.#times.set(region, [...(this.#times.get(region) ?? []), { from, until }]);
  }

  /**
   * Records that it is not known when the region's vote is cast: up to `until`.
   * So it is not known either when the vote ages: from `freshUntil` on.
   *
   * @param until as in {@link add}
   * @param freshUntil the earliest instant at which the vote ages, ms on the clock by which votes age
   */
  addLater(region: Region, until: number, freshUntil: number): void {
    this.#times.set(region, [
      { from: Number.NEGATIVE_INFINITY, until },
      { from: freshUntil, until: Number.POSITIVE_INFINITY },
    ]);
  }

  /** Lets the times in which the region's vote is not known begin earlier and end later. */
  widen(region: Region, soonerMs: number, laterMs: number): void {
    const times = this.#times.get(region) ?? [];
    this.#times.set(
      region,
      times.map(({ from, until }) => ({ from: from - soonerMs, until: until + laterMs })),
    );
  }

  /**
   * Records a report about a slot far ahead of the clock. The report is recorded,
   * but is no vote. When the slot is given again in its time, "the first that is
   * not `not_run` stays", so the later report may count as a repetition.
   */
  ahead(region: Region, slot: number): void {
    this.#ahead.add(`${region} ${slot}`);
  }

  /** Handles a new vote of the region. It ends the doubt, unless its report may count as a repetition. */
  cast({ region, slot }: { readonly region: Region; readonly slot: number }): void {
    if (this.#ahead.has(`${region} ${slot}`)) this.add(region, Number.POSITIVE_INFINITY);
    else this.#times.delete(region);
  }

  /** Ends all doubts, because all votes were ended. */
  endAll(): void {
    this.#times.clear();
  }

  any({ age }: Now): boolean {
    for (const times of this.#times.values())
      if (times.some(({ from, until }) => from <= age && age < until)) return true;
    return false;
  }
}

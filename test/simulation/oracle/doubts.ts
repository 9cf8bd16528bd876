import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';

/**
 * Regions whose vote is not known: which one the service has depends on what it has written. Nothing is judged until
 * each of them has voted anew, or until such a vote has aged.
 */
export class Doubts {
  /** On the clock of votes, ms. */
  readonly #times = new Map<Region, readonly { readonly from: number; readonly until: number }[]>();

  /** Regions and slots. */
  readonly #ahead = new Set<string>();

  /**
   * @param until on the clock of votes, ms
   * @param from  the same
   */
  add(region: Region, until: number, from = Number.NEGATIVE_INFINITY): void {
    this.#times.set(region, [{ from, until }]);
  }

  /** Beside what is not known of the region's vote already. */
  addAlso(region: Region, from: number, until: number): void {
    this.#times.set(region, [...(this.#times.get(region) ?? []), { from, until }]);
  }

  /**
   * It is not known when the region's vote was cast within the next while: it counts, and may count for longer than is known.
   *
   * @param until      as of {@link add}
   * @param freshUntil the earliest instant at which it ages, on the clock of votes, ms
   */
  addLater(region: Region, until: number, freshUntil: number): void {
    this.#times.set(region, [
      { from: Number.NEGATIVE_INFINITY, until },
      { from: freshUntil, until: Number.POSITIVE_INFINITY },
    ]);
  }

  /** The times in which the region's vote is not known begin sooner and end later by so much, ms. */
  widen(region: Region, soonerMs: number, laterMs: number): void {
    const times = this.#times.get(region) ?? [];
    this.#times.set(
      region,
      times.map(({ from, until }) => ({ from: from - soonerMs, until: until + laterMs })),
    );
  }

  /**
   * A report about a slot far ahead is set aside, but recorded. When the slot is given again in its time, "the first that
   * is not `not_run` stays": the report of then may be a repeat.
   */
  ahead(region: Region, slot: number): void {
    this.#ahead.add(`${region} ${slot}`);
  }

  /** The region has voted anew, unless its report may be a repeat. */
  cast({ region, slot }: { readonly region: Region; readonly slot: number }): void {
    if (this.#ahead.has(`${region} ${slot}`)) this.add(region, Number.POSITIVE_INFINITY);
    else this.#times.delete(region);
  }

  /** All votes are ended. */
  endAll(): void {
    this.#times.clear();
  }

  any({ age }: Now): boolean {
    for (const times of this.#times.values())
      if (times.some(({ from, until }) => from <= age && age < until)) return true;
    return false;
  }
}

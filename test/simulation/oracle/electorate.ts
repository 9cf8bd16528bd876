import type { Region } from '@svc/shared/regions.ts';
import { WORLD_REGIONS } from '../own-regions.ts';

export type RegionsWithAgents = { hadAgentWithin24h(region: Region): boolean };

/**
 * "The electorate is the monitor's regions that had an agent
 * within 24 h, each from the first slot it was given."
 */
export class Electorate {
  readonly #presence: RegionsWithAgents;
  /** Regions that were given a decided slot. `given`: regions that were given any slot, decided or not. */
  readonly #entered = new Set<Region>();
  readonly #given = new Set<Region>();
  /** The regions that the monitor declares; null: all regions. */
  #declared: readonly Region[] | null = null;

  constructor(presence: RegionsWithAgents) {
    this.#presence = presence;
  }

  declare(regions: readonly Region[] | null): void {
    this.#declared = regions;
  }

  /** Removes the regions that are not declared any more. If they are declared again, they count as new. */
  drop(declared: ReadonlySet<Region>): void {
    for (const regions of [this.#entered, this.#given]) {
      for (const region of regions) if (!declared.has(region)) regions.delete(region);
    }
  }

  /** Records that the regions were given a slot, which is not decided yet. */
  gave(regions: Iterable<Region>): void {
    for (const region of regions) this.#given.add(region);
  }

  /**
   * Records that a slot of the regions is decided. "A region that had no agent for 24 h when a slot is
   * decided enters again with its next slot." Returns the regions that were not in the electorate before.
   */
  enter(regions: Iterable<Region>): Region[] {
    const joining = [...regions].filter((region) => !this.#entered.has(region));
    for (const region of this.#entered)
      if (!this.#presence.hadAgentWithin24h(region)) this.#entered.delete(region);
    for (const region of joining) this.#entered.add(region);
    return joining;
  }

  /** The regions whose votes count. The regions in `joining` count as if their slot were decided. */
  now(joining: Iterable<Region> = []): Set<Region> {
    return this.#among([...this.#entered, ...joining]);
  }

  /**
   * The electorate with all regions that were given a slot, because
   * the regions of undecided slots may still vote otherwise.
   */
  widest(): Set<Region> {
    return this.now(this.#given);
  }

  /** The regions that may be given a slot. */
  possible(): Set<Region> {
    return this.#among(WORLD_REGIONS);
  }

  /** Whether a region that may be given a slot has not entered, if the monitor declares these regions. */
  hasNewRegion(declared: readonly Region[] | null): boolean {
    return (declared ?? WORLD_REGIONS).some(
      (region) => this.#presence.hadAgentWithin24h(region) && !this.#entered.has(region),
    );
  }

  #among(regions: readonly Region[]): Set<Region> {
    const electorate = new Set<Region>();
    for (const region of regions) {
      if (this.#declared !== null && !this.#declared.includes(region)) continue;
      if (this.#presence.hadAgentWithin24h(region)) electorate.add(region);
    }
    return electorate;
  }
}

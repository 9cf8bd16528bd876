import { REGIONS, type Region } from '@svc/shared/regions.ts';

export type RegionsWithAgents = { hadAgentWithin24h(region: Region): boolean };

/** "The electorate is the monitor's regions that had an agent within 24 h, each from the first slot it was given." */
export class Electorate {
  readonly #presence: RegionsWithAgents;
  /** Regions that were given a decided slot, and those that were given an open one. */
  readonly #entered = new Set<Region>();
  readonly #given = new Set<Region>();
  /** The monitor's regions; null: any. */
  #declared: readonly Region[] | null = null;

  constructor(presence: RegionsWithAgents) {
    this.#presence = presence;
  }

  declare(regions: readonly Region[] | null): void {
    this.#declared = regions;
  }

  /** Removed regions were given nothing any more. */
  drop(declared: ReadonlySet<Region>): void {
    for (const regions of [this.#entered, this.#given]) {
      for (const region of regions) if (!declared.has(region)) regions.delete(region);
    }
  }

  /** The regions were given a slot that is not decided. */
  gave(regions: Iterable<Region>): void {
    for (const region of regions) this.#given.add(region);
  }

  /**
   * A slot of the regions is decided. "A region that had no agent for 24 h when a slot is decided enters again with its
   * next slot." Returns the new ones among them.
   */
  enter(regions: Iterable<Region>): Region[] {
    const joining = [...regions].filter((region) => !this.#entered.has(region));
    for (const region of this.#entered)
      if (!this.#presence.hadAgentWithin24h(region)) this.#entered.delete(region);
    for (const region of joining) this.#entered.add(region);
    return joining;
  }

  /** The regions whose votes count, with these as if their slot were decided. */
  now(joining: Iterable<Region> = []): Set<Region> {
    return this.#among([...this.#entered, ...joining]);
  }

  /** Includes the regions of slots that are not decided, because they may still vote otherwise. */
  widest(): Set<Region> {
    return this.now(this.#given);
  }

  /** Everyone who may ever be given a slot. */
  possible(): Set<Region> {
    return this.#among(REGIONS);
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

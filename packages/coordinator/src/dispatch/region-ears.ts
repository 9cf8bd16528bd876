import type { Bus } from '@svc/shared/bus.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { RegionEar, type RegionEarOptions } from './region-ear.ts';

export type RegionEarsOptions = Omit<RegionEarOptions, 'region' | 'bus'> & {
  readonly bus: Pick<Bus, 'isConnected' | 'subscribeApart' | 'onConnection'>;
};

/** Hears the agents of all regions, each region over a connection of its own ({@link RegionEar}). */
export class RegionEars {
  readonly #bus: RegionEarsOptions['bus'];
  readonly #ears: ReadonlyMap<Region, RegionEar>;
  #stopListening: () => void = () => {};

  constructor(options: RegionEarsOptions) {
    this.#bus = options.bus;
    this.#ears = new Map(REGIONS.map((region) => [region, new RegionEar({ ...options, region })]));
  }

  /** Regions that say more than is read, and are not heard for a while. */
  get muted(): readonly Region[] {
    return REGIONS.filter((region) => this.#ears.get(region)?.isMuted);
  }

  /** Resolves when each region is heard, or could not be for now. */
  async open(): Promise<void> {
    this.#stopListening = this.#bus.onConnection((isConnected) => {
      if (isConnected) for (const ear of this.#ears.values()) ear.busConnected();
    });
    await Promise.all([...this.#ears.values()].map((ear) => ear.open()));
  }

  /**
   * Waits until all that the agents had said is handled.
   *
   * @returns the regions of which that is so: the silence of others means nothing
   */
  async caughtUp(): Promise<ReadonlySet<Region>> {
    const caughtUp = new Set<Region>();
    const ask = async ([region, ear]: [Region, RegionEar]): Promise<void> => {
      if (await ear.caughtUp()) caughtUp.add(region);
    };
    await Promise.all([...this.#ears].map(ask));
    return caughtUp;
  }

  async close(): Promise<void> {
    this.#stopListening();
    await Promise.all([...this.#ears.values()].map((ear) => ear.close()));
  }
}

import type { Bus } from '@svc/shared/bus.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { RegionEar, type RegionEarParts } from './region-ear.ts';
import { Standstill } from './standstill.ts';

export type RegionEarsParts = Omit<RegionEarParts, 'region' | 'bus' | 'onArrival'> & {
  readonly bus: Pick<Bus, 'isConnected' | 'subscribeApart' | 'onConnection'>;
};

/** Listens to the agents of all regions, each region over a connection of its own ({@link RegionEar}). */
export class RegionEars {
  readonly #bus: RegionEarsParts['bus'];
  readonly #ears: ReadonlyMap<Region, RegionEar>;
  readonly #standstill: Standstill;
  #stopListening: () => void = () => {};

  constructor(parts: RegionEarsParts) {
    this.#bus = parts.bus;
    this.#standstill = new Standstill(parts.clock, (ms) => {
      for (const ear of this.#ears.values()) ear.stood(ms);
    });
    const onArrival = () => this.#standstill.look();
    this.#ears = new Map(REGIONS.map((region) => [region, new RegionEar({ ...parts, region, onArrival })]));
  }

  /** Regions that send more than is read, and are not heard for a while. */
  get muted(): readonly Region[] {
    return REGIONS.filter((region) => this.#ears.get(region)?.isMuted);
  }

  /** Resolves when each region is heard, or its first attempt to connect has failed. */
  async open(): Promise<void> {
    this.#standstill.start();
    this.#stopListening = this.#bus.onConnection((isConnected) => {
      for (const ear of this.#ears.values()) isConnected ? ear.busConnected() : ear.busLost();
    });
    await Promise.all([...this.#ears.values()].map((ear) => ear.open()));
  }

  /** {@link RegionEar.caughtUp} of one region; no other is waited for. Never rejects. */
  async caughtUp(region: Region): Promise<boolean> {
    return (await this.#ears.get(region)?.caughtUp()) === true;
  }

  /** Waits until all messages that agents had sent are handled, in all regions that can be heard. */
  async allCaughtUp(): Promise<void> {
    await Promise.all([...this.#ears.values()].map((ear) => ear.caughtUp()));
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#standstill.stop();
    await Promise.all([...this.#ears.values()].map((ear) => ear.close()));
  }
}

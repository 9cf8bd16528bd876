import type { LiveRegions } from '@svc/coordinator/checks/scheduler.ts';
import type { Region } from '@svc/shared/regions.ts';
import { WORLD_REGIONS } from './own-regions.ts';

/** The regions in which one life of the coordinator knows an agent. */
export class KnownAgents implements LiveRegions {
  readonly #regions = new Set<Region>();
  #liveSerial = 0;

  came(region: Region): void {
    this.#regions.add(region);
    this.#liveSerial += 1;
  }

  went(region: Region): void {
    this.#regions.delete(region);
  }

  live(): readonly Region[] {
    return WORLD_REGIONS.filter((region) => this.#regions.has(region));
  }

  isLive(region: Region): boolean {
    return this.#regions.has(region);
  }

  isSettled(): boolean {
    return true;
  }

  get liveSerial(): number {
    return this.#liveSerial;
  }
}

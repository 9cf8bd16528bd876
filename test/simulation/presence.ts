import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { VirtualClock } from './virtual-clock.ts';

const ELECTORAL_MS = 24 * 3_600_000;

/**
 * Knows which regions have an agent, and since when others have none, as the coordinator knows and stores it.
 */
export class Presence {
  readonly #clock: VirtualClock;
  readonly #live = new Set<Region>();
  readonly #lastSeenAt = new Map<Region, number>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  live(): readonly Region[] {
    return REGIONS.filter((region) => this.#live.has(region));
  }

  hadAgentWithin24h(region: Region): boolean {
    if (this.#live.has(region)) return true;
    const lastSeenAt = this.#lastSeenAt.get(region);
    return lastSeenAt !== undefined && this.#clock.monotonic() - lastSeenAt < ELECTORAL_MS;
  }

  came(region: Region): void {
    this.#live.add(region);
  }

  went(region: Region): void {
    if (this.#live.delete(region)) this.#lastSeenAt.set(region, this.#clock.monotonic());
  }
}

import type { Region } from '@svc/shared/regions.ts';
import { WORLD_REGIONS } from './own-regions.ts';
import type { VirtualClock } from './virtual-clock.ts';

const ELECTORAL_MS = 24 * 3_600_000;

/**
 * Knows which regions have an agent, and since when others have none, as the coordinator knows and stores it.
 */
export class Presence {
  readonly regions = WORLD_REGIONS;
  readonly #clock: VirtualClock;
  readonly #live = new Set<Region>();
  /** The last result of {@link live}; null: a region came or went since. */
  #inOrder: readonly Region[] | null = null;
  readonly #lastSeenAt = new Map<Region, number>();
  /**
   * The last result of {@link electable}, which is requested with every event.
   * `electableUntil`: instant until which it stays the same, monotonic ms.
   */
  #electable: ReadonlySet<Region> = new Set();
  #electableUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** The regions with an agent, in the order of all regions. */
  live(): readonly Region[] {
    this.#inOrder ??= WORLD_REGIONS.filter((region) => this.#live.has(region));
    return this.#inOrder;
  }

  hadAgentWithin24h(region: Region): boolean {
    return this.electable().has(region);
  }

  /** The regions that had an agent within 24 h. */
  electable(): ReadonlySet<Region> {
    const now = this.#clock.monotonic();
    if (now < this.#electableUntil) return this.#electable;
    const ends = WORLD_REGIONS.map((region) => [region, this.#endOf(region)] as const).filter(
      ([, end]) => now < end,
    );
    this.#electable = new Set(ends.map(([region]) => region));
    this.#electableUntil = Math.min(...ends.map(([, end]) => end));
    return this.#electable;
  }

  came(region: Region): void {
    this.#live.add(region);
    this.#inOrder = null;
    this.#electableUntil = Number.NEGATIVE_INFINITY;
  }

  went(region: Region): void {
    this.#inOrder = null;
    if (this.#live.delete(region)) this.#lastSeenAt.set(region, this.#clock.monotonic());
    this.#electableUntil = Number.NEGATIVE_INFINITY;
  }

  /** Instant from which the region has had no agent for 24 h. */
  #endOf(region: Region): number {
    if (this.#live.has(region)) return Number.POSITIVE_INFINITY;
    return (this.#lastSeenAt.get(region) ?? Number.NEGATIVE_INFINITY) + ELECTORAL_MS;
  }
}

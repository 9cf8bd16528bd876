import type { Logger } from '@svc/shared/log.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { DispatchCounters } from './counters.ts';
import type { RegionPresence } from './region-presence.ts';

/** Interval at which declared regions without an agent are checked, ms. */
const LOOK_EVERY_MS = 60_000;

export type AbsentRegionsParts = {
  readonly log: Logger;
  readonly counters: DispatchCounters;
  readonly presence: RegionPresence;
};

/** Raises the operator's alarm about regions that monitors declare and that have no agent. */
export class AbsentRegions {
  readonly #parts: AbsentRegionsParts;
  readonly #declared = new DeclaredRegions();
  #lookAt = Number.POSITIVE_INFINITY;

  constructor(parts: AbsentRegionsParts) {
    this.#parts = parts;
  }

  /** @param now monotonic, ms */
  start(now: number): void {
    this.#lookAt = now + LOOK_EVERY_MS;
  }

  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#declared.changed(before, after);
  }

  /** Whether an active monitor declares the region. */
  isDeclared(region: Region): boolean {
    return this.#declared.count(region) > 0;
  }

  /** Whether active monitors declare regions, and all of these are live. */
  areAllLive(isLive: (region: Region) => boolean): boolean {
    const declared = REGIONS.filter((region) => this.isDeclared(region));
    return declared.length > 0 && declared.every(isLive);
  }

  /** A region has lost its last agent. */
  lost(region: Region, lastSeenAt: number): void {
    this.#parts.presence.went(region, lastSeenAt);
    this.#alarm(region, 'a region that monitors declare has lost its last agent');
  }

  /**
   * To be called in every tick.
   *
   * @param now monotonic, ms
   */
  tick(now: number): void {
    if (now < this.#lookAt) return;
    this.#lookAt = now + LOOK_EVERY_MS;
    const missed = this.#parts.presence.missAbsent((region) => this.#declared.count(region) > 0);
    for (const region of missed) this.#alarm(region, 'a region that monitors declare has no agent');
  }

  #alarm(region: Region, message: string): void {
    const monitors = this.#declared.count(region);
    if (monitors === 0) return;
    this.#parts.counters.regionsLost += 1;
    this.#parts.log.error({ region, monitors }, message);
  }
}

/** The regions that active monitors declare, with the number of monitors; `null` counts for none. */
class DeclaredRegions {
  readonly #counts = new Map<Region, number>(REGIONS.map((region) => [region, 0]));

  count(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  #add(monitor: LiveMonitor | null, by: 1 | -1): void {
    if (monitor === null || !monitor.active) return;
    for (const region of monitor.regions ?? []) this.#counts.set(region, this.count(region) + by);
  }
}

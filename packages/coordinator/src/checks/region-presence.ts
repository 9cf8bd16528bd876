import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import {
  type AbsenceEdge,
  storedPresence,
  writeAbsences,
  writeLastSeen,
} from '../store/results/region-absences.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';

/** Interval at which the presence of live regions is saved, ms. */
const SAVE_EVERY_MS = 30_000;
/** Time without an agent after which the votes of a region no longer count, ms. */
const ELECTORAL_MS = 24 * 3_600_000;

export type RegionPresenceParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** The regions of the installation, in the order in which they are shown. */
  readonly regions: readonly Region[];
};

/**
 * Tracks which regions have a live agent, when every region last had one, and which
 * regions are absent. The presence is stored in the database, because the electorate
 * of a verdict depends on it. Instants are epoch ms of the wall clock.
 */
export class RegionPresence {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** The regions of the installation, in the order in which they are shown. */
  readonly regions: readonly Region[];
  #live: readonly Region[] = [];
  readonly #lastSeenAt = new Map<Region, number>();
  /** Regions whose absence has begun and has not ended yet. */
  readonly #absent = new Set<Region>();
  /** Beginnings and ends of absences that are not written yet. */
  #unsaved: AbsenceEdge[] = [];
  #saving: Promise<void> | null = null;
  /** Whether something has changed that no save has begun to write. */
  #isSaveDue = false;
  #stopTimer: () => void = () => {};
  #onCame: (region: Region) => void = () => {};

  constructor({ store, clock, log, regions }: RegionPresenceParts) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.regions = regions;
  }

  /** Loads the stored presence. It must be called before any other method. */
  async load(): Promise<void> {
    const { lastSeen, absent } = await storedPresence(this.#store);
    const known = new Set(this.regions);
    for (const { region, at } of lastSeen) if (known.has(region)) this.#lastSeenAt.set(region, at);
    for (const region of absent) if (known.has(region)) this.#absent.add(region);
  }

  start(): void {
    this.#stopTimer = this.#clock.every(SAVE_EVERY_MS, () => this.#saveSoon());
  }

  /** Stops, and saves unsaved changes. */
  async stop(): Promise<void> {
    this.#stopTimer();
    await this.#saving;
    await this.#save();
  }

  /**
   * Registers the only listener for regions that become live. The listener is called when the region already
   * counts as live. It must not throw.
   */
  onCame(listener: (region: Region) => void): void {
    this.#onCame = listener;
  }

  /** Regions with a live agent, in the fixed order. The array is replaced, never changed. */
  live(): readonly Region[] {
    return this.#live;
  }

  /** When the region last had a live agent; null: never. */
  lastSeenAt(region: Region): number | null {
    return this.#live.includes(region) ? this.#clock.wall() : (this.#lastSeenAt.get(region) ?? null);
  }

  /** Whether the region has a live agent, or had one within the last 24 h. */
  hadAgentWithin24h(region: Region): boolean {
    const lastSeenAt = this.lastSeenAt(region);
    return lastSeenAt !== null && this.#clock.wall() - lastSeenAt < ELECTORAL_MS;
  }

  /** Handles a region that has become live. */
  regionCame(region: Region): void {
    const now = this.#clock.wall();
    this.#live = this.regions.filter((each) => each === region || this.#live.includes(each));
    this.#lastSeenAt.set(region, now);
    if (this.#absent.has(region)) this.#ended(region, now);
    this.#saveSoon();
    this.#onCame(region);
  }

  /** Handles a region that lost its last live agent. The last message of the agent came at `lastSeenAt`. */
  regionLost(region: Region, lastSeenAt: number): void {
    this.#live = this.#live.filter((each) => each !== region);
    this.#lastSeenAt.set(region, lastSeenAt);
    this.#began(region, lastSeenAt);
    this.#saveSoon();
  }

  /**
   * Begins the absence of each region that should have an agent but has none: the region had an agent at some
   * time, or an active monitor declares the region. Ends the absence of a region that never had an agent and
   * that no active monitor declares any more.
   *
   * @returns the regions whose absence has begun with this call
   */
  judgeAbsences(isDeclared: (region: Region) => boolean): Region[] {
    const missed: Region[] = [];
    for (const region of this.regions) {
      if (this.#live.includes(region)) continue;
      const lastSeenAt = this.#lastSeenAt.get(region);
      const isMissed = lastSeenAt !== undefined || isDeclared(region);
      if (isMissed === this.#absent.has(region)) continue;
      if (isMissed) {
        this.#began(region, lastSeenAt ?? this.#clock.wall());
        missed.push(region);
      } else this.#ended(region, this.#clock.wall());
    }
    if (this.#unsaved.length > 0) this.#saveSoon();
    return missed;
  }

  #began(region: Region, at: number): void {
    this.#absent.add(region);
    this.#unsaved.push({ region, kind: 'began', at });
  }

  #ended(region: Region, at: number): void {
    this.#absent.delete(region);
    this.#unsaved.push({ region, kind: 'ended', at });
  }

  #saveSoon(): void {
    this.#isSaveDue = true;
    this.#saving ??= this.#saveDue();
  }

  async #saveDue(): Promise<void> {
    while (this.#isSaveDue) {
      // Further changes in this turn of the event loop are saved together.
      await Promise.resolve();
      this.#isSaveDue = false;
      await this.#save();
    }
    // No `await` lies between the last look at `#isSaveDue` and this line, so no change is lost in between.
    this.#saving = null;
  }

  /** Saves the presence. Never rejects: changes that cannot be saved are saved at the next attempt. */
  async #save(): Promise<void> {
    const absences = this.#unsaved;
    this.#unsaved = [];
    if (absences.length === 0 && this.#live.length === 0) return;
    const now = this.#clock.wall();
    for (const region of this.#live) this.#lastSeenAt.set(region, now);
    try {
      await this.#store.transaction(async (tx) => {
        await writeLastSeen(
          tx,
          [...this.#lastSeenAt].map(([region, at]) => ({ region, at })),
        );
        await writeAbsences(tx, absences);
      });
    } catch (error) {
      this.#unsaved = [...absences, ...this.#unsaved];
      this.#log.error({ error }, 'cannot save the presence of regions');
    }
  }
}

/** Interval at which regions without an agent are checked, ms. */
const LOOK_EVERY_MS = 60_000;

export type AbsentRegionsParts = {
  readonly log: Logger;
  readonly counters: DispatchCounters;
  readonly presence: RegionPresence;
};

/** Logs and counts regions that active monitors declare and that have no agent. */
export class AbsentRegions {
  readonly #parts: AbsentRegionsParts;
  readonly #declared = new DeclaredRegions();
  /** The regions of this coordinator, and those that it has logged as missing. */
  readonly #known: Set<Region>;
  #lookAt = Number.POSITIVE_INFINITY;

  constructor(parts: AbsentRegionsParts) {
    this.#parts = parts;
    this.#known = new Set(parts.presence.regions);
  }

  /** @param now monotonic, ms */
  start(now: number): void {
    this.#lookAt = now + LOOK_EVERY_MS;
  }

  declarationChanged(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#declared.recount(before, after);
    for (const region of after?.regions ?? []) if (!this.#known.has(region)) this.#missingSettings(region);
  }

  /**
   * Logs a declared region that this coordinator does not have: another coordinator of the installation has
   * it, or it was taken out of the settings. It counts as a region without agents here: no jobs are sent to
   * it, and its results are not read.
   */
  #missingSettings(region: Region): void {
    this.#known.add(region);
    this.#parts.log.error(
      { region },
      'monitors name a region that this coordinator does not have: give all coordinators the same SVC_EXTRA_REGIONS',
    );
  }

  /** Whether an active monitor declares the region. */
  isDeclared(region: Region): boolean {
    return this.#declared.count(region) > 0;
  }

  /** Whether active monitors declare any region, and all declared regions are live. */
  areAllLive(isLive: (region: Region) => boolean): boolean {
    const declared = this.#parts.presence.regions.filter((region) => this.isDeclared(region));
    return declared.length > 0 && declared.every(isLive);
  }

  /**
   * Handles a region that has lost its last agent. The last message of the agent
   * came at `lastSeenAt`, epoch ms.
   */
  regionLost(region: Region, lastSeenAt: number): void {
    this.#parts.presence.regionLost(region, lastSeenAt);
    this.#alarm(region, 'a region that monitors declare has lost its last agent');
  }

  /**
   * Called in every tick.
   *
   * @param now monotonic, ms
   */
  tick(now: number): void {
    if (now < this.#lookAt) return;
    this.#lookAt = now + LOOK_EVERY_MS;
    const missed = this.#parts.presence.judgeAbsences((region) => this.#declared.count(region) > 0);
    for (const region of missed) this.#alarm(region, 'a region that monitors declare has no agent');
  }

  #alarm(region: Region, message: string): void {
    const monitors = this.#declared.count(region);
    if (monitors === 0) return;
    this.#parts.counters.regionsLost += 1;
    this.#parts.log.error({ event: 'region-without-agent', region, monitors }, message);
  }
}

/**
 * Number of active monitors that declare each region. A monitor that declares no regions (`null`: all
 * regions) is not counted.
 */
class DeclaredRegions {
  readonly #counts = new Map<Region, number>();

  count(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  recount(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  #add(monitor: LiveMonitor | null, by: 1 | -1): void {
    if (monitor === null || !monitor.active) return;
    for (const region of monitor.regions ?? []) this.#counts.set(region, this.count(region) + by);
  }
}

import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { SlotEvents, SlotRecovery } from '../domain/slots.ts';
import type { Reported } from './early-reports.ts';
import type { InFlight } from './in-flight.ts';
import { offerBoundMs } from './job.ts';
import type { LiveRegions } from './scheduler-parts.ts';

export type RecoverParts = {
  recovery: SlotRecovery;
  /** Reports that were read; the evaluation takes them up before the events from here. */
  unrecorded: Iterable<Reported>;
  monitors: LiveMonitors;
  regions: LiveRegions;
  inFlight: InFlight;
  events: SlotEvents;
  /** The slot clock's present, epoch ms. */
  slotNow: number;
  /** ms */
  monotonic: number;
  /** Whether the streams of all regions that may have reported the monitor's slots are read. */
  isReady: (monitor: LiveMonitor) => boolean;
};

/**
 * Continues slots that were open when the coordinator ended. Regions whose agents hold the job are awaited.
 * The other regions get the job again while its bound has not passed; otherwise they abstain.
 *
 * To be called after the in-flight table was rebuilt from heartbeats, for monitors whose regions' streams are
 * read: a result that waits in a stream must not count as a lost job.
 */
export function recover(parts: RecoverParts): void {
  const { recovery, monitors, isReady } = parts;
  const waited = new WaitedFor();
  for (const { monitor, slot, region } of parts.inFlight.values()) {
    if (isReady(monitor)) waited.add(monitor, slot, region);
  }
  for (const { monitorId, slot, region } of parts.unrecorded) {
    const monitor = monitors.get(monitorId);
    if (monitor?.active === true && isReady(monitor)) waited.add(monitor, slot, region);
  }
  for (const { monitorId, slot, answered } of recovery.undecidedSlots()) {
    const monitor = monitors.get(monitorId);
    if (monitor === undefined || !monitor.active || !isReady(monitor)) continue;
    const declared = monitor.regions ?? parts.regions.live();
    const missing = declared.filter((region) => !answered.includes(region));
    waited.touch(monitor, slot);
    for (const region of missing) {
      if (waited.has(monitor, slot, region)) continue;
      if (isOfferedAgain(parts, monitor, slot, region)) waited.add(monitor, slot, region);
    }
  }
  for (const { monitor, slot, regions } of waited.slots()) recovery.resume(monitor, slot, regions);
}

export type RestartParts = Pick<RecoverParts, 'recovery' | 'regions' | 'inFlight' | 'events'> & {
  monitors: LiveMonitors;
  /** See {@link RecoverParts.unrecorded}. */
  unrecorded: () => Iterable<Reported>;
  /** Whether all that the region's stream held at the start is recorded. Asked in every tick until it is. */
  readerCaughtUp: (region: Region) => boolean;
  slotClock: { now(): number };
};

/**
 * Calls {@link recover} for monitors as the streams of their regions are read: a region's backlog delays no
 * others.
 */
export class Restart {
  readonly #parts: RestartParts;
  readonly #read = new Set<Region>();
  readonly #recovered = new Set<number>();

  constructor(parts: RestartParts) {
    this.#parts = parts;
  }

  /** To be called in every tick, once the in-flight table was rebuilt. */
  tick(now: number): void {
    if (this.#read.size === REGIONS.length) return;
    const { readerCaughtUp, recovery, unrecorded, slotClock, ...rest } = this.#parts;
    const before = this.#read.size;
    for (const region of REGIONS) {
      if (!this.#read.has(region) && readerCaughtUp(region)) this.#read.add(region);
    }
    if (this.#read.size === before) return;
    const ready = this.#newlyReady();
    recover({
      ...rest,
      recovery,
      unrecorded: unrecorded(),
      slotNow: slotClock.now(),
      monotonic: now,
      isReady: ({ id }) => ready.has(id),
    });
    if (this.#read.size === REGIONS.length) {
      this.#recovered.clear();
      recovery.resumed();
      return;
    }
    for (const id of ready) this.#recovered.add(id);
  }

  #newlyReady(): ReadonlySet<number> {
    const ready = new Set<number>();
    for (const { id, regions } of this.#parts.monitors.values()) {
      const isReady = (regions ?? REGIONS).every((region) => this.#read.has(region));
      if (isReady && !this.#recovered.has(id)) ready.add(id);
    }
    return ready;
  }
}

/** @returns whether the region may still report the slot by a new offer */
function isOfferedAgain(
  { regions, inFlight, events, slotNow, monotonic }: RecoverParts,
  monitor: LiveMonitor,
  slot: number,
  region: Region,
): boolean {
  // The agent holds the job of this slot, or that of another slot: then the job of this one was skipped or
  // given up.
  if (inFlight.get(monitor.id, region) !== undefined || !regions.isLive(region)) return false;
  const aheadMs = slot - slotNow;
  const offerMs = aheadMs + offerBoundMs(monitor.periodMs);
  if (offerMs <= 0) {
    events.abstained(monitor, slot, region, 'job-lost');
    return false;
  }
  // A slot that was opened ahead of its instant may still lie ahead.
  const startAt = monotonic + Math.max(0, aheadMs);
  inFlight.open(monitor, slot, region, startAt, Math.min(offerMs, offerBoundMs(monitor.periodMs)));
  return true;
}

type Waited = { monitor: LiveMonitor; slot: number; regions: Region[] };

/** Regions by slot. */
class WaitedFor {
  readonly #slots = new Map<string, Waited>();

  slots(): Iterable<Waited> {
    return this.#slots.values();
  }

  touch(monitor: LiveMonitor, slot: number): Waited {
    const key = `${monitor.id}:${slot}`;
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const waited: Waited = { monitor, slot, regions: [] };
    this.#slots.set(key, waited);
    return waited;
  }

  has(monitor: LiveMonitor, slot: number, region: Region): boolean {
    return this.#slots.get(`${monitor.id}:${slot}`)?.regions.includes(region) === true;
  }

  add(monitor: LiveMonitor, slot: number, region: Region): void {
    const { regions } = this.touch(monitor, slot);
    if (!regions.includes(region)) regions.push(region);
  }
}

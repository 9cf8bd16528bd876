import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { SlotSink } from '../results/evaluation.ts';
import type { InFlight } from './in-flight.ts';
import { offerBoundMs } from './job.ts';
import type { LiveRegions } from './scheduler.ts';

/** A slot of before the restart that is not decided, known from the results it has. */
export type OpenSlot = {
  readonly monitorId: number;
  readonly slot: number;
  /** Regions that have reported. */
  readonly answered: readonly Region[];
};

/** What the recorder is asked and told after a restart. */
export interface SlotRecovery {
  openSlots(): Iterable<OpenSlot>;
  /** Of the slot's regions only these may still report. */
  resume(monitor: LiveMonitor, slot: number, waitedFor: readonly Region[]): void;
  /** Every slot that is still waited for was named. */
  resumed(): void;
}

export type RecoverOptions = {
  recovery: SlotRecovery;
  monitors: LiveMonitors;
  regions: LiveRegions;
  inFlight: InFlight;
  sink: SlotSink;
  /** The slot clock's present, epoch ms. */
  slotNow: number;
  /** ms */
  monotonic: number;
};

/**
 * Goes on with slots that were open when the coordinator ended. Regions whose agents hold the job are
 * waited for; the rest are offered it again while its bound has not passed, else they abstain.
 *
 * To be called when the in-flight table was rebuilt from heartbeats and the reader has caught up: a
 * result that waits in the stream must not be mistaken for a lost job.
 */
export function recover(options: RecoverOptions): void {
  const { recovery, monitors } = options;
  const waited = new WaitedFor();
  for (const job of options.inFlight.values()) waited.add(job.monitor, job.slot, job.region);
  for (const { monitorId, slot, answered } of recovery.openSlots()) {
    const monitor = monitors.get(monitorId);
    if (monitor === undefined || !monitor.active) continue;
    const declared = monitor.regions ?? options.regions.live();
    const missing = declared.filter((region) => !answered.includes(region));
    waited.touch(monitor, slot);
    for (const region of missing) {
      if (isOfferedAgain(options, monitor, slot, region)) waited.add(monitor, slot, region);
    }
  }
  for (const { monitor, slot, regions } of waited.slots()) recovery.resume(monitor, slot, regions);
  recovery.resumed();
}

/** @returns whether the region may still report the slot by a new offer */
function isOfferedAgain(
  { regions, inFlight, sink, slotNow, monotonic }: RecoverOptions,
  monitor: LiveMonitor,
  slot: number,
  region: Region,
): boolean {
  // Its agent holds this slot's job, or another's: then this one's was skipped or given up.
  if (inFlight.get(monitor.id, region) !== undefined || !regions.isLive(region)) return false;
  const offerMs = slot + offerBoundMs(monitor.periodMs) - slotNow;
  if (offerMs <= 0) {
    sink.abstained(monitor, slot, region, 'job-lost');
    return false;
  }
  inFlight.open(monitor, slot, region, monotonic, offerMs);
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

  add(monitor: LiveMonitor, slot: number, region: Region): void {
    const { regions } = this.touch(monitor, slot);
    if (!regions.includes(region)) regions.push(region);
  }
}

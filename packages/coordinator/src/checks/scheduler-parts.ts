import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import type { SlotEvents } from '../verdict/slots.ts';
import type { DispatchCounters } from './counters.ts';
import type { OpenJobs } from './open-jobs.ts';
import type { SlotClock } from './slot-clock.ts';

/** The regions as scheduling needs them; the registry of agents implements it. */
export interface LiveRegions {
  live(): readonly Region[];
  isLive(region: Region): boolean;
  /** Whether no region came to life just now. */
  isSettled(): boolean;
  /** Grows with every region that comes to life. */
  readonly liveSerial: number;
}

/** A slot whose time has come. */
export type AskingSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /** It is the monitor's first one since it was declared, activated or probed otherwise. */
  readonly isFirst: boolean;
  /** Time since the slot, ms. */
  readonly lateMs: number;
};

/** Decides which slots are skipped when more is requested than can be done. */
export interface Shedding {
  /** Whether the slot is run at all. Called once per slot. */
  admitsSlot(monitor: LiveMonitor, asking: AskingSlot, jobs: number): boolean;
  /** Whether it is run in the region. Called once per slot and region. */
  admits(monitor: LiveMonitor, asking: AskingSlot, region: Region): boolean;
}

export type SchedulerParts = {
  monitors: LiveMonitors;
  slotClock: SlotClock;
  regions: LiveRegions;
  jobs: OpenJobs;
  events: SlotEvents;
  counters: DispatchCounters;
  overload: Shedding;
  /** Newest slot that the monitor was given, as far as recorded and believed; null: none. Asked at the start. */
  newestSlot: (monitorId: number) => number | null;
  /** Slots up to this one are not about what is probed now; 0: none is known. Asked at the start. */
  floorSlot: (monitorId: number) => number;
};

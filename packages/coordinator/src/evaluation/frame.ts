import type { LiveMonitor } from '../domain/monitor.ts';
import type { RegionSet } from '../domain/region-set.ts';
import type { MonitorState } from './state.ts';
import type { ChangeOfStatus, Writes } from './writes.ts';

/** The instants of one evaluation: everything in it happens at once. */
export type Instants = {
  /** The system's clock, whole epoch ms. */
  readonly wall: number;
  /** The slots' clock, whole epoch ms. */
  readonly slotNow: number;
  /** For deadlines of slots, ms. */
  readonly monotonic: number;
  /** What the slots' clock has jumped forward so far, ms: votes are older by as much than the monotonic clock says. */
  readonly jumpedMs: number;
  /** Monotonic instant of its last jump. Null: there was none. */
  readonly jumpedAt: number | null;
};

/** A change of status, told after its commit. */
export type StatusChange = ChangeOfStatus & { readonly monitor: LiveMonitor };

/** What the parts of one evaluation share. */
export type Frame = {
  readonly instants: Instants;
  /** For ages of votes, ms: see `Vote.expiresAt`. */
  readonly now: number;
  /** End of the last jump of the slots' clock, as `now`; -Infinity: there was none. */
  readonly jumpedAt: number;
  /**
   * False after a start, until what was reported meanwhile is read: no slot of the monitor is decided for its
   * time then, because the reports that it waits for may come with the next message.
   */
  readonly isTimeUp: (monitorId: number) => boolean;
  /** Results with a slot before it (epoch ms) have their hour rolled up again. */
  readonly rolledUpUntil: number;
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** Whether nothing is announced about the monitor now. */
  readonly isHeld: (monitorId: number) => boolean;
  /** Whether channels of this kind are told of an incident that ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /** A key that no other installation makes: of an incident or a delivery. */
  readonly newKey: () => string;
  readonly writes: Writes;
  /** Changes of status, in order. */
  readonly changes: StatusChange[];
  /** States that are written at the end, whatever else happens to them. */
  readonly unwritten: Set<MonitorState>;
  /** Slots that were decided with reports. */
  readonly decided: { readonly state: MonitorState; readonly slot: number }[];
};

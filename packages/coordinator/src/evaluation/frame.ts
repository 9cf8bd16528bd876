import type { LiveMonitor } from '../domain/monitor.ts';
import type { RegionSet } from '../domain/region-set.ts';
import type { MonitorState } from './state.ts';
import type { ChangeOfStatus, ReportedResult, Writes } from './writes.ts';

/** The instants of one evaluation. Everything in it happens at one moment. */
export type Instants = {
  /** The system's clock, whole epoch ms. */
  readonly wall: number;
  /** The slots' clock, whole epoch ms. */
  readonly slotNow: number;
  /** Clock of the slots' deadlines, ms. */
  readonly monotonic: number;
  /**
   * Sum of the forward jumps of the slots' clock so far, ms. Votes are older by this much than the monotonic
   * clock says.
   */
  readonly jumpedMs: number;
  /** Monotonic instant of its last jump; null: there was none. */
  readonly jumpedAt: number | null;
};

/** A change of status, told after its commit. */
export type StatusChange = ChangeOfStatus & { readonly monitor: LiveMonitor };

/** The data that the parts of one evaluation share. */
export type Frame = {
  readonly instants: Instants;
  /** Clock of the votes' ages, ms: see `Vote.expiresAt`. */
  readonly now: number;
  /** End of the last jump of the slots' clock, on the clock of `now`; -Infinity: there was none. */
  readonly jumpedAt: number;
  /**
   * Whether slots of the monitor may be decided because their time is up. It is false after a start until the
   * reports from before are read, because the next message may hold the reports that a slot waits for.
   */
  readonly isTimeUp: (monitorId: number) => boolean;
  /** Whether the reports from before a start are read, so that channels may be told a status that stands. */
  readonly isResumed: (monitorId: number) => boolean;
  /** Results with a slot before this instant (epoch ms) have their hour rolled up again. */
  readonly rolledUpUntil: number;
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** Whether announcements about the monitor are held back now. */
  readonly isHeld: (monitorId: number) => boolean;
  /** Whether channels of this kind are told of an incident that ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /** Makes a key of a delivery that no other installation makes. */
  readonly newKey: () => string;
  /** Makes a key of an incident of the monitor that no other installation makes. */
  readonly newIncidentKey: (monitorId: number) => string;
  readonly writes: Writes;
  /** Changes of status, in order. */
  readonly changes: StatusChange[];
  /** Number of decisions, changes of status and alerts so far, by which the journal knows an event with an effect. */
  effects: number;
  /** States that are written at the end in any case. */
  readonly unwritten: Set<MonitorState>;
  /** Results that are recorded and can be no vote, for example those of a region that is not the monitor's any more. */
  readonly recordedOnly: Set<ReportedResult>;
  /** The first slot of each state that was decided with reports. */
  readonly decided: Map<MonitorState, number>;
};

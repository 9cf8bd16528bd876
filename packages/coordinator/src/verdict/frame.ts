import type { DerivedIds } from './derived-ids.ts';
import type { LiveMonitor } from './monitor.ts';
import type { RegionSet } from './region-set.ts';
import type { MonitorState } from './state.ts';
import type { ChangeOfStatus, Writes } from './writes.ts';

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

/** A change of status. Listeners get it after the commit. */
export type StatusChange = ChangeOfStatus & { readonly monitor: LiveMonitor };

/** The data that the parts of one evaluation share. */
export type Frame = {
  readonly instants: Instants;
  /** Clock of the votes' ages, ms: see `Vote.expiresAt`. */
  readonly now: number;
  /** End of the last jump of the slots' clock, on the clock of `now`; -Infinity: there was none. */
  readonly jumpedAt: number;
  /**
   * Whether the reports from before the start are read. Until then no slot is decided by its deadline,
   * because the next message may contain the missing reports.
   */
  isResumed: boolean;
  /** Results with a slot before this instant (epoch ms) have their hour rolled up again. */
  readonly rolledUpUntil: number;
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** Whether announcements about the monitor are held back now. */
  readonly isHeld: (state: Readonly<MonitorState>) => boolean;
  /** Whether channels of this kind get an alert when an incident ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  readonly ids: Pick<DerivedIds, 'incidentKey' | 'alertId'>;
  readonly writes: Writes;
  /** Changes of status, in order. */
  readonly changes: StatusChange[];
  /** States to be written as a whole at the end. */
  readonly unwritten: Set<MonitorState>;
  /** States whose votes and open slots are written at the end. */
  readonly moved: Set<MonitorState>;
};

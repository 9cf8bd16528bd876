import type { DerivedIds } from './derived-ids.ts';
import type { LiveMonitor } from './monitor.ts';
import type { RegionSet } from './region-set.ts';
import type { MonitorState } from './state.ts';
import type { ChangeOfStatus, Writes } from './writes.ts';

/** The instants of one evaluation. All its events count as happening at these instants. */
export type Instants = {
  /** The system's clock, whole epoch ms. */
  readonly wall: number;
  /** The slots' clock, whole epoch ms. */
  readonly slotNow: number;
  /** The present on the monotonic clock, on which slots have their deadlines, ms. */
  readonly monotonic: number;
  /**
   * Sum of the forward jumps of the slots' clock so far, ms. It is added to the monotonic clock to give the
   * clock on which votes expire.
   */
  readonly jumpedMs: number;
  /** Monotonic instant at which the last jump of the slots' clock was noticed, ms; null: it has not jumped. */
  readonly jumpedAt: number | null;
};

/** A change of status. Listeners get it after the commit. */
export type StatusChange = ChangeOfStatus & { readonly monitor: LiveMonitor };

/** The data that the parts of one evaluation share. */
export type Frame = {
  readonly instants: Instants;
  /** The current time on the clock by which votes expire, ms (see `Vote.expiresAt`). */
  readonly now: number;
  /**
   * Instant at which the last jump of the slots' clock was noticed, ms on the clock on which votes expire;
   * -Infinity: the slots' clock has not jumped.
   */
  readonly jumpedAt: number;
  /**
   * Whether all reports from before the start have been read. Until then no slot is decided by its deadline,
   * because the next message may contain the missing reports.
   */
  isResumed: boolean;
  /**
   * The hours before this instant (epoch ms) are rolled up, or are being rolled up. A result with an earlier slot
   * causes its hour to be rolled up again.
   */
  readonly rolledUpUntil: number;
  /** Regions that had an agent within 24 h. */
  readonly electable: RegionSet;
  /** Whether announcements about the monitor are held back now. */
  readonly isHeld: (state: Readonly<MonitorState>) => boolean;
  /** Whether channels of this kind get an alert when an incident ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  readonly ids: Pick<DerivedIds, 'incidentKey' | 'alertId'>;
  readonly writes: Writes;
  /** The changes of status that the evaluation has made, in order. */
  readonly changes: StatusChange[];
  /** States that are written as a whole at the end, with their votes and open slots. */
  readonly unwritten: Set<MonitorState>;
  /** States of which the votes and open slots are written at the end. The rest is written if they are `unwritten`. */
  readonly moved: Set<MonitorState>;
};

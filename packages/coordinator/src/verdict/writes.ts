import type { Alert, Closure } from '@svc/shared/channels/alert.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { MonitorStatus } from './monitor.ts';
import type { MonitorState, ReasonInterval } from './state.ts';
import type { Vote } from './status.ts';
import type { Announced, TransitionReason } from './transition.ts';

/**
 * A region's report about a slot. It is recorded unless the region's outcome of the slot is recorded already.
 */
export type ReportedResult = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly agent: string;
};

/** A slot that a region will not report. */
export type Abstention = {
  readonly monitorId: number;
  readonly version: number;
  readonly slot: number;
  readonly region: Region;
  readonly reason: NotRunReason;
};

export type MonitorSlot = { readonly monitorId: number; readonly slot: number };

/** A vote with whether it counted for the verdict. */
export type CountedVote = Vote & { readonly counted: boolean };

export type ChangeOfStatus = {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly reason: TransitionReason;
  /** Epoch ms. */
  readonly at: number;
  /** The slot that made the change; null: no slot did (ageing, a changed declaration). */
  readonly slot: number | null;
  readonly votes: readonly CountedVote[];
};

/** A change of status, as it is stored. */
export type NewTransition = ChangeOfStatus & {
  readonly monitorId: number;
  readonly incident: string | null;
};

/** A reason that began while the status stayed. */
export type NewInterval = Omit<NewTransition, 'from' | 'to'> & {
  readonly status: MonitorStatus;
};

/** An interval that continues. */
export type LongerInterval = ReasonInterval & { readonly monitorId: number };

export type NewDelivery = {
  /** Id of the delivery (`DerivedIds`), the same on every attempt. */
  readonly uid: string;
  readonly notificationId: number;
  readonly monitorId: number;
  readonly alert: Alert;
  /** Epoch ms. */
  readonly queuedAt: number;
};

/** A vote as it is stored. */
export type StoredVote = Omit<Vote, 'expiresAt'> & {
  /**
   * How much earlier the vote expires than by its age on the slots' clock, ms; negative: later. That clock is
   * slewed, and votes age by the monotonic clock. The expiry also depends on `at` and on the monitor's
   * period, which may change before a start.
   */
  readonly agedMs: number;
};

/** The stored part of a state beside its votes. It changes seldom. */
export type WrittenState = Readonly<
  Pick<
    MonitorState,
    'id' | 'status' | 'statusSlot' | 'since' | 'reason' | 'version' | 'floorSlot' | 'entered' | 'incident'
  >
>;

/** A monitor's votes and open slots as they are stored. They change with each slot. */
export type WrittenVotes = {
  readonly id: number;
  /** Newest decided slot, epoch ms; 0 before the first. */
  readonly decidedSlot: number;
  /** Epoch ms on the slots' clock. */
  readonly writtenAt: number;
  readonly votes: readonly StoredVote[];
  /** Undecided slots with a report, and those before the newest decided one, oldest first. */
  readonly open: readonly { readonly slot: number; readonly reports: readonly StoredVote[] }[];
};

/** Everything that an evaluation produces, by kind. It is written in one transaction or not at all. */
export type Writes = {
  /** Epoch ms of the wall clock. */
  readonly recordedAt: number;
  readonly results: ReportedResult[];
  readonly abstentions: Abstention[];
  /** Slots off the grid of their monitor's period. Without them a monitor's results cannot be found. */
  readonly offGridSlots: MonitorSlot[];
  /** Hours that were rolled up already and got another result. */
  readonly repairs: MonitorSlot[];
  readonly states: WrittenState[];
  readonly votes: WrittenVotes[];
  /** Removed monitors, whose votes are removed with them. */
  readonly removed: number[];
  readonly transitions: NewTransition[];
  readonly intervals: NewInterval[];
  readonly longerIntervals: LongerInterval[];
  readonly openedIncidents: { readonly key: string; readonly monitorId: number; readonly at: number }[];
  readonly closedIncidents: { readonly key: string; readonly at: number; readonly closure: Closure | null }[];
  readonly announcements: {
    readonly monitorId: number;
    readonly notificationId: number;
    /**
     * Kind of the channel that got the announcement. If the channel has another kind by now, the announcement
     * does not count for it.
     */
    readonly providerType: string;
    readonly announced: Announced;
    readonly incident: string | null;
  }[];
  readonly deliveries: NewDelivery[];
};

export function noWrites(recordedAt: number): Writes {
  return {
    recordedAt,
    results: [],
    abstentions: [],
    offGridSlots: [],
    repairs: [],
    states: [],
    votes: [],
    removed: [],
    transitions: [],
    intervals: [],
    longerIntervals: [],
    openedIncidents: [],
    closedIncidents: [],
    announcements: [],
    deliveries: [],
  };
}

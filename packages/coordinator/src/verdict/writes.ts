import type { Alert, Closure } from '@svc/shared/channels/alert.ts';
import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { SlotVerdict } from './confirmation.ts';
import type { MonitorStatus } from './monitor.ts';
import type { MonitorState, ReasonInterval } from './state.ts';
import type { Vote } from './status.ts';
import type { Announced, TransitionReason } from './transition.ts';

/** A region's report about a slot, to be recorded. */
export type ReportedResult = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly agent: string;
};

/** A slot that a region will not report. It is recorded as `not_run`, unless the region has a report about it. */
export type Abstention = {
  readonly monitorId: number;
  readonly version: number;
  readonly slot: number;
  readonly region: Region;
  readonly reason: NotRunReason;
};

export type MonitorSlot = { readonly monitorId: number; readonly slot: number };

/** A vote, and whether it counted for the verdict. */
export type CountedVote = Vote & { readonly counted: boolean };

export type ChangeOfStatus = {
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  readonly reason: TransitionReason;
  /** When the status changed, epoch ms. */
  readonly at: number;
  /**
   * The slot that made the change, epoch ms; null: no slot did (votes expired, or the declaration changed).
   */
  readonly slot: number | null;
  readonly votes: readonly CountedVote[];
};

/** A change of status in the form in which it is stored. */
export type NewTransition = ChangeOfStatus & {
  readonly monitorId: number;
  readonly incident: string | null;
};

/** A reason that an unchanged status has from now on. */
export type NewInterval = Omit<NewTransition, 'from' | 'to'> & {
  readonly status: MonitorStatus;
};

/** An interval that has become longer. */
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
   * Time by which the vote expires earlier than its age on the slots' clock says, ms; negative: later. The
   * expiry differs because the slots' clock is slewed and votes age by the monotonic clock, or because
   * overload has lengthened it. The expiry itself is not stored, because it also depends on the monitor's
   * period, which may change before the next start.
   */
  readonly agedMs: number;
};

/** The part of a state that is stored separately from its votes and open slots, because it changes seldom. */
export type WrittenState = Readonly<
  Pick<
    MonitorState,
    'id' | 'status' | 'statusSlot' | 'since' | 'reason' | 'version' | 'floorSlot' | 'entered' | 'incident'
  >
>;

/** A monitor's votes, verdicts and open slots, in the form in which they are stored. They change with each slot. */
export type WrittenVotes = {
  readonly id: number;
  /** See `MonitorState.decidedSlot`. */
  readonly decidedSlot: number;
  /** When these votes and slots were written, epoch ms on the slots' clock. */
  readonly writtenAt: number;
  readonly votes: readonly StoredVote[];
  readonly verdicts: readonly SlotVerdict[];
  /** Undecided slots that have a report or are not newer than `decidedSlot`, oldest first. */
  readonly open: readonly { readonly slot: number; readonly reports: readonly StoredVote[] }[];
};

/** Everything that an evaluation produces, by kind. It is written in one transaction or not at all. */
export type Writes = {
  /** Epoch ms of the wall clock. */
  readonly recordedAt: number;
  readonly results: ReportedResult[];
  readonly abstentions: Abstention[];
  /**
   * Slots off the grid of their monitor's period. Without these rows, the results of
   * such slots could not be found again.
   */
  readonly offGridSlots: MonitorSlot[];
  /**
   * Monitors, each with the slot of a result, or with an instant of a day whose times in each status
   * change. The hour of this slot or instant was rolled up before, and is rolled up again with the
   * times of its day.
   */
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
     * Kind of the channel that got the announcement. If the channel got another kind since, the announcement
     * does not count for the channel.
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

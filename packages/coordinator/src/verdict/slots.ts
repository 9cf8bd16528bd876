import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from './monitor.ts';

/**
 * The events of slots. Dispatch reports them in their order. The calls are synchronous and cheap: the
 * evaluation handles the events with the next transaction.
 */
export interface SlotEvents {
  /**
   * The slot is given to these regions. They all get a job of it, except the regions that `skipped` or `leftOut`
   * names right afterwards. Called once for each slot in a leadership, before the first job of the slot is published. A
   * slot that is left out in all regions is not opened.
   */
  opened(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void;
  /** The region will not report the slot. It is recorded as `not_run` with the reason. */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void;
  /**
   * The region gets no job of the slot, because its check of an earlier slot still runs. The skipped job is
   * counted, but not stored as a row.
   */
  skipped(monitor: LiveMonitor, slot: number, region: Region): void;
  /**
   * These regions get no job of the slot because of overload. The slot need not be open. The regions' votes
   * count for one more period. The jobs left out are counted, but not stored as rows.
   */
  leftOut(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void;
}

/** The outcome of a region's check of a slot, after the commit that recorded it. */
export type SlotOutcome = {
  readonly monitorId: number;
  readonly slot: number;
  readonly region: Region;
  /**
   * `reported`: the region has answered, possibly by a repeated result. `given-back`: its job will be offered
   * again.
   */
  readonly is: 'reported' | 'given-back';
  /** Whether the last attempt ended by its time-out. */
  readonly timedOut: boolean;
  /** The reason, if the outcome is `not_run`. */
  readonly reason?: NotRunReason | undefined;
};

/** The calls by which the recorder asks dispatch about results and reports results to it. */
export interface SlotOutcomes {
  /**
   * Whether the job of this `not_run` is offered again, so that the region has not answered yet. The recorder
   * asks this when it evaluates the result. The call changes nothing.
   */
  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean;
  /**
   * The region's outcome has arrived and waits to be recorded; the stream keeps it until then. The region's
   * check is over, so the next slot need not wait for this check or for the disk.
   *
   * @param tookMs duration of the check; null: the agent may have held the report back, because it first
   *   checks whether its own network caused the failure
   */
  resultArrived(monitorId: number, slot: number, region: Region, tookMs: number | null): void;
  /**
   * The outcome is committed. A job that was given back is offered again now, or abstains when the time limit
   * for offering it again has passed.
   */
  outcomeRecorded(outcome: SlotOutcome): void;
}

/** The call by which dispatch ends the recovery after a restart. */
export interface SlotRecovery {
  /**
   * Ends the recovery: the streams are read up to the restart, and slots from before the restart no longer
   * wait for any region.
   */
  endResumption(): void;
}

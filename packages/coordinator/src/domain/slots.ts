import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from './monitor.ts';

/** Why a region is given no job of a slot that other regions have. */
const SKIP_REASONS = [
  /** The region's check of an earlier slot of the same version still runs. */
  'predecessor-running',
  /** The region's agents cannot run all of its checks. */
  'overloaded',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/**
 * What dispatch tells about slots, in the order in which it happens. Synchronous and cheap: the evaluation
 * takes it up with the next transaction.
 */
export interface SlotEvents {
  /** The slot exists and these regions are given it. Once per slot, before its first job is published. */
  opened(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void;
  /** The region will not report the slot. It is recorded as `not_run` with the reason. */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void;
  /** The region gets no job of the slot. Counted, no row. */
  skipped(monitor: LiveMonitor, slot: number, region: Region, reason: SkipReason): void;
}

/** What became of a region's part of a slot, told after the commit that recorded it. */
export type SlotOutcome = {
  readonly monitorId: number;
  readonly slot: number;
  readonly region: Region;
  /** `reported`: the region has answered, also by a repeated result. `given-back`: its job is to be offered again. */
  readonly is: 'reported' | 'given-back';
  /** The last attempt ended by its time-out. */
  readonly timedOut: boolean;
  /** Of a `not_run`. */
  readonly reason?: NotRunReason | undefined;
};

/** What dispatch is asked and told about results. */
export interface SlotOutcomes {
  /**
   * Whether the job behind this `not_run` is offered again, so that the region has not answered yet. Asked
   * when the result is evaluated; changes nothing.
   */
  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean;
  /**
   * The region's outcome has come and waits to be recorded; the stream keeps it until then. Its check runs no
   * more, so the next slot waits for nothing, least of all for a disk.
   *
   * @param tookMs from the beginning of the check to its end; null where its agent may have kept the report back for
   * reasons of its own: it finds out first whether a failure is its own network's
   */
  arrived(monitorId: number, slot: number, region: Region, tookMs: number | null): void;
  /** After the commit. A job that was given back is offered again now, or abstains when its bound has passed. */
  settled(outcome: SlotOutcome): void;
}

/** A slot of before the restart that is not decided, known from the results it has. */
export type UndecidedSlot = {
  readonly monitorId: number;
  readonly slot: number;
  /** Regions that have reported. */
  readonly answered: readonly Region[];
};

/** What dispatch asks and tells after a restart, when it has heard the agents. */
export interface SlotRecovery {
  undecidedSlots(): Iterable<UndecidedSlot>;
  /** Of the slot's regions only these may still report. */
  resume(monitor: LiveMonitor, slot: number, waitedFor: readonly Region[]): void;
  /**
   * Every slot of these monitors that is still waited for was named: others wait for nobody. Without a list, once and
   * at the end: those of all.
   */
  resumed(monitorIds?: Iterable<number>): void;
}

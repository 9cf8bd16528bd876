import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import type { Transaction } from '../store/store.ts';

/**
 * What dispatch tells the evaluation about slots. Synchronous and cheap; the recording happens in the
 * recorder's next transaction.
 */
export interface SlotSink {
  /** The slot exists and these regions were given it; called once per slot, before its first job is published. */
  opened(monitor: LiveMonitor, slot: number, regions: readonly Region[]): void;
  /** This region will not report the slot: recorded as `not_run` with the reason. */
  abstained(monitor: LiveMonitor, slot: number, region: Region, reason: NotRunReason): void;
  /** The region's check of an earlier slot still runs: counted, no row. */
  skipped(monitor: LiveMonitor, slot: number, region: Region): void;
}

/** What dispatch tells after a restart, when it has heard the agents; the recorder implements it. */
export interface Resumption {
  /** Per slot that agents still work on or that is offered again: only these regions may still report. */
  resume(monitor: LiveMonitor, slot: number, waitedFor: readonly Region[]): void;
  /** All of them were named: other undecided slots wait for nobody. Once, after the stream's reader has caught up. */
  resumed(): void;
}

/** What changes of the declaration do to states, votes, incidents and announcements, inside the declaring transaction. */
export interface DeclarationEffects {
  /** `before` null: created; `after` null: deleted (called before the row goes). */
  monitorChanged(tx: Transaction, before: LiveMonitor | null, after: LiveMonitor | null): void;
  /** A channel was linked: during an incident it is told the current status. The `links` row is written here. */
  linked(tx: Transaction, monitorId: number, notificationId: number): void;
  /** A channel was unlinked: on incident kinds the incident is resolved there. The `links` row is removed here. */
  unlinked(tx: Transaction, monitorId: number, notificationId: number): void;
  /** The channel goes altogether: its links end and its queue is dropped (no alert is sent). Called before the row goes. */
  channelDeleted(tx: Transaction, notificationId: number): void;
}

import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ExportNote } from '../store/export-totals.ts';
import type { RecordingStore } from '../store/results/recording-store.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import type { LiveWindow, Windows } from '../verdict/maintenance-window.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import type { SlotOutcomes } from '../verdict/slots.ts';
import type { States } from '../verdict/state.ts';
import type { NewDelivery } from '../verdict/writes.ts';
import type { DropLog } from './drop-log.ts';
import type { RecordedResult } from './result-feed.ts';

/* The parts that the recorder needs, as interfaces. */

/**
 * Says which regions had an agent within the last 24 h. The evaluation needs this for the electorate.
 * `RegionPresence` implements this.
 */
export interface RecentRegions {
  /** Whether the region has a live agent, or had one within the last 24 h. */
  hadAgentWithin24h(region: Region): boolean;
  /** The regions of the installation. */
  readonly regions: readonly Region[];
}

/** The slots' clock. `SlotClock` implements this. */
export interface SlotTime {
  /** The present, whole epoch ms. It never goes back. */
  now(): number;
  /**
   * Sum of the clock's forward jumps so far, ms. It is added to the monotonic clock to give the clock on
   * which votes expire.
   */
  readonly jumpedMs: number;
  /** Monotonic instant of the clock's last jump, ms; null: the clock never jumped. */
  readonly jumpedAt: number | null;
  /**
   * The newest recorded slot in the future, which was given while a clock was ahead, epoch ms; null: there is
   * no such slot. It is determined at the start.
   */
  readonly aheadSlot: number | null;
  /**
   * Registers a listener for jumps. Any reading of the clock may call the listener, before the reading
   * returns.
   */
  onJump(listener: () => void): () => void;
}

/** Checks the proof that a job was given to the region. `JobTokens` implements this. */
export interface TokenCheck {
  isValid(token: string, monitor: number, region: Region, slot: number): boolean;
}

/** Exports recorded results. `MetricsExport` implements this. */
export interface ExportNotes {
  /**
   * The exported part of these results, which is written in the transaction of the results; null: no result
   * is exported.
   */
  makeExportNote(recorded: readonly RecordedResult[]): ExportNote | null;
  /** Called after the commit, in the order of the transactions. */
  countExportNote(note: ExportNote): void;
}

export type RecorderParts = {
  readonly store: RecordingStore;
  readonly states: States;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  /** The maintenance windows. `MaintenanceHold` implements this. */
  readonly maintenance: {
    readonly windows: Windows;
    /**
     * Called after each commit with the windows that were created, changed or removed (null). `since` is the
     * instant of the evaluation, epoch ms on the slots' clock.
     */
    changeWindows(changes: ReadonlyMap<number, LiveWindow | null>, since: number): void;
  };
  readonly presence: RecentRegions;
  /**
   * The hours before `claimedUntil` (epoch ms) are rolled up already. A result with an earlier slot has its
   * hour rolled up again. `Rollups` implements this.
   */
  readonly rollups: { readonly claimedUntil: number };
  readonly tokens: TokenCheck;
  readonly slots: SlotOutcomes;
  readonly clock: Clock;
  readonly slotClock: SlotTime;
  readonly log: Logger;
  readonly ids: Pick<DerivedIds, 'incidentKey' | 'alertId'>;
  /** Whether channels of this kind get an alert when an incident ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /** The export of metrics; undefined: nothing is exported. */
  readonly exports?: ExportNotes | undefined;
  /** Called with the valid results of a message before the message is queued. */
  readonly onResults: (results: readonly CheckResult[]) => void;
  /** Whether a backlog holds announcements about the monitor now. */
  readonly isHeld: (monitorId: number) => boolean;
  /**
   * Called after the commit and before the next batch, when a new or changed declaration of a monitor takes
   * effect (null: the monitor was removed).
   */
  readonly onDeclared: (monitorId: number, monitor: LiveMonitor | null) => void;
  /** Called after the commit, when a declared channel was changed or removed. */
  readonly onChannel?: (kind: 'channel' | 'channel-removed', notificationId: number) => void;
  /**
   * Called after the commit for each delivery that was queued. If the answer to the commit was lost, it is also called
   * for those that were not queued.
   */
  readonly onQueued: (delivery: NewDelivery) => void;
};

/** The kinds of event that the recorder counts and logs without flooding the log. */
export const DROPS = [
  'bad-token',
  'unknown-monitor',
  /** An event of dispatch was dropped while the database accepted no writes. */
  'event-overflow',
  /**
   * An event cannot be recorded although the database works. The event was set aside, so that other events
   * are recorded.
   */
  'unrecordable',
  /**
   * A monitor became `unknown`, and not because it was deactivated or its probed attributes changed. Nothing
   * was dropped, but the operator should look at the cause.
   */
  'monitor-unknown',
] as const;

export type RecorderDrops = DropLog<(typeof DROPS)[number]>;

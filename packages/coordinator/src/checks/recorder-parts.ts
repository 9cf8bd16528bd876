import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ExportNote } from '../store/export-totals.ts';
import type { RecordingStore } from '../store/results/recording-store.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import type { Windows } from '../verdict/maintenance-window.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import type { SlotOutcomes } from '../verdict/slots.ts';
import type { States } from '../verdict/state.ts';
import type { NewDelivery } from '../verdict/writes.ts';
import type { DropLog } from './drop-log.ts';
import type { RecordedResult } from './result-feed.ts';

/* The parts that the recorder needs, as interfaces. */

/** The facts about regions that the evaluation needs. `RegionPresence` implements this. */
export interface RecentRegions {
  /** Whether the region has a live agent, or had one within the last 24 h. */
  hadAgentWithin24h(region: Region): boolean;
}

/** The slots' clock. `SlotClock` implements this. */
export interface SlotTime {
  /** Whole epoch ms; never goes back. */
  now(): number;
  /** Sum of its forward jumps so far, ms. Votes are older by this much than the monotonic clock says. */
  readonly jumpedMs: number;
  /** Monotonic instant of the last jump; null: there was none. */
  readonly jumpedAt: number | null;
  /**
   * The newest recorded slot in the future, given under a clock that was ahead; null: none. Found at the
   * start.
   */
  readonly aheadSlot: number | null;
  /** Registers a listener for jumps. It runs in the middle of any read of the clock. */
  onJump(listener: () => void): () => void;
}

/** Checks the proof that a job was given to the region. `JobTokens` implements this. */
export interface TokenCheck {
  isValid(token: string, monitor: number, region: Region, slot: number): boolean;
}

/** Exports recorded results. `MetricsExport` implements this. */
export interface ExportNotes {
  /** The exported part of these results, which is written in their transaction; null: nothing. */
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
     * Called after the commit, when a window was created, changed or removed. `since` is the instant of the
     * evaluation, epoch ms on the slots' clock.
     */
    replaceWindows(windows: Windows, since: number): void;
  };
  readonly presence: RecentRegions;
  /**
   * A result with a slot before `claimedUntil` (epoch ms) has its hour rolled up again. `Rollups` implements
   * this.
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
  /** Undefined: nothing is exported. */
  readonly exports?: ExportNotes | undefined;
  /** Called for the results of a message that will be evaluated. */
  readonly onResults: (results: readonly CheckResult[]) => void;
  /** Whether announcements about the monitor are held back now. */
  readonly isHeld: (monitorId: number) => boolean;
  /**
   * Called after the commit and before the next batch, when a declared monitor takes effect (null: it is
   * gone).
   */
  readonly onDeclared: (monitorId: number, monitor: LiveMonitor | null) => void;
  /** Called after the commit, when a declared channel was changed or removed. */
  readonly onChannel?: (kind: 'channel' | 'channel-removed', notificationId: number) => void;
  /** Called after the commit, when a delivery is queued. */
  readonly onQueued: (id: number, delivery: NewDelivery) => void;
};

/** The kinds of event that the recorder counts and logs without flooding the log. */
export const DROPS = [
  'bad-token',
  'unknown-monitor',
  /** An event of dispatch was dropped while the database accepted no writes. */
  'event-overflow',
  /** An event itself cannot be recorded. It was set aside, so that other events are recorded. */
  'unrecordable',
  /**
   * A monitor became `unknown` without a change of the declaration. Nothing was dropped, but it needs the
   * same attention.
   */
  'monitor-unknown',
] as const;

export type RecorderDrops = DropLog<(typeof DROPS)[number]>;

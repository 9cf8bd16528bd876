import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { SlotOutcomes } from '../domain/slots.ts';
import type { States } from '../evaluation/state.ts';
import type { NewDelivery } from '../evaluation/writes.ts';
import type { ExportNote } from '../store/export-totals.ts';
import type { RecordingStore } from '../store/recording-store.ts';
import type { DropLog } from './drop-log.ts';
import type { RecordedResult } from './result-feed.ts';

/* What the recorder needs from others. */

/** What the evaluation needs to know of regions; dispatch keeps it. */
export interface RecentRegions {
  /** It has, or had within the last 24 h, a live agent. */
  hadAgentWithin24h(region: Region): boolean;
}

/** The slots' clock; dispatch keeps it. */
export interface SlotTime {
  /** Whole epoch ms; never goes back. */
  now(): number;
  /** What its jumps forward come to so far, ms: votes are older by as much than the monotonic clock says. */
  readonly jumpedMs: number;
  /** Monotonic instant of the last one; null: there was none. */
  readonly jumpedAt: number | null;
  /** Told of each jump, in the middle of whatever reads the clock. */
  onJump(listener: () => void): () => void;
}

/** Proof that a job was given to the region; dispatch makes them. */
export interface TokenCheck {
  isValid(token: string, monitor: number, region: Region, slot: number): boolean;
}

/** Whoever exports what is recorded; `MetricsExport` is one. */
export interface ExportNotes {
  /** What of these results is exported, to be written in their transaction; null: nothing. */
  noteOf(recorded: readonly RecordedResult[]): ExportNote | null;
  /** The transaction is committed. Notes come in their order. */
  noted(note: ExportNote): void;
}

export type RecorderParts = {
  readonly store: RecordingStore;
  readonly states: States;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly presence: RecentRegions;
  /** Results with a slot before it (epoch ms) have their hour rolled up again; `Rollups` is one. */
  readonly rollups: { readonly claimedUntil: number };
  readonly tokens: TokenCheck;
  readonly slots: SlotOutcomes;
  readonly clock: Clock;
  readonly slotClock: SlotTime;
  readonly log: Logger;
  /** Makes keys of incidents and deliveries, different from those of every other installation. */
  readonly newKey: () => string;
  /** Whether channels of this kind are told of an incident that ends without a recovery. */
  readonly closesIncidents: (providerType: string) => boolean;
  /** Undefined: nothing is exported. */
  readonly exports?: ExportNotes | undefined;
  /** A result has come that will be evaluated. */
  readonly onRead: (result: CheckResult) => void;
  /** Whether nothing is announced about the monitor now. */
  readonly isHeld: (monitorId: number) => boolean;
  /** A declared monitor takes effect (null: it is gone). After the commit, before the next batch. */
  readonly onDeclared: (monitorId: number, monitor: LiveMonitor | null) => void;
  /** A delivery is queued. After the commit. */
  readonly onQueued: (id: number, delivery: NewDelivery) => void;
};

/** What the recorder counts and says in the log without flooding it. */
export const DROPS = [
  'bad-token',
  'unknown-monitor',
  /** Told by dispatch while the database took nothing. */
  'event-overflow',
  /** Could not be recorded for a reason of its own, and is set aside so that the rest goes on. */
  'unrecordable',
  /** Not dropped but alarming in the same way: monitors that became `unknown` without anybody changing them. */
  'monitor-unknown',
] as const;

export type RecorderDrops = DropLog<(typeof DROPS)[number]>;

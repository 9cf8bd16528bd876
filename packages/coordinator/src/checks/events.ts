import type { CheckResult, NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { StreamPosition } from '../store/results/recording-store.ts';
import { applyChange, type DeclaredChange } from '../verdict/declared-effects.ts';
import type { Evaluation } from '../verdict/evaluation.ts';
import type { Windows } from '../verdict/maintenance-window.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import type { RegionSet } from '../verdict/region-set.ts';

/** A message of a stream of results. */
export type ResultMessage = {
  /**
   * The region that sent the message. Null: the message could not be read, and only its position is recorded.
   */
  readonly region: Region | null;
  readonly agent: string;
  readonly results: readonly CheckResult[];
  readonly position: StreamPosition;
};

/**
 * The results of one message that have valid tokens and are about known monitors, or some of these results.
 */
export type MessageEvent = {
  readonly kind: 'message';
  readonly region: Region | null;
  readonly agent: string;
  readonly results: readonly CheckResult[];
  /** The stream of the message. */
  readonly stream: string;
  /** The position that is recorded with these results; null: further results of the same message follow. */
  readonly position: StreamPosition | null;
};

/** Changes of the declaration, whose effects are applied together. */
export type DeclaredEvent = {
  readonly kind: 'declared';
  readonly changes: readonly DeclaredChange[];
  /** Id of the last of these changes in the log of changes. */
  readonly until: number;
  /** Their cost: see {@link weightOfChanges}. */
  readonly weight: number;
  readonly onApplied: () => void;
  readonly onFailed: (error: unknown) => void;
};

/** Events of slots and of monitors. */
export type SlotEvent =
  | {
      readonly kind: 'opened' | 'left-out';
      readonly monitor: LiveMonitor;
      readonly slot: number;
      readonly regions: RegionSet;
    }
  | {
      readonly kind: 'abstained';
      readonly monitor: LiveMonitor;
      readonly slot: number;
      readonly region: Region;
      readonly reason: NotRunReason;
    }
  | {
      readonly kind: 'skipped';
      readonly monitor: LiveMonitor;
      readonly slot: number;
      readonly region: Region;
    }
  | { readonly kind: 'due' | 'resumed-all' | 'announced'; readonly monitorId: number }
  /**
   * The resumption after a start is over. Events that were queued before this event are recorded in the same
   * transaction or earlier.
   */
  | { readonly kind: 'resumption-over' };

export type RecorderEvent = MessageEvent | DeclaredEvent | SlotEvent;

/** Cost of evaluating a monitor and announcing its status to its channels, measured in recorded results. */
const ANNOUNCED_WEIGHT = 4;

/**
 * Cost of changes, measured in recorded results. A change of a maintenance window announces the status of each
 * monitor that the window had before, or has now.
 *
 * @param windows the windows before the changes
 */
export function weightOfChanges(changes: readonly DeclaredChange[], windows: Pick<Windows, 'get'>): number {
  let weight = 0;
  for (const change of changes) {
    weight += 1;
    if (change.kind !== 'maintenance') continue;
    const before = windows.get(change.windowId)?.monitorIds ?? [];
    weight += ANNOUNCED_WEIGHT * new Set([...before, ...(change.window?.monitorIds ?? [])]).size;
  }
  return Math.max(1, weight);
}

/** Cost of the event, measured in recorded results. */
export function weightOf(event: RecorderEvent): number {
  switch (event.kind) {
    case 'message':
      return Math.max(1, event.results.length);
    case 'declared':
      return event.weight;
    case 'due':
    case 'resumed-all':
    case 'announced':
      return ANNOUNCED_WEIGHT;
    case 'abstained':
    case 'resumption-over':
      return 1;
    case 'opened':
    case 'skipped':
    case 'left-out':
      return 0.25;
  }
}

/**
 * Splits a message into one event for each result, so that a result that cannot be
 * recorded does not prevent the other results from being recorded. The last event
 * moves the position. Any other event is returned as it is.
 */
export function splitMessage(event: RecorderEvent): readonly RecorderEvent[] {
  if (event.kind !== 'message') return [event];
  const { results, position } = event;
  return results.map((result, index) => {
    const isLast = index === results.length - 1;
    return { ...event, results: [result], position: isLast ? position : null };
  });
}

/**
 * Applies an event to the evaluation. `BatchEvaluation` handles messages itself, because the store must first
 * be queried about their results.
 */
export function applyEvent(evaluation: Evaluation, event: SlotEvent | DeclaredEvent): void {
  switch (event.kind) {
    case 'opened':
      evaluation.opened(event.monitor, event.slot, event.regions);
      return;
    case 'left-out':
      evaluation.leftOut(event.monitor, event.slot, event.regions);
      return;
    case 'abstained':
      evaluation.abstained(event.monitor, event.slot, event.region, event.reason);
      return;
    case 'skipped':
      evaluation.skipped(event.monitor, event.slot, event.region);
      return;
    case 'due':
      evaluation.timePassed(event.monitorId);
      return;
    case 'resumed-all':
      evaluation.resumedAll(event.monitorId);
      return;
    case 'announced':
      evaluation.announceUntold(event.monitorId);
      return;
    case 'resumption-over':
      evaluation.resumptionOver();
      return;
    case 'declared':
      for (const change of event.changes) applyChange(evaluation, change);
      return;
    default:
      event satisfies never;
  }
}

import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { FINEST_PERIOD_MS } from '../domain/schedule.ts';
import type { SkipReason } from '../domain/slots.ts';
import type { Due } from './due-queue.ts';

export type Skip = { readonly region: Region; readonly reason: SkipReason };

export const isOverload = ({ reason }: Skip): boolean => reason === 'overloaded';

/** Only these regions are given the slots before `until`, which is the next one of all. */
type Rest = { readonly regions: readonly Region[]; readonly until: number };

/** The next due time of an active monitor; `dueAt` is on the slot clock. */
export type Plan = Due & {
  monitor: LiveMonitor;
  phase: number;
  /** Its next slot is the first since it was created or activated. */
  isFirst: boolean;
  /** Its newest slot is a first one, or one for regions that still lacked their first check. */
  isBeginning: boolean;
  /** Regions that were skipped, or did not run the check, when the others had their first slot; null: none. */
  rest: Rest | null;
  /** Newest slot that it was given, at most {@link MOST_AHEAD_MS} ahead; 0: none. */
  lastSlot: number;
};

export function restOf(skips: readonly Skip[], until: number): Rest | null {
  const regions = skips.filter(isOverload).map(({ region }) => region);
  return regions.length === 0 ? null : { regions, until };
}

/** Whether `after` was activated, or changed in its probed attributes, since `before`. */
export function isCheckedAnew(before: LiveMonitor, after: LiveMonitor): boolean {
  return after.activatedAt !== before.activatedAt || after.version !== before.version;
}

/** The part of a period between two slots of the plan: 1 on the grid, less while the first slot is given again and again. */
export function ofPeriod({ monitor, isFirst, rest }: Plan): number {
  return isFirst || rest !== null ? Math.min(1, FINEST_PERIOD_MS / monitor.periodMs) : 1;
}

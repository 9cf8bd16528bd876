import type { LiveMonitor } from '../verdict/monitor.ts';
import type { Due } from './due-queue.ts';

/** The next due time of an active monitor; `dueAt` is on the slot clock. */
export type Plan = Due & {
  monitor: LiveMonitor;
  phase: number;
  /** Its next slot is the first since it was created or activated. */
  isFirst: boolean;
  /** Newest slot that it was given, at most {@link AHEAD_MS} ahead; 0: none. */
  lastSlot: number;
};

/** Whether `after` was activated, or changed in its probed attributes, since `before`. */
export function isCheckedAnew(before: LiveMonitor, after: LiveMonitor): boolean {
  return after.activatedAt !== before.activatedAt || after.version !== before.version;
}

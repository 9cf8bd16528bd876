import type { LiveMonitors } from '../domain/monitor.ts';
import { gridSlotUntil, phaseOf } from '../domain/schedule.ts';
import {
  decidedSlots,
  type MonitorSlot,
  newestOffGridSlots,
  newestRecordedSlot,
  recordedAt,
} from '../store/newest-slots.ts';
import type { Store } from '../store/store.ts';

/** A slot that lies so many periods before the newest of all says no more than an older one: it is too late for the next. */
const PERIODS = 2;

/**
 * The newest slot that each monitor was given, as far as recorded: decided, with a result of the last
 * two periods before the newest of all, or off the grid. What is older makes no difference to when the
 * monitor is due. Monitors without one are not in it. Read on the reading thread.
 */
export async function loadNewestSlots(
  store: Store,
  monitors: Pick<LiveMonitors, 'get' | 'values'>,
): Promise<Map<number, number>> {
  const newest = new Map<number, number>();
  const note = ({ id, slot }: MonitorSlot) => {
    if (slot > (newest.get(id) ?? 0) && monitors.get(id) !== undefined) newest.set(id, slot);
  };
  for await (const row of decidedSlots(store)) note(row);
  for await (const row of newestOffGridSlots(store)) note(row);
  const until = await newestRecordedSlot(store);
  if (until === null) return newest;
  for (let periodsBack = 0; periodsBack <= PERIODS; periodsBack += 1) {
    const slots = new Set<number>();
    for (const { id, periodMs } of monitors.values()) {
      // On the grid of the period declared now: slots of an earlier period are remembered as off the
      // grid, or are as old as the last decision that was written.
      const slot = gridSlotUntil(until, periodMs, phaseOf(id, periodMs)) - periodsBack * periodMs;
      if (slot > (newest.get(id) ?? 0)) slots.add(slot);
    }
    for await (const row of recordedAt(store, [...slots])) note(row);
  }
  return newest;
}

/** For the slot clock; null when nothing was ever recorded. */
export function newestOf(slots: ReadonlyMap<number, number>): number | null {
  let newest: number | null = null;
  for (const slot of slots.values()) {
    if (newest === null || slot > newest) newest = slot;
  }
  return newest;
}

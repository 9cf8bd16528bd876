import {
  decidedSlots,
  type GivenSlot,
  newestOffGridSlots,
  newestRecordedSlot,
  recordedAt,
} from '../store/results/recorded-slots.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitors } from '../verdict/monitor.ts';
import { gridSlotUntil, phaseOf } from '../verdict/schedule.ts';
import { BELIEVED_AHEAD_MS } from '../verdict/status.ts';

/**
 * A slot that lies this many periods before the newest of all says no more than an older one: the monitor's
 * next slot is due either way.
 */
const PERIODS = 2;

/** The recorded slots that monitors were given. */
export type GivenSlots = {
  /** The newest believed slot of each monitor; monitors without one are missing. */
  readonly newest: Map<number, number>;
  /** The newest slot of all when it lies too far ahead to be believed; otherwise null. */
  readonly ahead: number | null;
};

/**
 * Loads the newest slot that each monitor was given, as far as it is recorded: decided, with a result of the
 * last two periods before the newest of all, or off the grid. Older slots do not change when the monitor is
 * due. It reads on the reading thread.
 *
 * If a clock was ahead once, recorded slots lie in the future for as long as it was ahead. Until the last of
 * them is past, only slots up to the present are believed: every start finds its position from them.
 *
 * @param wall the present, epoch ms
 */
export async function loadNewestSlots(
  store: Store,
  monitors: Pick<LiveMonitors, 'get' | 'values'>,
  wall: number,
): Promise<GivenSlots> {
  const recorded = await newestRecordedSlot(store);
  const ahead = recorded !== null && recorded > wall + BELIEVED_AHEAD_MS ? recorded : null;
  const until = ahead === null ? wall + BELIEVED_AHEAD_MS : wall;
  const newest = new Map<number, number>();
  const note = ({ id, slot }: GivenSlot) => {
    if (slot > until || monitors.get(id) === undefined) return;
    if (slot > (newest.get(id) ?? 0)) newest.set(id, slot);
  };
  for await (const row of decidedSlots(store)) note(row);
  for await (const row of newestOffGridSlots(store, until)) note(row);
  if (recorded === null) return { newest, ahead };
  for (let periodsBack = 0; periodsBack <= PERIODS; periodsBack += 1) {
    const slots = new Set<number>();
    for (const { id, periodMs } of monitors.values()) {
      // The grid of the period declared now: slots of an earlier period are remembered as off the grid, or
      // are as old as the last decision that was written.
      const latest = gridSlotUntil(Math.min(recorded, until), periodMs, phaseOf(id, periodMs));
      const slot = latest - periodsBack * periodMs;
      if (slot > (newest.get(id) ?? 0)) slots.add(slot);
    }
    for await (const row of recordedAt(store, [...slots])) note(row);
  }
  return { newest, ahead };
}

/** The newest slot for the slot clock; null when nothing was ever recorded. */
export function newestOf(slots: ReadonlyMap<number, number>): number | null {
  let newest: number | null = null;
  for (const slot of slots.values()) {
    if (newest === null || slot > newest) newest = slot;
  }
  return newest;
}

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
 * How many periods of a monitor are searched before its last grid slot up to the newest recorded slot of all
 * monitors. If the newest slot of a monitor is older, the monitor's next slot is due anyway.
 */
const PERIODS = 2;

/** The newest recorded slots that monitors were given. */
export type GivenSlots = {
  /** The newest believed slot of each monitor; monitors without such a slot are missing. */
  readonly newest: Map<number, number>;
  /** The newest recorded slot of all monitors, if it lies too far ahead to be believed; otherwise null. */
  readonly ahead: number | null;
};

/**
 * Loads the newest recorded slot that each monitor was given. A slot counts as recorded if it is decided, if
 * it is stored as off the grid, or if it has a result and is one of the monitor's last three grid slots up to
 * the newest recorded slot of all monitors. Older slots have no influence on when the monitor is due.
 *
 * If a clock was ahead once, recorded slots lie in the future. As long as the last of them is more than a
 * minute ahead, only slots up to the present are believed.
 *
 * @param wall the present, epoch ms
 * @param decided the newest decided slot of each monitor, where the caller has read it; 0: no slot is decided
 */
export async function loadNewestSlots(
  store: Store,
  monitors: Pick<LiveMonitors, 'get' | 'values'>,
  wall: number,
  decided: Iterable<GivenSlot> | AsyncIterable<GivenSlot> = decidedSlots(store),
): Promise<GivenSlots> {
  const recorded = await newestRecordedSlot(store);
  const ahead = recorded !== null && recorded > wall + BELIEVED_AHEAD_MS ? recorded : null;
  const until = ahead === null ? wall + BELIEVED_AHEAD_MS : wall;
  const newest = new Map<number, number>();
  const note = ({ id, slot }: GivenSlot) => {
    if (slot > until || monitors.get(id) === undefined) return;
    if (slot > (newest.get(id) ?? 0)) newest.set(id, slot);
  };
  for await (const row of decided) note(row);
  for await (const row of newestOffGridSlots(store, until)) note(row);
  if (recorded === null) return { newest, ahead };
  for (let periodsBack = 0; periodsBack <= PERIODS; periodsBack += 1) {
    const slots = new Set<number>();
    for (const { id, periodMs } of monitors.values()) {
      // Only slots on the grid of the present period are tried. Slots of an earlier period were found above:
      // they are stored as off the grid, or are not newer than the last stored decision.
      const latest = gridSlotUntil(Math.min(recorded, until), periodMs, phaseOf(id, periodMs));
      const slot = latest - periodsBack * periodMs;
      if (slot > (newest.get(id) ?? 0)) slots.add(slot);
    }
    for await (const row of recordedAt(store, [...slots])) note(row);
  }
  return { newest, ahead };
}

/** The newest of the slots; null: there are no slots. The slot clock does not start before it. */
export function newestOf(slots: ReadonlyMap<number, number>): number | null {
  let newest: number | null = null;
  for (const slot of slots.values()) {
    if (newest === null || slot > newest) newest = slot;
  }
  return newest;
}

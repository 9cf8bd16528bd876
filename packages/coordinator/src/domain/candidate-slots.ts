import { gridSlotUntil, phaseOf } from './schedule.ts';

/** Both ends belong to it, epoch ms. */
export type SlotRange = { readonly from: number; readonly until: number };

/**
 * The slots that a monitor can have had in a time, newest first, each once: those on the grid of `period`
 * and those of `offGrid` that lie in it.
 *
 * @param period  ms; of all that the monitor had in that time one that divides them, such as the shortest there is
 * @param offGrid newest first; what lies on the grid or outside the range does no harm
 */
export function* candidateSlots(
  id: number,
  period: number,
  { from, until }: SlotRange,
  offGrid: readonly number[],
): Generator<number, void, undefined> {
  let onGrid = gridSlotUntil(until, period, phaseOf(id, period));
  for (const slot of offGrid) {
    if (slot > until) continue;
    if (slot < from) break;
    for (; onGrid > slot; onGrid -= period) yield onGrid;
    if (onGrid === slot) onGrid -= period;
    yield slot;
  }
  for (; onGrid >= from; onGrid -= period) yield onGrid;
}

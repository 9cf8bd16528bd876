import { gridSlotUntil, phaseOf } from './schedule.ts';

/** A range of slots, both ends included, epoch ms. */
export type SlotRange = { readonly from: number; readonly until: number };

/**
 * The slots that a monitor can have had in a range, newest first and without repetition: the slots on the
 * monitor's grid with this `period`, and the known slots off the grid.
 *
 * @param period  ms; a divisor of all periods that the monitor had in the range,
 *   such as the shortest possible period
 * @param offGrid the known slots off the grid, newest first; it may also contain
 *   slots on the grid or outside the range
 */
export function* candidateSlots(
  id: number,
  period: number,
  { from, until }: SlotRange,
  offGrid: readonly number[],
): Generator<number, void, undefined> {
  let onGrid = gridSlotUntil(until, period, phaseOf(id, period));
  let place = offGrid.findIndex((slot) => slot <= until);
  for (;;) {
    const other = (place < 0 ? undefined : offGrid[place]) ?? Number.NEGATIVE_INFINITY;
    const slot = Math.max(onGrid, other);
    if (slot < from) return;
    yield slot;
    if (onGrid === slot) onGrid -= period;
    if (other === slot) place += 1;
  }
}

/**
 * Takes one slot out of each group of `every` neighbouring slots. The position of the taken slot changes from
 * group to group. Otherwise the sample could contain only slots of a longer period, or none of its slots.
 *
 * @param every integer, > 0; 1 takes all slots
 */
export function* sampledSlots(slots: Iterable<number>, every: number): Generator<number, void, undefined> {
  let place = 0;
  for (const slot of slots) {
    const group = Math.floor(place / every);
    if (place % every === group % every) yield slot;
    place += 1;
  }
}

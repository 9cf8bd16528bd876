import { gridSlotUntil, phaseOf, spreadOf } from './schedule.ts';

/** Both ends belong to it, epoch ms. */
export type SlotRange = { readonly from: number; readonly until: number };

/** What a monitor's slots lie on beside the grid of its period. */
export type OtherSlots = {
  /** Newest first; what lies on a grid or outside the range does no harm. */
  readonly offGrid: readonly number[];
  /** Slots up to here may lie on the finer grid of svc 0.1, epoch ms; 0: none does. */
  readonly fineGridUntil: number;
};

/**
 * The slots that a monitor can have had in a time, newest first, each once: those on its grids of `period`
 * and those off them that lie in it.
 *
 * @param period ms; of all that the monitor had in that time one that divides them, such as the shortest there is
 */
export function* candidateSlots(
  id: number,
  period: number,
  { from, until }: SlotRange,
  { offGrid, fineGridUntil }: OtherSlots,
): Generator<number, void, undefined> {
  let coarse = gridSlotUntil(until, period, phaseOf(id, period));
  let fine = gridSlotUntil(Math.min(until, fineGridUntil), period, spreadOf(id, period));
  let place = offGrid.findIndex((slot) => slot <= until);
  for (;;) {
    const other = (place < 0 ? undefined : offGrid[place]) ?? Number.NEGATIVE_INFINITY;
    const slot = Math.max(coarse, fine, other);
    if (slot < from) return;
    yield slot;
    if (coarse === slot) coarse -= period;
    if (fine === slot) fine -= period;
    if (other === slot) place += 1;
  }
}

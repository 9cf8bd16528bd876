import { gridSlotUntil, phaseOf, spreadOf } from './schedule.ts';

/** A range of slots, both ends included, epoch ms. */
export type SlotRange = { readonly from: number; readonly until: number };

/** Slots of a monitor that may lie off the grid of its period. */
export type OtherSlots = {
  /** Slots off the grid, the newest first. Slots on a grid or outside the range do no harm. */
  readonly offGrid: readonly number[];
  /** Last instant at which slots may lie on the finer grid of svc 0.1, epoch ms; 0: none does. */
  readonly fineGridUntil: number;
};

/**
 * The slots that a monitor can have had in a range, newest first and each once: those on its grids of
 * `period`, and those off the grids.
 *
 * @param period ms; a divisor of all periods that the monitor had in the range, such as the shortest possible
 *   one
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

/**
 * Takes one of each `every` neighbouring slots. The place in its group moves on from group to group, so that
 * a sample does not see only the slots of a coarser grid, or none of them.
 *
 * @param every integer, > 0; 1 takes all
 */
export function* sampledSlots(slots: Iterable<number>, every: number): Generator<number, void, undefined> {
  let place = 0;
  for (const slot of slots) {
    const group = Math.floor(place / every);
    if (place % every === group % every) yield slot;
    place += 1;
  }
}

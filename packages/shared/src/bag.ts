/** A member of a {@link Bag}. It keeps its own place in the bag. */
export interface Placed {
  /** Its place in the bag; -1 when it is not there. Only the bag changes it. */
  place: number;
}

/**
 * Items in no order, added and taken out at no cost.
 *
 * An array and not a `Set`: a set under constant change leaves its outgrown tables behind, and those that are in the old
 * generation by then keep what they held alive until the next full collection (decision 0020).
 */
export class Bag<Item extends Placed> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** @param item is in no bag */
  add(item: Item): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Does nothing when it is not there. */
  delete(item: Item): void {
    const { place } = item;
    if (place === -1) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.place = place;
    this.#items[place] = last;
  }

  /** Those that are there now; the bag may change meanwhile. */
  all(): Item[] {
    return [...this.#items];
  }
}

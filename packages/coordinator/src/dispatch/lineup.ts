import type { Placed } from '@svc/shared/bag.ts';

/**
 * Items in the order in which they were added. Each is in one lineup or bag at most.
 *
 * An array and not a `Set`, for the reason of {@link Bag}: of thousands of jobs a second that pass through a
 * set, many end in the old generation.
 */
export class Lineup<Item extends Placed> {
  #items: (Item | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param item is in no lineup */
  add(item: Item): void {
    if (this.#items.length > 2 * this.#size + 16) this.#close();
    item.place = this.#items.length;
    this.#items.push(item);
    this.#size += 1;
  }

  /** Does nothing when it is not there. */
  delete(item: Item): void {
    if (item.place === -1) return;
    this.#items[item.place] = undefined;
    item.place = -1;
    this.#size -= 1;
    if (this.#size === 0) this.#items = [];
  }

  /** The items that are there now. */
  all(): readonly Item[] {
    const items: Item[] = [];
    for (let index = 0; index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Moves the items together, where deleted ones have left gaps. */
  #close(): void {
    this.#items = this.#items.filter((item) => item !== undefined);
    for (const [place, item] of this.#items.entries()) if (item !== undefined) item.place = place;
  }
}

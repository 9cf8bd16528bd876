export type QueueBounds = {
  /** Most waiting items of all owners. */
  readonly most: number;
  /** Most waiting items of one owner. */
  readonly mostOfOwner: number;
};

/**
 * Waiting items by owner. Owners take turns, so that an owner with many items delays the others by only one.
 */
export class FairQueue<O, T> {
  readonly #bounds: QueueBounds;
  /** Items by owner; no list is empty. The owner whose turn it is comes first. */
  readonly #waiting = new Map<O, T[]>();
  #size = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** Adds an item; false when too many items wait already. */
  push(owner: O, item: T): boolean {
    const items = this.#waiting.get(owner) ?? [];
    if (this.#size >= this.#bounds.most || items.length >= this.#bounds.mostOfOwner) return false;
    items.push(item);
    this.#waiting.set(owner, items);
    this.#size += 1;
    return true;
  }

  /** Takes the next item; undefined when nothing waits. */
  take(): T | undefined {
    for (const [owner, items] of this.#waiting) {
      const item = items.shift();
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }
}

export type QueueBounds = {
  /** Items that wait at most, of all owners. */
  readonly most: number;
  /** Of one owner. */
  readonly mostOfOwner: number;
};

/** Items that wait, by owner. Owners have turns, so that one who sends much delays the others by one item. */
export class FairQueue<O, T> {
  readonly #bounds: QueueBounds;
  /** None is empty; whose turn it is stands first. */
  readonly #waiting = new Map<O, T[]>();
  #size = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /** False: too much waits already. */
  push(owner: O, item: T): boolean {
    const items = this.#waiting.get(owner) ?? [];
    if (this.#size >= this.#bounds.most || items.length >= this.#bounds.mostOfOwner) return false;
    items.push(item);
    this.#waiting.set(owner, items);
    this.#size += 1;
    return true;
  }

  /** The next item; undefined: nothing waits. */
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

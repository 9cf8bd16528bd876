/**
 * A binary heap. `peek` and `pop` return the item with the lowest rank, or undefined when
 * the heap is empty. The rank of an item must not change while the item is in the heap.
 */
export class Heap<Item> {
  readonly #rank: (item: Item) => number;
  #items: Item[] = [];

  constructor(rank: (item: Item) => number) {
    this.#rank = rank;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  pop(): Item | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) {
      this.#items[0] = last;
      this.#sink(0);
    }
    return first;
  }

  /**
   * Removes and returns every item that `isWanted` accepts, in no particular order.
   * It takes linear time, and may call `isWanted` twice for an item.
   */
  takeWhere(isWanted: (item: Item) => boolean): Item[] {
    const taken = this.#items.filter(isWanted);
    if (taken.length > 0) {
      this.#items = this.#items.filter((item) => !isWanted(item));
      for (let index = (this.#items.length >> 1) - 1; index >= 0; index -= 1) this.#sink(index);
    }
    return taken;
  }

  #rise(from: number): void {
    let index = from;
    const item = this.#items[index] as Item;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#items[parentIndex] as Item;
      if (this.#rank(parent) <= this.#rank(item)) break;
      this.#items[index] = parent;
      index = parentIndex;
    }
    this.#items[index] = item;
  }

  #sink(from: number): void {
    let index = from;
    const item = this.#items[index] as Item;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= this.#items.length) break;
      const right = left + 1;
      const isRightLower =
        right < this.#items.length &&
        this.#rank(this.#items[right] as Item) < this.#rank(this.#items[left] as Item);
      const lower = isRightLower ? right : left;
      const child = this.#items[lower] as Item;
      if (this.#rank(item) <= this.#rank(child)) break;
      this.#items[index] = child;
      index = lower;
    }
    this.#items[index] = item;
  }
}

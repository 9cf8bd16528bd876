/**
 * The members that every item of a {@link DueQueue} has. Only the queue may change
 * them while it contains the item.
 */
export type Due = {
  /** Due time of the item, ms. All items of a queue use the same clock. */
  dueAt: number;
  /** Position of the item in the queue; -1: the item is in no queue. */
  queueIndex: number;
};

/**
 * A queue of items in the order of their due times, earliest first. It is a binary heap whose items know
 * their positions, so that an item can be moved or removed without a search.
 */
export class DueQueue<T extends Due> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The earliest item, which stays in the queue; undefined: the queue is empty. */
  peek(): T | undefined {
    return this.#heap[0];
  }

  /** Adds `item`, or moves it if the queue contains it already. */
  set(item: T, dueAt: number): void {
    const before = item.dueAt;
    item.dueAt = dueAt;
    if (item.queueIndex < 0) {
      this.#heap.push(item);
      this.#rise(item, this.#heap.length - 1);
    } else if (dueAt < before) {
      this.#rise(item, item.queueIndex);
    } else {
      this.#sink(item, item.queueIndex);
    }
  }

  /** Removes `item`, if the queue contains it. */
  delete(item: T): void {
    const index = item.queueIndex;
    if (index < 0) return;
    item.queueIndex = -1;
    const last = this.#heap.pop() as T;
    if (last === item) return;
    if (last.dueAt < item.dueAt) this.#rise(last, index);
    else this.#sink(last, index);
  }

  /**
   * Gives each item the due time that `dueAtOf` returns. Moving the items one by one would take three times
   * as long.
   */
  setAll(dueAtOf: (item: T) => number): void {
    for (const item of this.#heap) item.dueAt = dueAtOf(item);
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index -= 1)
      this.#sink(this.#heap[index] as T, index);
  }

  clear(): void {
    for (const item of this.#heap) item.queueIndex = -1;
    this.#heap.length = 0;
  }

  #rise(item: T, from: number): void {
    const heap = this.#heap;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as T;
      if (parent.dueAt <= item.dueAt) break;
      heap[index] = parent;
      parent.queueIndex = index;
      index = parentIndex;
    }
    heap[index] = item;
    item.queueIndex = index;
  }

  #sink(item: T, from: number): void {
    const heap = this.#heap;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = heap[childIndex];
      if (child === undefined) break;
      const right = heap[childIndex + 1];
      if (right !== undefined && right.dueAt < child.dueAt) {
        child = right;
        childIndex += 1;
      }
      if (item.dueAt <= child.dueAt) break;
      heap[index] = child;
      child.queueIndex = index;
      index = childIndex;
    }
    heap[index] = item;
    item.queueIndex = index;
  }
}

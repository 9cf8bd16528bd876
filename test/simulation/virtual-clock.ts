import type { Clock } from '@svc/shared/clock.ts';

type Timer = { at: number; order: number; task: (() => void) | null };

/**
 * A clock that jumps from one timer to the next. Timers of one instant run in the order
 * in which they were set. The timers lie in a heap, because a world sets thousands.
 */
export class VirtualClock implements Clock {
  readonly #heap: Timer[] = [];
  #wall: number;
  #monotonic = 0;
  #order = 0;

  /** @param wall epoch ms at the beginning */
  constructor(wall: number) {
    this.#wall = wall;
  }

  wall(): number {
    return this.#wall + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer: Timer = { at: this.#monotonic + Math.max(0, delayMs), order: this.#order, task };
    this.#order += 1;
    this.#push(timer);
    return () => {
      timer.task = null;
    };
  }

  every(intervalMs: number, task: () => void): () => void {
    let cancel = () => {};
    const run = () => {
      cancel = this.after(intervalMs, run);
      task();
    };
    cancel = this.after(intervalMs, run);
    return () => cancel();
  }

  /** Sets the system's clock: `wall` jumps, timers do not. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /** Monotonic instant of the next timer; infinite when there is none. */
  get nextAt(): number {
    for (let first = this.#heap[0]; first !== undefined && first.task === null; first = this.#heap[0]) {
      this.#pop();
    }
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Advances to the next timer and runs all timers that are
   * due then, also timers that these set for the same instant.
   */
  runNext(): void {
    const at = this.nextAt;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#monotonic = at;
    while (this.nextAt === at) {
      const timer = this.#heap[0] as Timer;
      this.#pop();
      timer.task?.();
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as Timer;
      if (isBefore(parent, timer)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = heap[childIndex];
      if (child === undefined) break;
      const right = heap[childIndex + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        childIndex += 1;
      }
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/**
 * The monitors that have resumed since the start: the earlier reports of their regions are read, and dispatch
 * has named the regions that still work on their slots. Before that, no slot is decided because its time is
 * up, since the next message may hold the reports that it waits for.
 */
export class Resumption {
  /** Monitors that have resumed, until all have. */
  readonly #resumed = new Set<number>();
  #isOver = false;
  /** Monitors of which something else is probed than before the start; null: it is not noted any more. */
  #probedOtherwise: Set<number> | null = new Set();
  /** Number of times that monitors have resumed. */
  steps = 0;

  /** Whether all monitors have. */
  get isOver(): boolean {
    return this.#isOver;
  }

  has(monitorId: number): boolean {
    return this.#isOver || this.#resumed.has(monitorId);
  }

  add(monitorIds: Iterable<number>): void {
    this.steps += 1;
    for (const id of monitorIds) this.#resumed.add(id);
  }

  /** Marks all present and future monitors as resumed. */
  end(): void {
    this.steps += 1;
    this.#isOver = true;
    this.#resumed.clear();
  }

  /** What is probed is changed. No slot that an earlier process gave is about it, also one that lies ahead. */
  probesOtherwise(monitorId: number): void {
    this.#probedOtherwise?.add(monitorId);
  }

  /** Whether what is probed was changed since the last slot that an earlier process gave. */
  isProbedOtherwise(monitorId: number): boolean {
    return this.#probedOtherwise?.has(monitorId) === true;
  }

  /** This process gives slots: it has asked about those of before. */
  gives(): void {
    this.#probedOtherwise = null;
  }
}

/**
 * The monitors that have resumed since the start: the earlier reports of their regions are read, and dispatch
 * has named the regions that still work on their slots. Before that, no slot is decided because its time is
 * up, since the next message may hold the reports that it waits for.
 */
export class Resumption {
  /** Monitors that have resumed, until all have. */
  readonly #resumed = new Set<number>();
  #isOver = false;
  /** Monitors that have resumed, while the event that ends the naming of their slots waits to be recorded. */
  readonly #naming = new Set<number>();
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

  /**
   * Whether time may decide slots of the monitor. It may not while earlier events wait, which name its slots: a slot would
   * be decided without regions that still work on it.
   */
  isTimeUp(monitorId: number): boolean {
    return this.has(monitorId) && !this.#naming.has(monitorId);
  }

  /** All slots of the monitor are named, as soon as what waits until now is recorded. */
  names(monitorId: number): void {
    this.#naming.add(monitorId);
  }

  named(monitorId: number): void {
    this.#naming.delete(monitorId);
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

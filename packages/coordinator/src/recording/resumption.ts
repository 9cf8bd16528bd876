/**
 * Which monitors have gone on since the start: what their regions reported before it is read, and dispatch has said
 * which regions still work on their slots. Nothing is decided for its time before that, because the reports that a
 * slot waits for may come with the next message.
 */
export class Resumption {
  /** Until all have. */
  readonly #resumed = new Set<number>();
  #isOver = false;

  has(monitorId: number): boolean {
    return this.#isOver || this.#resumed.has(monitorId);
  }

  add(monitorIds: Iterable<number>): void {
    for (const id of monitorIds) this.#resumed.add(id);
  }

  /** All have, and every monitor from here on. */
  end(): void {
    this.#isOver = true;
    this.#resumed.clear();
  }
}

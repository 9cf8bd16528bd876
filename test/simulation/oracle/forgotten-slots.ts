/** Maximum time for which a start waits for the reports from before the start, ms. */
const LONGEST_START_MS = 30_000;

/**
 * Finds decided slots that a restart may have opened again. "A slot that nobody has reported by the
 * restart is not known afterwards, and its first report opens it again", although it was decided
 * (decision 0157). Whether the service still knows such a slot depends on its other writes.
 */
export class ForgottenSlots {
  /** Newest slot that was decided before the last start. */
  #decidedSlot = 0;
  /**
   * Slots that were reported since the last start. `reportedBefore`:
   * slots that were reported before the last start.
   */
  readonly #reported = new Set<number>();
  readonly #reportedBefore = new Set<number>();

  reported(slot: number): void {
    this.#reported.add(slot);
  }

  /** @param decidedSlot the newest slot that was decided before the restart */
  restarted(decidedSlot: number): void {
    this.#decidedSlot = decidedSlot;
    for (const slot of this.#reported) this.#reportedBefore.add(slot);
    this.#reported.clear();
  }

  /**
   * Time for which a decided slot may be open again, ms: for the `leftMs` that
   * are left of its period, and until the start is over. 0: the slot is not open.
   */
  openForMs(slot: number, leftMs: number, isStarting: boolean): number {
    if (slot > this.#decidedSlot || this.#reportedBefore.has(slot)) return 0;
    return Math.max(0, leftMs, isStarting ? LONGEST_START_MS : 0);
  }
}

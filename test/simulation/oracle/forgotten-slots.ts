/** A start waits for the reports of before it for so long, ms. */
const LONGEST_START_MS = 30_000;

/**
 * "A slot that nobody has reported by the restart is not known afterwards, and its first report opens it again", although
 * it was decided (decision 0157). Whether it is known depends on what else was written.
 */
export class ForgottenSlots {
  /** Newest slot that was decided before the last start. */
  #decidedSlot = 0;
  /** Slots that were reported first since the last start, and before it. */
  readonly #reported = new Set<number>();
  readonly #reportedBefore = new Set<number>();

  reported(slot: number): void {
    this.#reported.add(slot);
  }

  /** @param decidedSlot the newest one that was decided */
  restarted(decidedSlot: number): void {
    this.#decidedSlot = decidedSlot;
    for (const slot of this.#reported) this.#reportedBefore.add(slot);
    this.#reported.clear();
  }

  /**
   * How long a slot that is decided may be open again, ms: for `leftMs` of its period, and until the start is over. 0: it
   * is not.
   */
  openForMs(slot: number, leftMs: number, isStarting: boolean): number {
    if (slot > this.#decidedSlot || this.#reportedBefore.has(slot)) return 0;
    return Math.max(0, leftMs, isStarting ? LONGEST_START_MS : 0);
  }
}

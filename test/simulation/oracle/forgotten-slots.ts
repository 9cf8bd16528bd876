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

  /** Whether a slot that is decided may be open again. */
  mayBeOpen(slot: number): boolean {
    return slot <= this.#decidedSlot && !this.#reportedBefore.has(slot);
  }
}

import { PAIR_LIMIT, PairTable } from './pair-table.ts';

const MIDDLE = PAIR_LIMIT / 2;

/**
 * A set of jobs, each by its monitor and slot. An overload leaves hundreds of thousands behind, of many monitors with few
 * slots each, for which a map of slots by monitor took up to 200 bytes a monitor.
 */
export class FinishedJobs {
  /** Slots by their distance from the first one that was added, which is `MIDDLE`. */
  readonly #table = new PairTable('set');
  #firstSlot: number | null = null;
  /** Jobs that the table cannot hold: of monitors from 2^32 on, and slots 24 days from the first one. */
  readonly #others = new Set<string>();

  get size(): number {
    return this.#table.size + this.#others.size;
  }

  /** @param monitor >= 1 */
  add(monitor: number, slot: number): void {
    this.#firstSlot ??= slot;
    const distance = slot - this.#firstSlot + MIDDLE;
    if (isPair(monitor, distance)) this.#table.put(monitor, distance);
    else this.#others.add(`${monitor}:${slot}`);
  }

  has(monitor: number, slot: number): boolean {
    if (this.#firstSlot === null) return false;
    const distance = slot - this.#firstSlot + MIDDLE;
    return isPair(monitor, distance)
      ? this.#table.has(monitor, distance)
      : this.#others.has(`${monitor}:${slot}`);
  }
}

const isPair = (monitor: number, distance: number): boolean =>
  monitor < PAIR_LIMIT && distance >= 0 && distance < PAIR_LIMIT;

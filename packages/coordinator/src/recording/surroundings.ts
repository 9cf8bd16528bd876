import type { Instants } from '../evaluation/frame.ts';
import { EVERY_MONITOR, type JournalEntry, type Surroundings } from '../evaluation/journal-entry.ts';

/** A change of the clocks against each other that the journal gets, ms. A clock that is slewed makes one for each. */
const CLOCK_CHANGE_MS = 1;

/**
 * Knows what the journal was last told of the surroundings of all monitors, and adds an entry when they have
 * changed.
 */
export class JournalledSurroundings {
  #last: Surroundings | null = null;

  /** The entry for an evaluation in these surroundings; null: nothing has changed. */
  entryFor(
    instants: Instants,
    { electable, isResumed, aheadSlot }: Pick<Surroundings, 'electable' | 'isResumed' | 'aheadSlot'>,
  ): JournalEntry | null {
    const { slotNow: at, monotonic, jumpedMs, jumpedAt } = instants;
    const event: Surroundings = {
      is: 'surroundings',
      electable,
      ageAheadMs: monotonic + jumpedMs - at,
      monotonicAheadMs: monotonic - at,
      jumpedAt: jumpedAt === null ? null : jumpedAt + jumpedMs,
      isStart: this.#last === null,
      aheadSlot,
      isResumed,
    };
    if (this.#last !== null && isSame(this.#last, event)) return null;
    return { monitorId: EVERY_MONITOR, at, place: 0, event };
  }

  /** The entry is written. */
  written({ event }: JournalEntry): void {
    if (event.is === 'surroundings') this.#last = event;
  }
}

function isSame(last: Surroundings, now: Surroundings): boolean {
  return (
    last.electable === now.electable &&
    last.isResumed === now.isResumed &&
    last.jumpedAt === now.jumpedAt &&
    Math.abs(last.ageAheadMs - now.ageAheadMs) < CLOCK_CHANGE_MS &&
    Math.abs(last.monotonicAheadMs - now.monotonicAheadMs) < CLOCK_CHANGE_MS
  );
}

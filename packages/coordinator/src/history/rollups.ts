import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import { expectResultsFrom, type Progress, writeProgress } from '../store/history/rollup-progress.ts';
import { removedMonitor, removeSomeRollups } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import { dayOf, HOUR_MS } from '../verdict/summary-range.ts';
import { closedUntil, readProgress, SETTLE_MS } from './progress.ts';
import { firstWidth, repairHours, rollUpDay, rollUpHour } from './rollup-steps.ts';

/**
 * Time after a start, and after a jump of the slots' clock, in which changes of status are often dated back,
 * ms. Roll-ups pause for this time, because a change in an hour that is rolled up needs a repair.
 */
export const DATED_BACK_MS = 2 * 60_000;
/**
 * Pause between two steps, ms. During most of the time, the reading thread
 * and the writing thread are free for other work.
 */
const PAUSE_MS = 40;
const IDLE_MS = 5_000;
/** Wait before svc checks again whether old results are still being read, ms. */
const ASK_AGAIN_MS = 500;
/**
 * Maximum wait until old results are read, ms. The wait is bounded, because a flooded or unreadable stream is
 * never read to its end, and because nothing is deleted without roll-ups.
 */
const LONGEST_WAIT_MS = 3 * HOUR_MS;

export type RollupParts = {
  store: Store;
  clock: Clock;
  /** The slots' clock, epoch ms. */
  slotNow: () => number;
  /** The clock for ages, epoch ms; see `believed-clock.ts`. */
  believedNow: () => number;
  /**
   * False while old results are being read, because each old result would need a repair. Also false for
   * {@link DATED_BACK_MS} after a jump of the slots' clock. The first call may return false before the
   * streams were inspected; see `ReadingProgress`.
   */
  isCaughtUp: () => boolean;
  log: Logger;
};

/**
 * Sums up stored results by monitor, region and hour. Sums up these hours, and the times in each status, by
 * day. The work is done in small steps, while results are being recorded.
 *
 * Every result counts once. The progress is written in the same transaction as the rows. A late result, whose
 * slot is before {@link Rollups.claimedUntil}, is recorded in one transaction with a mark for repair, and its
 * hour is rolled up again. So no result is lost if the process is killed. Only a result that comes when other
 * results of its time are deleted already is not counted.
 */
export class Rollups {
  readonly #parts: RollupParts;
  readonly #stopping = new AbortController();
  readonly #width = firstWidth();
  #progress: Progress;
  /** See {@link claimedUntil}, epoch ms. */
  #claimedUntil: number;
  /** All results without a mark whose slots are before this instant (epoch ms) are committed. */
  #committedUntil: number;
  /** When the present wait for old results began, monotonic ms; null: there is no wait. */
  #waitsSince: number | null = null;
  #running: Promise<void> = Promise.resolve();

  private constructor(parts: RollupParts, progress: Progress) {
    this.#parts = parts;
    this.#progress = progress;
    // If a part of the hour is already rolled up, the hour is claimed.
    this.#claimedUntil = progress.hour + (progress.phase > 0 ? HOUR_MS : 0);
    this.#committedUntil = this.#claimedUntil;
  }

  /** Loads the progress. Call it before anything is recorded. */
  static async load(parts: RollupParts): Promise<Rollups> {
    const progress = await parts.store.transaction(async (tx) => {
      const now = Math.floor(parts.slotNow());
      const found = await readProgress(tx, now);
      await writeProgress(tx, found);
      await expectResultsFrom(tx, dayOf(now));
      return found;
    });
    return new Rollups(parts, progress);
  }

  /**
   * The recorder stores a mark for repair with each result whose slot is before this instant (epoch ms), and
   * with each change of status that is dated before it. Read the instant inside the transaction, or in the
   * turn of the event loop that queues the transaction.
   */
  get claimedUntil(): number {
    return this.#claimedUntil;
  }

  /** Time for which the oldest complete hour has waited to be rolled up, ms. 0: none waits. */
  get behindMs(): number {
    return Math.max(0, this.#parts.slotNow() - SETTLE_MS - (this.#progress.hour + HOUR_MS));
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Stops after the step in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Does one step of work. Returns false if there is nothing to do now. */
  async step(): Promise<boolean> {
    const { store, slotNow, believedNow } = this.#parts;
    const until = closedUntil(slotNow());
    if (until > this.#committedUntil) await this.#claim(until);
    const moved =
      (await rollUpDay(store, this.#progress, believedNow())) ??
      (await rollUpHour(store, this.#progress, until, this.#width));
    if (moved !== null) this.#progress = moved;
    const hasRepaired = await repairHours(store, this.#progress, until);
    const hasRemoved = await removeOne(store);
    return moved !== null || hasRepaired || hasRemoved;
  }

  /**
   * Claims the hours before `until`. First, {@link claimedUntil} changes. Then an
   * empty transaction runs after all queued transactions. When it has ended, every
   * result that was recorded without a mark is committed.
   */
  async #claim(until: number): Promise<void> {
    this.#claimedUntil = until;
    await this.#parts.store.transaction(() => {});
    this.#committedUntil = until;
  }

  async #run(): Promise<void> {
    await pause(this.#parts.clock, DATED_BACK_MS, this.#stopping.signal);
    while (!this.#stopping.signal.aborted)
      await pause(this.#parts.clock, await this.#stepLogged(), this.#stopping.signal);
  }

  #waitsForReading(): boolean {
    const { clock, isCaughtUp } = this.#parts;
    const now = clock.monotonic();
    this.#waitsSince = isCaughtUp() ? null : (this.#waitsSince ?? now);
    return this.#waitsSince !== null && now - this.#waitsSince < LONGEST_WAIT_MS;
  }

  /** @returns the wait before the next step, ms */
  async #stepLogged(): Promise<number> {
    if (this.#waitsForReading()) return ASK_AGAIN_MS;
    try {
      return (await this.step()) ? PAUSE_MS : IDLE_MS;
    } catch (error) {
      this.#parts.log.error({ error }, 'rolling up results failed: svc tries again');
      return IDLE_MS;
    }
  }
}

/** Deletes some roll-ups of one deleted monitor. Returns false if no deleted monitor has roll-ups. */
async function removeOne(store: Store): Promise<boolean> {
  const monitorId = await removedMonitor(store);
  if (monitorId === null) return false;
  await store.transaction((tx) => removeSomeRollups(tx, monitorId));
  return true;
}

import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import { dayOf, HOUR_MS } from '../domain/summary-range.ts';
import { expectResultsFrom, type Progress, writeProgress } from '../store/rollup-progress.ts';
import { removedMonitor, removeSome } from '../store/rollups.ts';
import type { Store } from '../store/store.ts';
import { rollUpDay } from './days.ts';
import { firstWidth, rollUpHour } from './hours.ts';
import { closedUntil, readProgress } from './progress.ts';
import { repairHours } from './repairs.ts';

/** After a start and after a jump of the slots' clock, changes of status may be dated back for so long: nothing is done. */
export const DATED_BACK_MS = 2 * 60_000;
/** Rest between pieces of work: others get most of both threads. */
const PAUSE_MS = 40;
const IDLE_MS = 5_000;
/** An answer about the reading of results is good for not much longer. */
const ASK_AGAIN_MS = 500;

export type RollupParts = {
  store: Store;
  clock: Clock;
  /** The slots' clock, epoch ms. */
  slotNow: () => number;
  /** What is too old is judged by it, epoch ms: see `retention/believed-clock.ts`. */
  believedNow: () => number;
  /**
   * False while results are read that were reported long ago, each of which would be a repair, and for
   * {@link DATED_BACK_MS} after a jump. May say no at first and look, see `ReadingProgress`.
   */
  isCaughtUp: () => boolean;
  log: Logger;
};

/**
 * Sums up results by monitor, region and hour, and hours and verdicts by day, a little at a time and
 * apart from the recording, from what is stored.
 *
 * Every result is counted once: how far this is stands in the same transaction as the rows, and a
 * result that is recorded for an hour before {@link claimedUntil} has its hour repaired, which the
 * transaction that records it says. So a kill at any moment loses nothing.
 */
export class Rollups {
  readonly #parts: RollupParts;
  readonly #stopping = new AbortController();
  readonly #width = firstWidth();
  #progress: Progress;
  /** What is told, and up to where everything recorded without knowing of it is committed. */
  #claimedUntil: number;
  #committedUntil: number;
  #running: Promise<void> = Promise.resolve();

  private constructor(parts: RollupParts, progress: Progress) {
    this.#parts = parts;
    this.#progress = progress;
    // A part of the hour may be done.
    this.#claimedUntil = progress.hour + (progress.phase > 0 ? HOUR_MS : 0);
    this.#committedUntil = this.#claimedUntil;
  }

  /** To be called before anything is recorded. */
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
   * Results with a slot before it (epoch ms) are recorded with a mark for repair. To be asked inside the
   * transaction, or in the turn of the event loop in which the transaction is queued.
   */
  get claimedUntil(): number {
    return this.#claimedUntil;
  }

  /** Age of the oldest result that is not rolled up, ms; an hour and some minutes are normal. */
  get behindMs(): number {
    return Math.max(0, this.#parts.slotNow() - this.#progress.hour);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Waits for the piece of work in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** One piece of work. False: there is nothing to be done now. */
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
   * First told, then an empty transaction: it begins after all that were queued before, so every result that
   * was recorded without a mark is committed then.
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

  /** @returns ms to rest */
  async #stepLogged(): Promise<number> {
    if (!this.#parts.isCaughtUp()) return ASK_AGAIN_MS;
    try {
      return (await this.step()) ? PAUSE_MS : IDLE_MS;
    } catch (error) {
      this.#parts.log.error({ error }, 'rolling up results failed; it is tried again');
      return IDLE_MS;
    }
  }
}

/** Deletes some of the roll-ups of one deleted monitor. */
async function removeOne(store: Store): Promise<boolean> {
  const monitorId = await removedMonitor(store);
  if (monitorId === null) return false;
  await store.transaction((tx) => removeSome(tx, monitorId));
  return true;
}

import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import {
  type ChangeCursor,
  deleteAbsences,
  deleteAgentNames,
  deleteAuditLines,
  deleteDeliveries,
  deleteIncidents,
  deleteOfChannel,
  deleteOffGridSlots,
  deleteReasonChanges,
  deleteResults,
  deleteStatusChanges,
  deleteThreads,
  removedChannels,
} from '../store/history/retention.ts';
import { deleteUnconfirmed } from '../store/pages/page-recipients.ts';
import type { Store } from '../store/store.ts';
import { TOLERANCE_MS } from '../verdict/believed-time.ts';
import { DAY_MS } from '../verdict/summary-range.ts';
import type { BelievedClock } from './believed-clock.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** Delay of the first sweep after the start, ms. */
const FIRST_SWEEP_AFTER_MS = 60_000;
/** Pause between chunks, ms. It leaves four fifths of the writing thread to recording. */
const PAUSE_MS = 40;
/** Retention of the addresses of visitors who are not subscribers, ms, from their last request. */
const UNCONFIRMED_MS = 7 * DAY_MS;
/**
 * Retention of changes of status, incidents, absences and the audit
 * trail, ms: the range of the longest summary.
 */
const HISTORY_MS = 400 * DAY_MS;

/** Number of rows that a sweep has deleted, by kind of row. Rows of other kinds are not counted. */
export type Swept = {
  results: number;
  deliveries: number;
  transitions: number;
  incidents: number;
  absences: number;
  auditLines: number;
};

/**
 * Deletes data past its retention in small chunks, data of deleted monitors included. Results, finished
 * deliveries, and changes of a status's reason are kept for the number of days that is set. Changes of
 * status, closed incidents, ended absences of regions, and lines of the audit trail are kept for 400 days.
 * Addresses of visitors of status pages who are not subscribers are kept for 7 days after their last request.
 */
export class Retention {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #believed: BelievedClock;
  readonly #log: Logger;
  readonly #keepMs: number;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => {};
  #sweeping: Promise<void> = Promise.resolve();
  #cancelRemoval: () => void = () => {};
  #removing: Promise<void> = Promise.resolve();

  constructor(parts: {
    store: Store;
    clock: Clock;
    believed: BelievedClock;
    log: Logger;
    resultRetentionDays: number;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#believed = parts.believed;
    this.#log = parts.log;
    this.#keepMs = parts.resultRetentionDays * DAY_MS;
  }

  start(): void {
    this.#schedule(FIRST_SWEEP_AFTER_MS);
  }

  /** Stops after the chunk in progress, and saves the believed time. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    this.#cancelRemoval();
    await Promise.all([this.#sweeping, this.#removing]);
    await this.#saveBelieved();
  }

  /**
   * Deletes all data that is past its retention now, and the deliveries of removed
   * channels. Ends early when {@link stop} is called.
   */
  async sweep(): Promise<Swept> {
    const store = this.#store;
    const kept = () => this.#olderThan(this.#keepMs);
    const known = () => this.#olderThan(HISTORY_MS);
    const results = await this.#repeat(() => deleteResults(store, kept()));
    await this.#repeat(() => deleteAgentNames(store));
    await this.#repeat(() => deleteOffGridSlots(store, kept()));
    await this.#repeat(() => deleteUnconfirmed(store, this.#olderThan(UNCONFIRMED_MS)));
    const expired = await this.#repeat(() => deleteDeliveries(store, kept()));
    const deliveries = expired + (await this.#deleteOfRemovedChannels());
    await this.#repeat(() => deleteThreads(store, kept()));
    const reasons = await this.#repeat(() => deleteReasonChanges(store, kept()));
    const changes = await this.#sweepStatusChanges(known);
    const incidents = await this.#repeat(() => deleteIncidents(store, known()));
    const absences = await this.#repeat(() => deleteAbsences(store, known()));
    const auditLines = await this.#repeat(() => deleteAuditLines(store, known()));
    return { results, deliveries, transitions: reasons + changes, incidents, absences, auditLines };
  }

  /** Deletes the deliveries of removed channels soon, in small chunks. Called when a channel is removed. */
  sweepRemovedChannels(): void {
    this.#cancelRemoval();
    this.#cancelRemoval = this.#clock.after(PAUSE_MS, () => {
      this.#removing = this.#removing.then(() => this.#removeDeliveries());
    });
  }

  async #removeDeliveries(): Promise<void> {
    try {
      await this.#deleteOfRemovedChannels();
    } catch (error) {
      this.#log.error(
        { error },
        'deleting the deliveries of a removed channel failed: the next sweep tries it',
      );
    }
  }

  /** @returns the number of deleted rows */
  async #deleteOfRemovedChannels(): Promise<number> {
    let deleted = 0;
    while (!this.#stopping.signal.aborted) {
      const ids = await removedChannels(this.#store);
      if (ids.length === 0) break;
      for (const id of ids) deleted += await this.#repeat(() => deleteOfChannel(this.#store, id));
    }
    return deleted;
  }

  /**
   * Data from before the returned instant (epoch ms) is past a retention of `keepMs`. The instant is computed
   * for each chunk, because somebody may set the clock during a sweep.
   */
  #olderThan(keepMs: number): number {
    return this.#believed.now() - TOLERANCE_MS - keepMs;
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#sweeping = this.#sweepAndGoOn();
    });
  }

  async #sweepAndGoOn(): Promise<void> {
    try {
      const swept = await this.sweep();
      if (Object.values(swept).some((rows) => rows > 0)) {
        this.#log.debug(swept, 'deleted data past its retention');
      }
    } catch (error) {
      this.#log.error({ error }, 'deleting data past its retention failed: svc tries again within the hour');
    }
    if (this.#stopping.signal.aborted) return;
    await this.#saveBelieved();
    if (!this.#stopping.signal.aborted) this.#schedule(SWEEP_EVERY_MS);
  }

  async #saveBelieved(): Promise<void> {
    try {
      await this.#believed.save();
    } catch (error) {
      // The next process continues from an older believed time, so it deletes data later than necessary.
      this.#log.warn({ error }, 'could not save the time that decides about retention');
    }
  }

  async #sweepStatusChanges(cutoff: () => number): Promise<number> {
    let after: ChangeCursor | null = null;
    let deleted = 0;
    while (!this.#stopping.signal.aborted) {
      const chunk = await deleteStatusChanges(this.#store, cutoff(), after);
      if (chunk === null) break;
      deleted += chunk.deleted;
      after = chunk.after;
      await pause(this.#clock, PAUSE_MS, this.#stopping.signal);
    }
    return deleted;
  }

  /**
   * Calls `chunk`, with pauses, until it deletes nothing or the sweep is stopped. Returns the number of
   * deleted rows.
   */
  async #repeat(chunk: () => Promise<number>): Promise<number> {
    let deleted = 0;
    while (!this.#stopping.signal.aborted) {
      const more = await chunk();
      if (more === 0) break;
      deleted += more;
      await pause(this.#clock, PAUSE_MS, this.#stopping.signal);
    }
    return deleted;
  }
}

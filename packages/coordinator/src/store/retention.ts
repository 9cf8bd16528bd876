import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { sql } from 'kysely';
import type { Store, Transaction } from './store.ts';

const DAY_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;
/** The first sweep comes after the start has settled. */
const FIRST_SWEEP_AFTER_MS = 60_000;
/** Bounds of one transaction, so that the scheduling thread is held for less than 20 ms with its commit. */
const CHUNK_ROWS = 1_000;
const CHUNK_MS = 8;
const ROWS_PER_MONITOR = 200;
/** Rest between chunks: others get four fifths of the thread. */
const PAUSE_MS = 40;
const MONITORS_PER_PAGE = 500;

/** Deletes raw results and finished deliveries that are older than the retention, a little at a time. */
export class Retention {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #keepMs: number;
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => {};
  #sweeping: Promise<void> = Promise.resolve();

  constructor(parts: { store: Store; clock: Clock; log: Logger; resultRetentionDays: number }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#keepMs = parts.resultRetentionDays * DAY_MS;
  }

  start(): void {
    this.#schedule(FIRST_SWEEP_AFTER_MS);
  }

  /** Waits for the chunk in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer();
    await this.#sweeping;
  }

  /** Deletes all that is too old now. Ends early when stopped. */
  async sweep(): Promise<{ results: number; deliveries: number }> {
    const cutoff = this.#clock.wall() - this.#keepMs;
    const results = await this.#sweepResults(cutoff);
    const deliveries = await this.#repeat((tx) => deleteDeliveries(tx, cutoff));
    return { results, deliveries };
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#sweeping = this.#sweepAndGoOn();
    });
  }

  async #sweepAndGoOn(): Promise<void> {
    try {
      const deleted = await this.sweep();
      if (deleted.results + deleted.deliveries > 0)
        this.#log.debug(deleted, 'deleted what is past its retention');
    } catch (error) {
      this.#log.error({ error }, 'deleting old results failed; it is tried again within the hour');
    }
    if (!this.#stopping.signal.aborted) this.#schedule(SWEEP_EVERY_MS);
  }

  async #sweepResults(cutoff: number): Promise<number> {
    let deleted = 0;
    let after = 0;
    while (!this.#stopping.signal.aborted) {
      const monitors = await this.#monitorsWithOld(after, cutoff);
      if (monitors.length === 0) break;
      after = monitors.at(-1) ?? after;
      deleted += await this.#repeat((tx) => this.#deleteResults(tx, monitors, cutoff));
    }
    return deleted;
  }

  /** Ids above `after`, deleted monitors' included, that have a result before `cutoff`: one index step per monitor. */
  async #monitorsWithOld(after: number, cutoff: number): Promise<number[]> {
    const { rows } = await sql<{ id: number }>`
      WITH RECURSIVE ids (id) AS (
        SELECT (SELECT min(monitor_id) FROM results WHERE monitor_id > ${after})
        UNION ALL
        SELECT (SELECT min(monitor_id) FROM results WHERE monitor_id > ids.id) FROM ids WHERE ids.id IS NOT NULL
      )
      SELECT id FROM ids
      WHERE id IS NOT NULL AND (SELECT min(slot) FROM results WHERE monitor_id = ids.id) < ${cutoff}
      LIMIT ${MONITORS_PER_PAGE}`.execute(this.#store.read);
    return rows.map(({ id }) => id);
  }

  /** Takes the monitors that are finished off the front of the list. */
  #deleteResults({ sqlite }: Transaction, monitors: number[], cutoff: number): number {
    if (monitors.length === 0) return 0;
    const remove = sqlite.prepare(`
      DELETE FROM results WHERE monitor_id = ?1 AND slot <= (
        SELECT max(slot) FROM (
          SELECT slot FROM results WHERE monitor_id = ?1 AND slot < ?2 ORDER BY slot LIMIT ${ROWS_PER_MONITOR}))`);
    const end = this.#clock.monotonic() + CHUNK_MS;
    let deleted = 0;
    do {
      const changes = Number(remove.run(monitors[0] ?? 0, cutoff).changes);
      deleted += changes;
      if (changes < ROWS_PER_MONITOR) monitors.shift();
    } while (monitors.length > 0 && deleted < CHUNK_ROWS && this.#clock.monotonic() < end);
    return deleted;
  }

  /** Runs `chunk` in transactions of their own, with a rest between, until one deletes nothing. */
  async #repeat(chunk: (tx: Transaction) => number): Promise<number> {
    let deleted = 0;
    while (!this.#stopping.signal.aborted) {
      const more = await this.#store.transaction(chunk);
      if (more === 0) break;
      deleted += more;
      await this.#pause();
    }
    return deleted;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(PAUSE_MS, () => {
        this.#stopping.signal.removeEventListener('abort', stop);
        resolve();
      });
      const stop = () => {
        cancel();
        resolve();
      };
      this.#stopping.signal.addEventListener('abort', stop, { once: true });
    });
  }
}

function deleteDeliveries({ sqlite }: Transaction, cutoff: number): number {
  const { changes } = sqlite
    .prepare(`
      DELETE FROM deliveries WHERE id IN (
        SELECT id FROM deliveries WHERE finished_at < ? AND state != 'pending' LIMIT 200)`)
    .run(cutoff);
  return Number(changes);
}

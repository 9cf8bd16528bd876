import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DAY_MS, hourOf } from '../domain/summary-range.ts';
import type { SqlValue, Store, Transaction } from './store.ts';

const SWEEP_EVERY_MS = 3_600_000;
/** The first sweep comes after the start has settled. */
const FIRST_SWEEP_AFTER_MS = 60_000;
/** Of one transaction, so that others wait for it less than 20 ms. */
const CHUNK_ROWS = 1_000;
/** Rest between chunks: others get four fifths of the writing thread. */
const PAUSE_MS = 40;

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
    const results = await this.#repeat(async (tx) => deleteResults(tx, await prunableUntil(tx, cutoff)));
    await this.#repeat((tx) => deleteOffGridSlots(tx, cutoff));
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

  /** Runs `chunk` in transactions of their own, with a rest between, until one deletes nothing. */
  async #repeat(chunk: (tx: Transaction) => Promise<number>): Promise<number> {
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
    if (this.#stopping.signal.aborted) return Promise.resolve();
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

/**
 * Beginning of the first hour whose results stay: only whole hours go, none that is not rolled up, and
 * none with a result that its roll-up does not count yet. From here on the hours before are not
 * rolled up again. Nothing is deleted before the roll-ups have begun.
 */
async function prunableUntil(tx: Transaction, cutoff: number): Promise<number> {
  const [row] = await tx.query<{ results_from: number }>(
    `UPDATE rollup_progress SET results_from = max(results_from,
        min(?, hour, coalesce((SELECT min(hour) FROM rollup_repairs), hour)))
      RETURNING results_from`,
    [hourOf(cutoff)],
  );
  return row?.results_from ?? 0;
}

/** From the oldest on, deleted monitors' included: they lie in the order of time. */
async function deleteResults(tx: Transaction, cutoff: number): Promise<number> {
  const [end] = await tx.query<{ slot: number; monitor_id: number; region: string }>(
    `SELECT slot, monitor_id, region FROM results WHERE slot < ?
      ORDER BY slot, monitor_id, region LIMIT 1 OFFSET ${CHUNK_ROWS}`,
    [cutoff],
  );
  if (end === undefined) return changesOf(tx, 'DELETE FROM results WHERE slot < ?', [cutoff]);
  return changesOf(tx, 'DELETE FROM results WHERE (slot, monitor_id, region) < (?, ?, ?)', [
    end.slot,
    end.monitor_id,
    end.region,
  ]);
}

function deleteOffGridSlots(tx: Transaction, cutoff: number): Promise<number> {
  return changesOf(
    tx,
    `DELETE FROM off_grid_slots WHERE (monitor_id, slot) IN (
        SELECT monitor_id, slot FROM off_grid_slots WHERE slot < ? LIMIT ${CHUNK_ROWS})`,
    [cutoff],
  );
}

function deleteDeliveries(tx: Transaction, cutoff: number): Promise<number> {
  return changesOf(
    tx,
    `DELETE FROM deliveries WHERE id IN (
        SELECT id FROM deliveries WHERE finished_at < ? AND state != 'pending' LIMIT 200)`,
    [cutoff],
  );
}

/** Rows that one statement has written. */
async function changesOf(tx: Transaction, sql: string, parameters: readonly SqlValue[]): Promise<number> {
  const [written] = await tx.runEach(sql, [parameters]);
  return written?.changes ?? 0;
}

import type { Clock } from '@svc/shared/clock.ts';
import type { StatusSince } from '../domain/uptime.ts';

/** Monitors of one read. */
const PAGE = 200;
/** After a read that failed, ms. */
const AGAIN_AFTER_MS = 5_000;

type Parts = {
  readonly clock: Clock;
  /** Statuses of the monitors in the time that the uptime is about. */
  readonly read: (monitorIds: readonly number[]) => Promise<ReadonlyMap<number, readonly StatusSince[]>>;
  readonly onRead: (monitorId: number, history: readonly StatusSince[]) => void;
  readonly onError: (error: unknown) => void;
};

/**
 * Reads the histories of monitors that are exported from now on. An apply may declare thousands of them at once, so they
 * are read many together, one read after the other.
 */
export class HistoryReading {
  readonly #parts: Parts;
  readonly #wanted = new Set<number>();
  #isReading = false;
  #isStopped = false;
  #cancelWait: () => void = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  want(monitorId: number): void {
    this.#wanted.add(monitorId);
    if (this.#isReading || this.#isStopped) return;
    this.#isReading = true;
    // Monitors that are declared together are reported together.
    setImmediate(() => void this.#readAll());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelWait();
  }

  async #readAll(): Promise<void> {
    const { clock, read, onRead, onError } = this.#parts;
    while (this.#wanted.size > 0 && !this.#isStopped) {
      const ids = [...this.#wanted].slice(0, PAGE);
      for (const id of ids) this.#wanted.delete(id);
      try {
        const histories = await read(ids);
        if (this.#isStopped) return;
        for (const id of ids) onRead(id, histories.get(id) ?? []);
      } catch (error) {
        if (this.#isStopped) return;
        onError(error);
        for (const id of ids) this.#wanted.add(id);
        this.#cancelWait = clock.after(AGAIN_AFTER_MS, () => void this.#readAll());
        return;
      }
    }
    this.#isReading = false;
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import { type LiveWindow, nextOccurrence, Windows } from '../verdict/maintenance-window.ts';
import { Deadlines } from './deadlines.ts';

/** Highest speed of the slots' clock relative to the monotonic clock, apart from jumps. */
const FASTEST = 1.1;
/** Longest wait until a window is checked again, ms. A timer of Node takes at most 24 days. */
const LOOK_EVERY_MS = 12 * 3_600_000;

export type MaintenanceHoldParts = {
  readonly clock: Clock;
  readonly slotClock: { now(): number; onJump(listener: () => void): () => void };
};

/**
 * Holds the maintenance windows and the mutes, which count as windows here. The evaluation asks
 * {@link windows} whether a monitor's announcements are held. When an occurrence of a window ends, this class
 * has the present statuses announced, because perhaps no result arrives that would cause an evaluation.
 */
export class MaintenanceHold {
  readonly windows = new Windows();
  readonly #parts: MaintenanceHoldParts;
  readonly #deadlines: Deadlines;
  /** For each window, the end of its present or next occurrence, epoch ms on the slots' clock. */
  readonly #ends = new Map<number, number>();
  #ignoreJumps: () => void = () => {};

  #announce: (monitorIds: readonly number[]) => void = () => {};

  constructor(parts: MaintenanceHoldParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock, (windowId) => this.#lookAt(windowId));
  }

  /**
   * @param announce announces the present status of these monitors to their channels. It is called when an
   *   occurrence of a window of the monitors is over
   */
  start(announce: (monitorIds: readonly number[]) => void): void {
    this.#announce = announce;
    this.#ignoreJumps = this.#parts.slotClock.onJump(() => {
      for (const { id } of this.windows.values()) this.#arm(id);
    });
    this.#deadlines.start();
  }

  stop(): void {
    this.#ignoreJumps();
    this.#deadlines.stop();
  }

  /**
   * Changes the windows after an evaluation has changed them, or adds those that were loaded. The evaluation
   * has announced the statuses that the changed windows did not hold any more at `since`. If an occurrence ended
   * after `since`, while the change was being written, this method has the statuses announced.
   *
   * @param changes by their ids; null: the window was removed
   * @param since   the instant of the evaluation or of the loading, epoch ms on the slots' clock
   */
  changeWindows(changes: ReadonlyMap<number, LiveWindow | null>, since: number): void {
    for (const [id, window] of changes) {
      this.windows.set(id, window);
      this.#ends.delete(id);
      this.#arm(id, since);
    }
  }

  #lookAt(windowId: number): void {
    const window = this.windows.get(windowId);
    if (window === undefined) return;
    const end = this.#ends.get(windowId);
    if (end !== undefined && end <= this.#parts.slotClock.now()) {
      this.#ends.delete(windowId);
      this.#announce(window.monitorIds);
    }
    this.#arm(windowId);
  }

  /**
   * Arms the deadline for the next end of an occurrence of the window.
   *
   * @param since epoch ms on the slots' clock. If no end is known
   *   for the window, the first end after this instant is used
   */
  #arm(windowId: number, since = this.#parts.slotClock.now()): void {
    const window = this.windows.get(windowId);
    if (window === undefined) return;
    const { clock, slotClock } = this.#parts;
    const end = this.#ends.get(windowId) ?? nextOccurrence(window.times, since)?.until;
    if (end === undefined) return;
    this.#ends.set(windowId, end);
    const waitMs = Math.min(LOOK_EVERY_MS, Math.max(0, end - slotClock.now()) / FASTEST);
    this.#deadlines.arm(windowId, clock.monotonic() + waitMs);
  }
}

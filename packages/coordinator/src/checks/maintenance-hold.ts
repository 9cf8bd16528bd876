import type { Clock } from '@svc/shared/clock.ts';
import { nextOccurrence, Windows } from '../verdict/maintenance-window.ts';
import { Deadlines } from './deadlines.ts';

/** The slots' clock follows the system's clock by at most a tenth faster than time passes. */
const FASTEST = 1.1;
/** A window is looked at so often at least, because a timer of Node takes at most 24 days, ms. */
const LOOK_EVERY_MS = 12 * 3_600_000;

export type MaintenanceHoldParts = {
  readonly clock: Clock;
  readonly slotClock: { now(): number; onJump(listener: () => void): () => void };
};

/**
 * Holds announcements during maintenance windows. The evaluation itself asks {@link windows} whether a monitor is
 * held at its instant. This keeps the windows between evaluations, and notices when an occurrence is over, because
 * nothing else happens then.
 */
export class MaintenanceHold {
  readonly #parts: MaintenanceHoldParts;
  readonly #deadlines: Deadlines;
  /** End of the present or next occurrence by window, epoch ms on the slots' clock. */
  readonly #ends = new Map<number, number>();
  #windows = Windows.NONE;
  #ignoreJumps: () => void = () => {};

  #announce: (monitorIds: readonly number[]) => void = () => {};

  constructor(parts: MaintenanceHoldParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock, (windowId) => this.#lookAt(windowId));
  }

  get windows(): Windows {
    return this.#windows;
  }

  /**
   * @param announce called when an occurrence is over. It tells the channels of these monitors the present
   *   status
   */
  start(announce: (monitorIds: readonly number[]) => void): void {
    this.#announce = announce;
    this.#ignoreJumps = this.#parts.slotClock.onJump(() => {
      for (const { id } of this.#windows.values()) this.#arm(id);
    });
    this.#deadlines.start();
  }

  stop(): void {
    this.#ignoreJumps();
    this.#deadlines.stop();
  }

  /**
   * Takes other windows. What they held no longer at `since` has been told. An occurrence that has ended after it ends
   * here: the change took its time to be written.
   *
   * @param since the instant of the evaluation that took the windows over, epoch ms on the slots' clock
   */
  replaceWindows(windows: Windows, since: number): void {
    const before = this.#windows;
    this.#windows = windows;
    for (const window of windows.values()) {
      if (before.get(window.id) === window) continue;
      this.#ends.delete(window.id);
      this.#arm(window.id, since);
    }
    for (const { id } of before.values()) if (windows.get(id) === undefined) this.#ends.delete(id);
  }

  #lookAt(windowId: number): void {
    const window = this.#windows.get(windowId);
    if (window === undefined) return;
    const end = this.#ends.get(windowId);
    if (end !== undefined && end <= this.#parts.slotClock.now()) {
      this.#ends.delete(windowId);
      this.#announce(window.monitorIds);
    }
    this.#arm(windowId);
  }

  /** @param since the next end is the first one after it, if none is known, epoch ms on the slots' clock */
  #arm(windowId: number, since = this.#parts.slotClock.now()): void {
    const window = this.#windows.get(windowId);
    if (window === undefined) return;
    const { clock, slotClock } = this.#parts;
    const end = this.#ends.get(windowId) ?? nextOccurrence(window.times, since)?.until;
    if (end === undefined) return;
    this.#ends.set(windowId, end);
    const waitMs = Math.min(LOOK_EVERY_MS, Math.max(0, end - slotClock.now()) / FASTEST);
    this.#deadlines.arm(windowId, clock.monotonic() + waitMs);
  }
}

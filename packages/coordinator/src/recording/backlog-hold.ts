import type { Clock } from '@svc/shared/clock.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { checkEnd } from '../domain/check-end.ts';
import { Deadlines } from './deadlines.ts';

/** A check that ended so long before its result was read was not reported at once: it comes from a backlog, ms. */
const OLD_MS = 30_000;
/** The backlog of a monitor is read when none of its results was old for this long, ms. */
const QUIET_MS = 3_000;
/** However long the backlog is, or however many there are, a monitor is held for so long in all, ms, */
const LONGEST_MS = 60_000;
/** until this long after the first of its holds has ended, ms: old results delay no alert at will. */
const NOT_AGAIN_MS = 600_000;

export type BacklogHoldOptions = {
  readonly clock: Clock;
  readonly slotClock: { now(): number };
  /** The holds of these monitors are over: their channels are to be told what is true by now. */
  readonly onEnd: (monitorIds: readonly number[]) => void;
};

/**
 * Holds announcements about monitors whose results come from a backlog: the uplink of the coordinator or of
 * agents was gone, and what they kept is read in one go. What it tells of the past is recorded, and votes as
 * far as it is young enough; told is only what still holds at its end.
 */
export class BacklogHold {
  readonly #options: BacklogHoldOptions;
  /** By monitor: when its hold began, when it ends, and at the latest, monotonic ms. */
  readonly #held = new Map<number, { readonly began: number; until: number; readonly latest: number }>();
  /** By monitor: for how long it was held lately, ms, and when that is forgotten, monotonic ms. */
  readonly #spent = new Map<number, { readonly heldMs: number; readonly until: number }>();
  readonly #deadlines: Deadlines;

  constructor(options: BacklogHoldOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock, (monitorId) => this.#lookAt(monitorId));
  }

  start(): void {
    this.#deadlines.start();
  }

  stop(): void {
    this.#deadlines.stop();
  }

  /** A result has come, and is evaluated next. */
  read(result: CheckResult): void {
    if (result.outcome === 'not_run') return;
    const { clock, slotClock } = this.#options;
    const slotNow = slotClock.now();
    if (slotNow - result.slot < OLD_MS || slotNow - checkEnd(result, slotNow) < OLD_MS) return;
    const now = clock.monotonic();
    const held = this.#held.get(result.monitor);
    if (held === undefined) {
      const leftMs = LONGEST_MS - (this.#spentOf(result.monitor, now)?.heldMs ?? 0);
      if (leftMs < QUIET_MS) return;
      this.#held.set(result.monitor, { began: now, until: now + QUIET_MS, latest: now + leftMs });
      this.#deadlines.arm(result.monitor, now + QUIET_MS);
    } else held.until = Math.min(now + QUIET_MS, held.latest);
  }

  isHeld(monitorId: number): boolean {
    return this.#held.has(monitorId);
  }

  /** Undefined: nothing that counts still. */
  #spentOf(monitorId: number, now: number): { heldMs: number; until: number } | undefined {
    const spent = this.#spent.get(monitorId);
    if (spent === undefined || spent.until > now) return spent;
    this.#spent.delete(monitorId);
    return undefined;
  }

  #lookAt(monitorId: number): void {
    const held = this.#held.get(monitorId);
    if (held === undefined) return;
    const now = this.#options.clock.monotonic();
    if (held.until > now) {
      this.#deadlines.arm(monitorId, held.until);
      return;
    }
    this.#held.delete(monitorId);
    const { heldMs = 0, until = now + NOT_AGAIN_MS } = this.#spentOf(monitorId, now) ?? {};
    this.#spent.set(monitorId, { heldMs: heldMs + now - held.began, until });
    this.#options.onEnd([monitorId]);
  }
}

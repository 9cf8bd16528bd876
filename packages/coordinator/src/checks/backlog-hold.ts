import type { Clock } from '@svc/shared/clock.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { checkEnd } from '../verdict/check-duration.ts';
import { Deadlines } from './deadlines.ts';

/**
 * A result that is read this long after the end of its check comes from a backlog, ms. The age is not counted
 * from the slot, because a check of four attempts of 45 s is reported only at its end.
 */
const OLD_MS = 30_000;
/** The backlog of a monitor is over when no old result of the monitor has come for this long, ms. */
const QUIET_MS = 3_000;
/**
 * Longest total time for which a monitor is held, over all its backlogs until this total starts again, ms.
 */
const LONGEST_MS = 60_000;
/**
 * Time after the end of a monitor's first hold at which its total time starts again from 0, ms. Because of
 * the total, an agent that keeps sending old results cannot delay alerts for ever.
 */
const NOT_AGAIN_MS = 600_000;

export type BacklogHoldParts = {
  readonly clock: Clock;
  readonly slotClock: { now(): number };
};

/**
 * Holds announcements about monitors whose results come from a backlog: the coordinator, or the uplink of the
 * coordinator or of agents, was down, and the kept results are now read together. The results are recorded,
 * and the results that are young enough become votes. Only the status at the end of the hold is announced.
 */
export class BacklogHold {
  readonly #parts: BacklogHoldParts;
  /** The holds by monitor: beginning, end, and latest possible end, monotonic ms. */
  readonly #held = new Map<number, { readonly began: number; until: number; readonly latest: number }>();
  /**
   * Total time for which each monitor was held (ms), and when this total is forgotten (monotonic ms). Entries
   * are in the order in which they are forgotten.
   */
  readonly #spent = new Map<number, { readonly heldMs: number; readonly until: number }>();
  readonly #deadlines: Deadlines;

  #announce: (monitorIds: readonly number[]) => void = () => {};

  constructor(parts: BacklogHoldParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.clock, (monitorId) => this.#lookAt(monitorId));
  }

  /**
   * @param announce announces the present status of these monitors to their channels. It is called when the
   *   holds of the monitors are over
   */
  start(announce: (monitorIds: readonly number[]) => void): void {
    this.#announce = announce;
    this.#deadlines.start();
  }

  stop(): void {
    this.#deadlines.stop();
  }

  /** Handles results that are about to be evaluated: holds the monitors whose results are old. */
  holdBacklog(results: readonly CheckResult[]): void {
    if (this.#spent.size > 0) this.#forgetSpent();
    const slotNow = this.#parts.slotClock.now();
    for (let index = 0; index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      const { outcome, slot } = result;
      if (outcome === 'not_run' || slotNow - slot < OLD_MS) continue;
      if (slotNow - checkEnd(result, slotNow) >= OLD_MS) this.#hold(result);
    }
  }

  #hold(result: CheckResult): void {
    const now = this.#parts.clock.monotonic();
    const held = this.#held.get(result.monitor);
    if (held === undefined) {
      const leftMs = LONGEST_MS - (this.#spentOf(result.monitor, now)?.heldMs ?? 0);
      if (leftMs < QUIET_MS) return;
      this.#held.set(result.monitor, { began: now, until: now + QUIET_MS, latest: now + leftMs });
      this.#deadlines.arm(result.monitor, now + QUIET_MS);
    } else held.until = Math.min(now + QUIET_MS, held.latest);
  }

  /** Number of holds and totals in memory. */
  get size(): number {
    return this.#held.size + this.#spent.size;
  }

  isHeld(monitorId: number): boolean {
    return this.#held.has(monitorId);
  }

  /** Forgets expired totals. A backlog may have held every monitor, so the totals must not stay in memory. */
  #forgetSpent(): void {
    const now = this.#parts.clock.monotonic();
    for (const [monitorId, { until }] of this.#spent) {
      if (until > now) return;
      this.#spent.delete(monitorId);
    }
  }

  /** The total time for which the monitor was held, if this total still counts; otherwise undefined. */
  #spentOf(monitorId: number, now: number): { heldMs: number; until: number } | undefined {
    const spent = this.#spent.get(monitorId);
    if (spent === undefined || spent.until > now) return spent;
    this.#spent.delete(monitorId);
    return undefined;
  }

  #lookAt(monitorId: number): void {
    const held = this.#held.get(monitorId);
    if (held === undefined) return;
    const now = this.#parts.clock.monotonic();
    if (held.until > now) {
      this.#deadlines.arm(monitorId, held.until);
      return;
    }
    this.#held.delete(monitorId);
    const { heldMs = 0, until = now + NOT_AGAIN_MS } = this.#spentOf(monitorId, now) ?? {};
    this.#spent.set(monitorId, { heldMs: heldMs + now - held.began, until });
    this.#announce([monitorId]);
  }
}

import { RETRY_AFTER_MAXIMUM_MS } from './backoff.ts';

/** Waits after refusals in a row that name no wait, ms: doubled each time. */
const FIRST_HOLD_MS = 1_000;
const LONGEST_HOLD_MS = 60_000;
/** Spread on top of what a receiver asks for: a part of it, and at most so many ms. */
const SPREAD = 0.05;
const LONGEST_SPREAD_MS = 30_000;
/** Margin on a learned interval, so that a quick network does not bring a send too early. */
const MARGIN = 1.02;
/** Most of an interval that is added for the way to the receiver: a send may arrive late, and the next not. */
const LATE_ARRIVAL = 0.05;
/** Longest learned interval between two sends, ms: a longer wait is a quota, not a rate. */
const LONGEST_INTERVAL_MS = 5_000;
/** Shortest interval that is kept, ms. */
const SHORTEST_INTERVAL_MS = 10;
/** Time without a refusal after which the interval is halved, ms. */
const HALVED_AFTER_MS = 60_000;

/**
 * How fast a receiver takes alerts, as learned from its refusals ("too many requests"). Instants are ms of one
 * monotonic clock.
 *
 * A refusal holds the channel for as long as the receiver asked. After that, sends are spaced: as many fit
 * into such a wait as were taken before the refusal. Without the spacing, every alert would cost a refused
 * request. The interval is halved with each minute without a refusal, because receivers round their waits up,
 * and because their limits change.
 */
export class Pace {
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** As learned at the last refusal; 0: none. */
  #intervalMs = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #lastStart = Number.NEGATIVE_INFINITY;
  #startBefore = Number.NEGATIVE_INFINITY;
  /** In a row. */
  #refusals = 0;
  /** Deliveries since the last refusal. */
  #taken = 0;

  /** When the next send may start; in the past: at once. */
  readyAt(now: number): number {
    return Math.max(this.#heldUntil, this.#lastStart + this.#interval(now));
  }

  started(now: number): void {
    this.#startBefore = this.#lastStart;
    this.#lastStart = now;
  }

  /** What was started was not sent after all. */
  givenBack(): void {
    this.#lastStart = this.#startBefore;
  }

  /** The receiver took an alert, whose send started at `startedAt`. */
  taken(now: number, startedAt: number): void {
    const late = Math.min(now - startedAt, LATE_ARRIVAL * this.#interval(now));
    this.#lastStart = Math.max(this.#lastStart, startedAt + late);
    this.#refusals = 0;
    this.#taken += 1;
  }

  /**
   * The receiver refused a send for now.
   *
   * @param startedAt when that send started
   * @param askedMs the wait that it asked for; undefined: it named none
   * @param random uniform in [0, 1)
   */
  refused(now: number, startedAt: number, askedMs: number | undefined, random: number): void {
    // Of several sends at once only the first refusal says something new.
    const isNew = startedAt >= this.#refusedAt;
    if (isNew) this.#refusals += 1;
    const waitMs = askedMs ?? Math.min(FIRST_HOLD_MS * 2 ** (this.#refusals - 1), LONGEST_HOLD_MS);
    this.hold(now, waitMs, random);
    if (!isNew) return;
    this.#intervalMs = this.#learned(now, waitMs);
    this.#refusedAt = now;
    this.#taken = 0;
  }

  /** The receiver asked for a wait. */
  hold(now: number, askedMs: number, random: number): void {
    const asked = Math.min(askedMs, RETRY_AFTER_MAXIMUM_MS);
    const spread = Math.min(asked * SPREAD, LONGEST_SPREAD_MS) * random;
    this.#heldUntil = Math.max(this.#heldUntil, now + asked + spread);
  }

  /** Nothing that was learned counts any more. */
  reset(): void {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#intervalMs = 0;
    this.#refusals = 0;
    this.#taken = 0;
  }

  #interval(now: number): number {
    if (this.#intervalMs === 0) return 0;
    const halvings = Math.floor((now - this.#refusedAt) / HALVED_AFTER_MS);
    const interval = this.#intervalMs / 2 ** halvings;
    return interval < SHORTEST_INTERVAL_MS ? 0 : interval;
  }

  #learned(now: number, waitMs: number): number {
    const before = this.#interval(now);
    const fitting = before === 0 ? this.#taken : Math.min(this.#taken, Math.ceil(waitMs / before));
    return Math.max(before, Math.min((waitMs * MARGIN) / Math.max(1, fitting), LONGEST_INTERVAL_MS));
  }
}

import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';
import type { Doubts } from './doubts.ts';
import { castInto, isTooOld } from './following-votes.ts';
import { isFresh, type Vote } from './rule.ts';

/** Part by which the slots' clock may run faster or slower than the monotonic clock. */
const AGES_DIFFER_PART = 0.1;

/** Ages are stored in whole milliseconds. */
const STORED_MS = 1;

/**
 * The last vote of each region, fresh or aged. Also knows
 * for how long votes count, and when the next vote may age.
 */
export class Votes {
  readonly #last = new Map<Region, Vote>();
  readonly #doubts: Doubts;
  #countedMs = 0;
  /** Instant up to which nothing ages, unless the electorate changes. */
  #agesAt = Number.NEGATIVE_INFINITY;

  constructor(doubts: Doubts) {
    this.#doubts = doubts;
  }

  get byRegion(): ReadonlyMap<Region, Vote> {
    return this.#last;
  }

  get(region: Region): Vote | undefined {
    return this.#last.get(region);
  }

  all(): Vote[] {
    return [...this.#last.values()];
  }

  /** Sets the time for which new votes count, ms. Returns the difference to the time before, ms. */
  countFor(ms: number): number {
    const byMs = ms - this.#countedMs;
    this.#countedMs = ms;
    return byMs;
  }

  /**
   * Sets the time for which all votes count after a start, ms. If a vote has aged by
   * only one of the two times, it depends on the writes of the service whether it has
   * aged, so it is in doubt. Returns whether the time differs from the time before.
   */
  startWith(ms: number, now: Now): boolean {
    const byMs = this.countFor(ms);
    if (byMs === 0) return false;
    this.#agesAt = Number.NEGATIVE_INFINITY;
    for (const vote of this.#last.values()) {
      const freshUntil = vote.freshUntil + byMs;
      if (isFresh(vote, now.age) !== isFresh({ freshUntil }, now.age))
        this.#doubts.add(vote.region, Math.max(freshUntil, vote.freshUntil));
      this.#last.set(vote.region, { ...vote, freshUntil });
    }
    return true;
  }

  /**
   * Handles a start. A vote that was cast before the clock was set back counts
   * for no longer than a new vote. It is at least as old as it was when it was
   * written, which was up to `backMs` after the present of the clock.
   *
   * The stored times are on the slots' clock. After the system's clock was set (`wasClockSet`), this clock
   * runs up to a tenth faster or slower than the monotonic clock, on which votes age. So votes are in doubt
   * around the instant at which they age. Slots whose decision depends on this are decided within a period.
   */
  restarted(
    now: Now,
    { backMs, wasClockSet }: { readonly backMs: number; readonly wasClockSet: boolean },
    periodMs: number,
  ): void {
    const laterMs = wasClockSet ? this.#countedMs * AGES_DIFFER_PART : 0;
    const soonerMs = Math.max(backMs, laterMs, STORED_MS);
    const lastsMs = soonerMs > STORED_MS ? laterMs + periodMs : STORED_MS;
    for (const vote of this.#last.values()) {
      const freshUntil = Math.min(vote.freshUntil, now.age + this.#countedMs);
      this.#last.set(vote.region, { ...vote, freshUntil });
      this.#doubts.widen(vote.region, soonerMs, laterMs);
      this.#doubts.addAlso(vote.region, freshUntil - soonerMs, freshUntil + lastsMs);
    }
  }

  /** Puts all votes in doubt, until each region has voted again. */
  doubtAll(): void {
    for (const region of this.#last.keys()) this.#doubts.add(region, Number.POSITIVE_INFINITY);
  }

  /** Removes the votes about slots after `newest`. */
  setAside(newest: number, now: Now): void {
    for (const { region, slot } of this.#last.values()) {
      if (slot <= newest) continue;
      this.#last.delete(region);
      // The removed vote may have replaced a vote that is believed.
      this.#doubts.add(region, now.age + this.#countedMs);
    }
    this.#agesAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Lets {@link mayHaveAged} return true at the next call. Call it when votes that
   * were enough may be too few now, for example after a change of the electorate.
   */
  lookAgain(): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
  }

  /** Instant until which a vote counts that is cast now. */
  freshUntil(now: Now): number {
    return now.age + this.#countedMs;
  }

  /** Casts reports of a slot that is decided now. Returns whether the vote of a region has changed. */
  castAll(news: readonly Vote[], monitor: LiveMonitor, now: Now): boolean {
    const freshUntil = this.freshUntil(now);
    this.agesBy(freshUntil);
    const isDoubted = this.#doubts.any(now);
    let isNew = false;
    for (const vote of news) {
      // After a downtime, the service may read the report late.
      if (isTooOld(vote.slot, monitor, now)) continue;
      isNew = this.cast({ ...vote, freshUntil }, monitor, now, isDoubted) || isNew;
    }
    return isNew;
  }

  /**
   * Casts a vote. Returns whether the region's vote has changed.
   *
   * @param isDoubted whether another vote is in doubt. The slot may then be decided up to
   *   a period earlier or later, and the vote may age earlier or later by the same time
   */
  cast(
    vote: Vote,
    monitor: LiveMonitor | null,
    now: Now,
    isDoubted: boolean = this.#doubts.any(now),
  ): boolean {
    // A report about an older slot does not replace the vote, so it is not known either when the vote ages.
    if (vote.slot > (this.#last.get(vote.region)?.slot ?? 0)) this.#doubts.cast(vote);
    const { periodMs = 0 } = monitor ?? {};
    if (isDoubted) this.#doubts.addAlso(vote.region, vote.freshUntil - periodMs, vote.freshUntil + periodMs);
    return castInto(this.#last, vote, monitor, now);
  }

  /** Records that a vote ages after this instant. */
  agesBy(freshUntil: number): void {
    this.#agesAt = Math.min(this.#agesAt, freshUntil);
  }

  /** Whether a vote may have aged since this method last returned true. */
  mayHaveAged({ age }: Now): boolean {
    if (age <= this.#agesAt) return false;
    this.#agesAt = Math.min(...this.all().map(untilAfter(age)));
    return true;
  }

  /** Instant at which the newest of the aged votes aged; null: no vote has aged. */
  lastAgedAt({ age }: Now): number | null {
    const ended = this.all()
      .filter((vote) => !isFresh(vote, age))
      .map(({ freshUntil }) => freshUntil);
    return ended.length === 0 ? null : Math.max(...ended);
  }

  /** Lets the present votes count longer by this time, or shorter if it is negative, ms. */
  shift(byMs: number, now: Now): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    if (byMs === 0) return;
    for (const vote of this.#last.values()) {
      this.#doubts.widen(vote.region, Math.max(0, -byMs), Math.max(0, byMs));
      // An aged vote stays aged, even if the new period is longer.
      if (!isFresh(vote, now.age)) continue;
      this.#last.set(vote.region, { ...vote, freshUntil: vote.freshUntil + byMs });
    }
  }

  /**
   * Handles a slot that is left out in these regions: their votes
   * count for one more period, but no longer than new votes.
   */
  leftOut(regions: readonly Region[], periodMs: number, now: Now): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    for (const vote of this.#last.values()) {
      const { region, freshUntil } = vote;
      if (!regions.includes(region) || !isFresh(vote, now.age)) continue;
      const longer = Math.max(freshUntil, Math.min(freshUntil + periodMs, this.freshUntil(now)));
      this.#last.set(region, { ...vote, freshUntil: longer });
      this.#doubts.widen(region, 0, longer - freshUntil);
    }
  }

  /** Removes the votes of all other regions. Returns whether there were any. */
  keep(regions: ReadonlySet<Region>): boolean {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    let isChanged = false;
    for (const region of this.#last.keys()) {
      if (!regions.has(region)) isChanged = this.#last.delete(region) || isChanged;
    }
    return isChanged;
  }

  /** Removes all votes. */
  end(): void {
    this.#last.clear();
    this.#doubts.endAll();
  }
}

const untilAfter =
  (age: number) =>
  (vote: Vote): number =>
    isFresh(vote, age) ? vote.freshUntil : Number.POSITIVE_INFINITY;

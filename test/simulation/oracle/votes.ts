import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';
import type { Doubts } from './doubts.ts';
import { castInto, isTooOld } from './following-votes.ts';
import { isFresh, type Vote } from './rule.ts';

/** The slots' clock runs faster or slower than the monotonic one by this part. */
const AGES_DIFFER_PART = 0.1;

/** Ages are stored in whole milliseconds. */
const STORED_MS = 1;

/** The last vote of each region, fresh or aged, how long votes count, and when one may age next. */
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

  /** New votes count for so long, ms. Returns by how much more than before, ms. */
  countFor(ms: number): number {
    const byMs = ms - this.#countedMs;
    this.#countedMs = ms;
    return byMs;
  }

  /**
   * All votes count for so long after a start, ms. Whether a vote has aged until now, which would have aged by one of the
   * two times alone, depends on what was written. Returns whether they count for another time than before.
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
   * A vote of a clock that was set back since then counts for no longer than a new one. It is no younger than it was when
   * it was written, which was up to `backMs` after the present of the clock. Stored times are on the slots' clock, which runs
   * a tenth faster or slower after the system's clock was set (`wasClockSet`), and votes age on the monotonic one. Which
   * slots are certain depends on it, and what is not certain is decided within a period.
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

  /** Nothing is judged until each region has voted anew. */
  doubtAll(): void {
    for (const region of this.#last.keys()) this.#doubts.add(region, Number.POSITIVE_INFINITY);
  }

  /** Votes about slots after `newest` are no votes. */
  setAside(newest: number, now: Now): void {
    for (const { region, slot } of this.#last.values()) {
      if (slot <= newest) continue;
      this.#last.delete(region);
      // It may have replaced a vote that is believed.
      this.#doubts.add(region, now.age + this.#countedMs);
    }
    this.#agesAt = Number.NEGATIVE_INFINITY;
  }

  /** Votes that were enough may be too few now, as where the electorate has changed. */
  lookAgain(): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
  }

  /** Until when a vote counts that is cast now. */
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
      // A service that was down may come to it late.
      if (isTooOld(vote.slot, monitor, now)) continue;
      isNew = this.cast({ ...vote, freshUntil }, monitor, now, isDoubted) || isNew;
    }
    return isNew;
  }

  /**
   * Returns whether the region's vote has changed.
   *
   * @param isDoubted whether another vote is not known: the slot may be decided within a period of now, and the vote ages by
   *   so much sooner or later
   */
  cast(
    vote: Vote,
    monitor: LiveMonitor | null,
    now: Now,
    isDoubted: boolean = this.#doubts.any(now),
  ): boolean {
    this.#doubts.cast(vote);
    const { periodMs = 0 } = monitor ?? {};
    if (isDoubted) this.#doubts.addAlso(vote.region, vote.freshUntil - periodMs, vote.freshUntil + periodMs);
    return castInto(this.#last, vote, monitor, now);
  }

  /** A vote ages after this instant. */
  agesBy(freshUntil: number): void {
    this.#agesAt = Math.min(this.#agesAt, freshUntil);
  }

  /** Whether a vote may have aged since the last time that this was true. */
  mayHaveAged({ age }: Now): boolean {
    if (age <= this.#agesAt) return false;
    this.#agesAt = Math.min(...this.all().map(untilAfter(age)));
    return true;
  }

  /** The age at which the last of the aged votes has aged; null: none has. */
  lastAgedAt({ age }: Now): number | null {
    const ended = this.all()
      .filter((vote) => !isFresh(vote, age))
      .map(({ freshUntil }) => freshUntil);
    return ended.length === 0 ? null : Math.max(...ended);
  }

  /** The present votes count for so much longer, ms, or less long. */
  shift(byMs: number, now: Now): void {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    if (byMs === 0) return;
    for (const vote of this.#last.values()) {
      this.#doubts.widen(vote.region, Math.max(0, -byMs), Math.max(0, byMs));
      // An aged vote is no vote any more, whatever the period is now.
      if (!isFresh(vote, now.age)) continue;
      this.#last.set(vote.region, { ...vote, freshUntil: vote.freshUntil + byMs });
    }
  }

  /** A slot is left out in these regions: their votes count for a period longer, and no longer than a new one. */
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

  /** Ends the votes of all other regions. Returns whether there were any. */
  keep(regions: ReadonlySet<Region>): boolean {
    this.#agesAt = Number.NEGATIVE_INFINITY;
    let isChanged = false;
    for (const region of this.#last.keys()) {
      if (!regions.has(region)) isChanged = this.#last.delete(region) || isChanged;
    }
    return isChanged;
  }

  /** All votes are ended. */
  end(): void {
    this.#last.clear();
    this.#doubts.endAll();
  }
}

const untilAfter =
  (age: number) =>
  (vote: Vote): number =>
    isFresh(vote, age) ? vote.freshUntil : Number.POSITIVE_INFINITY;

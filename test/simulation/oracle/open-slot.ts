import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';
import { castInto, supposed } from './following-votes.ts';
import { statusOf, type Vote } from './rule.ts';

/** A slot that is not decided. */
export type OpenSlot = {
  readonly slot: number;
  /** Monotonic ms: one period has passed. */
  readonly endsAt: number;
  /**
   * Regions that were given the slot; null: unknown, so that every region may have been given it, also for the first
   * time.
   */
  given: Set<Region> | null;
  /** Regions that nobody waits for. */
  answered: Set<Region>;
  /** Those of them that said so themselves, so that the slot was given to them. */
  heard: Set<Region>;
  readonly reports: Vote[];
};

/** The slots of a monitor that are not decided, the oldest first, and up to where they are. */
export class OpenSlots implements Iterable<OpenSlot> {
  readonly #open: OpenSlot[] = [];
  #decidedSlot = 0;
  /** Reports about this slot or an older one never vote, because votes were ended since. */
  endedSlot = 0;

  /** The newest slot that is decided; 0: none is. */
  get decidedSlot(): number {
    return this.#decidedSlot;
  }

  [Symbol.iterator](): Iterator<OpenSlot> {
    return this.#open.values();
  }

  /** Who was given the slots that are not decided; nobody while that is not known of one of them. */
  given(): Set<Region> {
    const given = new Set<Region>();
    for (const open of this.#open) {
      if (open.given === null) return new Set();
      for (const region of open.given) given.add(region);
    }
    return given;
  }

  /** It is decided, or never will be. */
  isOver(slot: number): boolean {
    if (slot <= this.endedSlot) return true;
    return slot <= this.#decidedSlot && !this.#open.some((open) => open.slot === slot);
  }

  has(slot: number): boolean {
    return this.#open.some((open) => open.slot === slot);
  }

  /** The open slot; it is opened when it is not known. */
  of(slot: number, periodMs: number, now: Now): OpenSlot {
    const known = this.#open.find((open) => open.slot === slot);
    if (known !== undefined) return known;
    // "Or one period has passed": since the slot, which jobs may be "sent ahead of". A slot that is opened after that, by a
    // report that nobody waited for, ends at once: "expiry from when it became a vote".
    const leftMs = Math.max(0, slot + periodMs - now.slot);
    const endsAt = now.monotonic + Math.min(2 * periodMs, leftMs);
    const open: OpenSlot = {
      slot,
      endsAt,
      given: null,
      answered: new Set(),
      heard: new Set(),
      reports: [],
    };
    this.#open.push(open);
    this.#open.sort((a, b) => a.slot - b.slot);
    return open;
  }

  /** Takes the oldest slot that is decided, if there is one. */
  takeDecided(isDecided: (open: OpenSlot) => boolean): OpenSlot | undefined {
    const index = this.#open.findIndex(isDecided);
    if (index < 0) return undefined;
    const [open] = this.#open.splice(index, 1) as [OpenSlot];
    this.#decidedSlot = Math.max(this.#decidedSlot, open.slot);
    return open;
  }

  /** Slots after `newest` were given by a clock that was ahead. */
  setAside(newest: number): void {
    const believed = this.#open.filter(({ slot }) => slot <= newest);
    this.#open.splice(0, this.#open.length, ...believed);
    if (this.#decidedSlot > newest) this.#decidedSlot = 0;
    if (this.endedSlot > newest) this.endedSlot = 0;
  }

  /** Nothing is known of these slots any more. Those before a decided one are over. */
  forget(isForgotten: (open: OpenSlot) => boolean): void {
    const known = this.#open.filter((open) => !isForgotten(open));
    this.#open.splice(0, this.#open.length, ...known);
  }

  /**
   * No report about a slot so far votes any more. While the service starts, "a slot that nobody has reported by the restart
   * is not known": one that lies ahead is none so far, and any other may have been given.
   */
  end(isStarting: boolean, now: Now): void {
    const isKnown = ({ slot, heard }: OpenSlot) => !isStarting || heard.size > 0 || slot < now.slot;
    const given = isStarting ? now.slot - 1 : 0;
    this.endedSlot = Math.max(this.#decidedSlot, this.#open.findLast(isKnown)?.slot ?? 0, given);
    this.#decidedSlot = this.endedSlot;
    this.#open.length = 0;
  }

  /** No report about this slot or an older one votes any more. Nothing is open. */
  endAt(slot: number): void {
    this.endedSlot = Math.max(this.endedSlot, slot);
    this.#decidedSlot = Math.max(this.#decidedSlot, slot);
  }
}

/** The region has said something about the slot, which was given to it therefore. */
export function hear({ given, answered, heard }: OpenSlot, region: Region): void {
  given?.add(region);
  answered.add(region);
  heard.add(region);
}

/** A restart keeps all reports. Dispatch tells abstentions and given regions anew. */
export function forgetAnswers(open: OpenSlot): void {
  open.given = null;
  open.answered = new Set(open.reports.map(({ region }) => region));
  open.heard = new Set(open.answered);
}

/** "A removed region's vote goes at once", also that of an open slot. */
export function keepRegions(open: OpenSlot, declared: ReadonlySet<Region>): void {
  for (const regions of [open.given ?? new Set<Region>(), open.answered, open.heard]) {
    for (const region of regions) if (!declared.has(region)) regions.delete(region);
  }
  const reports = open.reports.filter(({ region }) => declared.has(region));
  open.reports.splice(0, open.reports.length, ...reports);
}

type Extreme = Vote['outcome'] | 'kept' | 'aged';
/** Beside `passed`, from the one that differs most. */
const EXTREMES: readonly Extreme[] = ['failed', 'degraded', 'kept', 'aged'];

/** What there is beside the slot. */
export type Standing = {
  readonly monitor: LiveMonitor | null;
  readonly votes: ReadonlyMap<Region, Vote>;
  /** With the regions of the slot. */
  readonly electorate: ReadonlySet<Region>;
  readonly status: MonitorStatus;
};

/**
 * "Or the missing ones cannot change the outcome." The extreme answers of the missing regions: all pass, all fail, all
 * abstain with their votes kept or aged. Beside those, the regions fail whose failures would share a moment, and no
 * other has a vote: one that fails apart from them makes their majority harder.
 */
export function isCertain(
  open: OpenSlot,
  missing: readonly Region[],
  { monitor, votes: before, electorate, status: standing }: Standing,
  now: Now,
): boolean {
  const quorum = monitor?.quorum ?? 'majority';
  const cast = new Map(before);
  // They count from when they become votes.
  const freshUntil = Number.POSITIVE_INFINITY;
  for (const vote of open.reports) castInto(cast, { ...vote, freshUntil }, monitor, now);
  const statusWith = (extreme: Extreme) => {
    const votes = new Map(cast);
    for (const region of missing) {
      if (extreme === 'aged') votes.delete(region);
      else if (extreme !== 'kept') castInto(votes, supposed(region, extreme, open.slot), monitor, now);
    }
    return statusOf({ votes: [...votes.values()], electorate, age: now.age, standing, quorum });
  };
  const status = statusWith('passed');
  if (!EXTREMES.every((extreme) => statusWith(extreme) === status)) return false;
  if (status === 'error') return true;
  const failing = new Map(cast);
  for (const region of missing) castInto(failing, supposed(region, 'failed', open.slot), monitor, now);
  const isDownAt = (moment: number, { outcome, downFrom, endedAt }: Vote) =>
    outcome === 'failed' && downFrom <= moment && moment <= endedAt;
  const votesAt = (moment: number) =>
    [...failing.values()].filter((vote) => !missing.includes(vote.region) || isDownAt(moment, vote));
  return [...failing.values()].every(
    ({ outcome, downFrom }) =>
      outcome !== 'failed' ||
      statusOf({ votes: votesAt(downFrom), electorate, age: now.age, standing, quorum }) === status,
  );
}

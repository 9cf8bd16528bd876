import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Now } from '../told.ts';
import { castInto, supposed } from './following-votes.ts';
import { statusOf, type Vote } from './rule.ts';

/** A slot that is not decided. */
export type OpenSlot = {
  readonly slot: number;
  /** When one period has passed since the slot, monotonic ms. */
  endsAt: number;
  /**
   * Regions that were given the slot; null: unknown. Then every
   * region may have been given the slot, perhaps as its first slot.
   */
  given: Set<Region> | null;
  /** Regions for which the slot does not wait. */
  answered: Set<Region>;
  /** The regions in `answered` that have reported themselves, so that they were given the slot. */
  heard: Set<Region>;
  readonly reports: Vote[];
};

/** The undecided slots of a monitor, oldest first, and the newest decided slot. */
export class OpenSlots implements Iterable<OpenSlot> {
  readonly #open: OpenSlot[] = [];
  #decidedSlot = 0;
  /** Reports about this slot or an older one never vote, because votes were ended since. */
  endedSlot = 0;

  /** The newest decided slot; 0: no slot is decided. */
  get decidedSlot(): number {
    return this.#decidedSlot;
  }

  [Symbol.iterator](): Iterator<OpenSlot> {
    return this.#open.values();
  }

  /**
   * The regions that were given the undecided slots. The set is empty if
   * it is not known for one of these slots which regions were given it.
   */
  given(): Set<Region> {
    const given = new Set<Region>();
    for (const open of this.#open) {
      if (open.given === null) return new Set();
      for (const region of open.given) given.add(region);
    }
    return given;
  }

  /** Whether the slot is decided, or will never be decided. */
  isOver(slot: number): boolean {
    if (slot <= this.endedSlot) return true;
    return slot <= this.#decidedSlot && !this.#open.some((open) => open.slot === slot);
  }

  has(slot: number): boolean {
    return this.#open.some((open) => open.slot === slot);
  }

  /** Returns the open slot. Opens it if it is not known. */
  of(slot: number, periodMs: number, now: Now): OpenSlot {
    const known = this.#open.find((open) => open.slot === slot);
    if (known !== undefined) return known;
    const open: OpenSlot = {
      slot,
      endsAt: endOf(slot, periodMs, now),
      given: null,
      answered: new Set(),
      heard: new Set(),
      reports: [],
    };
    this.#open.push(open);
    this.#open.sort((a, b) => a.slot - b.slot);
    return open;
  }

  /**
   * Handles a restart. The reports stay, and slots without reports are not known any more. Dispatch
   * reports again which regions were given the slots, and which abstain.
   */
  restarted(periodMs: number, now: Now): void {
    for (const open of this.#open) {
      open.given = null;
      open.answered = new Set(open.reports.map(({ region }) => region));
      open.heard = new Set(open.answered);
      open.endsAt = endOf(open.slot, periodMs, now);
    }
    this.forget(({ reports }) => reports.length === 0);
  }

  /** Removes and returns the oldest slot that `isDecided` accepts; undefined: there is no such slot. */
  takeDecided(isDecided: (open: OpenSlot) => boolean): OpenSlot | undefined {
    const index = this.#open.findIndex(isDecided);
    if (index < 0) return undefined;
    const [open] = this.#open.splice(index, 1) as [OpenSlot];
    this.#decidedSlot = Math.max(this.#decidedSlot, open.slot);
    return open;
  }

  /** Removes the slots after `newest`, because a clock that was ahead gave them. */
  setAside(newest: number): void {
    const believed = this.#open.filter(({ slot }) => slot <= newest);
    this.#open.splice(0, this.#open.length, ...believed);
    if (this.#decidedSlot > newest) this.#decidedSlot = 0;
    if (this.endedSlot > newest) this.endedSlot = 0;
  }

  /**
   * Removes slots that the service does not know any more. If a later slot is decided, they count as over.
   */
  forget(isForgotten: (open: OpenSlot) => boolean): void {
    const known = this.#open.filter((open) => !isForgotten(open));
    this.#open.splice(0, this.#open.length, ...known);
  }

  /**
   * Closes all slots so far: no report about them becomes a vote. During a start, "a slot
   * that nobody has reported by the restart is not known". So during a start, a slot in the
   * future without a report is not closed, and each slot before the present counts as given.
   */
  end(isStarting: boolean, now: Now): void {
    const isKnown = ({ slot, heard }: OpenSlot) => !isStarting || heard.size > 0 || slot < now.slot;
    const given = isStarting ? now.slot - 1 : 0;
    this.endedSlot = Math.max(this.#decidedSlot, this.#open.findLast(isKnown)?.slot ?? 0, given);
    this.#decidedSlot = this.endedSlot;
    this.#open.length = 0;
  }

  /**
   * Closes this slot and all older slots: no report about
   * them becomes a vote. Call it only if no slot is open.
   */
  endAt(slot: number): void {
    this.endedSlot = Math.max(this.endedSlot, slot);
    this.#decidedSlot = Math.max(this.#decidedSlot, slot);
  }
}

/** Records that the region has reported the slot. So the region was given the slot. */
export function hear({ given, answered, heard }: OpenSlot, region: Region): void {
  given?.add(region);
  answered.add(region);
  heard.add(region);
}

/**
 * "Or one period has passed": since the slot, because a job may be sent ahead of its slot. If a
 * report opens the slot after that time, although nobody waited for it, the slot ends at once.
 */
function endOf(slot: number, periodMs: number, now: Now): number {
  return now.monotonic + Math.min(2 * periodMs, Math.max(0, slot + periodMs - now.slot));
}

/**
 * Removes the regions that are not declared any more: "a removed
 * region's vote goes at once", also its report about an open slot.
 */
export function keepRegions(open: OpenSlot, declared: ReadonlySet<Region>): void {
  for (const regions of [open.given ?? new Set<Region>(), open.answered, open.heard]) {
    for (const region of regions) if (!declared.has(region)) regions.delete(region);
  }
  const reports = open.reports.filter(({ region }) => declared.has(region));
  open.reports.splice(0, open.reports.length, ...reports);
}

type Extreme = Vote['outcome'] | 'kept' | 'aged';
/** The answers that are compared with `passed`. The answer that is most likely to differ comes first. */
const EXTREMES: readonly Extreme[] = ['failed', 'degraded', 'kept', 'aged'];

/** The data on which the decision about a slot depends, beside the slot itself. */
export type Standing = {
  readonly monitor: LiveMonitor | null;
  readonly votes: ReadonlyMap<Region, Vote>;
  /** The electorate with the regions that were given the slot. */
  readonly electorate: ReadonlySet<Region>;
  readonly status: MonitorStatus;
};

/**
 * Whether the slot is certain: "or the missing ones cannot change the outcome". The extreme answers
 * of the missing regions give the same status: all pass, all are degraded, all fail, or all abstain
 * with their votes kept or aged. For each moment at which failures may coincide, one more case is
 * tried: the missing regions fail whose failure includes this moment, and the other missing regions
 * have no vote. A failure apart from that moment would only make the quorum harder to reach.
 */
export function isCertain(
  open: OpenSlot,
  without: readonly Region[],
  { monitor, votes: before, electorate, status: standing }: Standing,
  now: Now,
): boolean {
  // The report of a region that was up in a later slot changes nothing.
  const missing = without.filter((region) => {
    const vote = before.get(region);
    return vote === undefined || vote.slot < open.slot || vote.outcome === 'failed';
  });
  const quorum = monitor?.quorum ?? 'majority';
  const cast = new Map(before);
  // Reports become votes only when the slot is decided, so they have not aged.
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

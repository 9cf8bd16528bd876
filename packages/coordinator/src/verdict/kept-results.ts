import type { CheckResult, NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { isAhead, oldestVotable } from './casting.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import { hasRegion, REGION_INDEXES, regionIndex } from './region-set.ts';
import { isOnGrid } from './schedule.ts';
import { type MonitorState, openSlotOf } from './state.ts';

/** A result from the stream. */
export type Report = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly agent: string;
  /** The outcome that is already recorded for the region and slot; null: none is recorded. */
  readonly prior: Outcome | null;
  /** Whether the job of a `not_run` is offered again, so that the region has not answered yet. */
  readonly isOfferedAgain: boolean;
};

/**
 * Adds the results of one evaluation to its writes, with the other rows that a recorded result requires:
 * slots off the grid, and repairs of roll-ups.
 */
export class KeptResults {
  readonly #frame: Frame;
  /** Outcomes that this evaluation has recorded so far: one batch may contain the same result twice. */
  readonly #outcomes = new KeptOutcomes();

  constructor(frame: Frame) {
    this.#frame = frame;
  }

  /**
   * Records a result. The first outcome other than `not_run` is kept. It replaces a `not_run` that was
   * recorded before.
   *
   * @returns whether the result is recorded
   */
  keepResult(monitor: LiveMonitor, { result, region, agent, prior }: Report): boolean {
    const { slot, outcome } = result;
    const isFinal = prior !== null && prior !== 'not_run';
    // An outcome of an earlier batch counts first, because this batch may contain an
    // abstention for the same slot.
    const known = isFinal ? prior : (this.#outcomes.of(monitor.id, slot, region) ?? prior);
    if (known !== null && (known !== 'not_run' || outcome === 'not_run')) return false;
    this.#outcomes.set(monitor.id, slot, region, outcome);
    this.#frame.writes.results.push({
      result,
      region,
      agent,
    });
    this.#added(monitor, slot);
    return true;
  }

  /**
   * Records that a region will not report the slot: adds a `not_run` row, unless a row of the region and slot
   * exists. `version` is the version of the job.
   */
  keepAbstention(
    monitor: LiveMonitor,
    version: number,
    slot: number,
    region: Region,
    reason: NotRunReason,
  ): void {
    const { id: monitorId } = monitor;
    if (this.#outcomes.of(monitorId, slot, region) !== undefined) return;
    this.#outcomes.set(monitorId, slot, region, 'not_run');
    this.#frame.writes.abstentions.push({ monitorId, version, slot, region, reason });
    this.#added(monitor, slot);
  }

  #added(monitor: LiveMonitor, slot: number): void {
    keepFindable(this.#frame, monitor, slot);
    if (slot < this.#frame.rolledUpUntil) this.#frame.writes.repairs.push({ monitorId: monitor.id, slot });
  }
}

/**
 * Stores the slot if it lies off the grid of the monitor's period, because it could not be found again
 * otherwise.
 */
export function keepFindable({ writes }: Frame, { id, periodMs }: LiveMonitor, slot: number): void {
  if (!isOnGrid(id, slot, periodMs)) writes.offGridSlots.push({ monitorId: id, slot });
}

/**
 * Whether the store must be queried to know if the region's outcome (not a `not_run`) is
 * recorded. Every outcome of an undecided slot that may become a vote is in memory. So if a
 * slot is open, or newer than the newest decided slot, no outcome of a region that has not
 * answered is recorded. Two kinds of recorded rows may be missing in memory: a `not_run`,
 * and results of a region from a time in which the monitor did not declare it.
 */
export function isOutcomeUnknown(
  frame: Frame,
  state: Readonly<MonitorState>,
  monitor: LiveMonitor,
  slot: number,
  region: Region,
): boolean {
  if (slot <= state.floorSlot || slot < oldestVotable(frame, monitor) || isAhead(frame, slot)) return true;
  if (!hasRegion(state.entered, region)) return true;
  const open = openSlotOf(state, slot);
  if (open !== undefined) return hasRegion(open.answered, region);
  if (slot === state.decidedSlot) return hasRegion(state.decidedAnswered, region);
  // While `mayLackRegion`, slots are dropped that are not decided.
  return slot < state.decidedSlot || state.mayLackRegion;
}

/** The outcome of a slot, linked to the outcome that was kept before it under the same key. */
type Kept = { readonly slot: number; outcome: Outcome; readonly before: Kept | undefined };

/**
 * Outcomes by monitor, slot and region. Monitor and region are the key, because a region usually reports one
 * slot of a monitor at a time. A key of all three would be a string, which would be allocated and hashed for
 * every result.
 */
export class KeptOutcomes {
  readonly #kept = new Map<number, Kept>();

  of(monitorId: number, slot: number, region: Region): Outcome | undefined {
    return outcomeOfSlot(this.#kept.get(keyOf(monitorId, region)), slot)?.outcome;
  }

  set(monitorId: number, slot: number, region: Region, outcome: Outcome): void {
    const key = keyOf(monitorId, region);
    const before = this.#kept.get(key);
    const known = outcomeOfSlot(before, slot);
    if (known === undefined) this.#kept.set(key, { slot, outcome, before });
    else known.outcome = outcome;
  }
}

function outcomeOfSlot(newest: Kept | undefined, slot: number): Kept | undefined {
  let kept = newest;
  while (kept !== undefined && kept.slot !== slot) kept = kept.before;
  return kept;
}

function keyOf(monitorId: number, region: Region): number {
  return monitorId * REGION_INDEXES + regionIndex(region);
}

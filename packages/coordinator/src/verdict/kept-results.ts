import type { CheckResult, NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { isAhead, oldestVotable } from './casting.ts';
import type { Frame } from './frame.ts';
import type { LiveMonitor } from './monitor.ts';
import { bitOf, hasRegion } from './region-set.ts';
import { isOnGrid } from './schedule.ts';
import { type MonitorState, openSlotOf } from './state.ts';

/** A result from the stream. */
export type Report = {
  readonly result: CheckResult;
  readonly region: Region;
  readonly agent: string;
  /** The recorded outcome of the region and slot; null: none. */
  readonly prior: Outcome | null;
  /** Whether the job of a `not_run` is offered again, so that the region has not answered yet. */
  readonly isOfferedAgain: boolean;
};

/** Adds the results of one evaluation to its writes, with everything that a recorded result requires. */
export class KeptResults {
  readonly #frame: Frame;
  /** Outcomes of this evaluation: the same result may come twice in one batch. */
  readonly #outcomes = new KeptOutcomes();

  constructor(frame: Frame) {
    this.#frame = frame;
  }

  /**
   * Records a result. The first outcome that is not `not_run` is kept, and it replaces a `not_run`.
   *
   * @returns whether the result is recorded
   */
  keepResult(monitor: LiveMonitor, { result, region, agent, prior }: Report): boolean {
    const { slot, outcome } = result;
    const isFinal = prior !== null && prior !== 'not_run';
    // This batch may contain an abstention for a result that an earlier batch has recorded.
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
   * Records that a region will not report the slot: a `not_run` row, unless it has a row. `version` is the
   * job's.
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

/** Stores a slot off the grid of the monitor's period. It could not be found again otherwise. */
export function keepFindable({ writes }: Frame, { id, periodMs }: LiveMonitor, slot: number): void {
  if (!isOnGrid(id, slot, periodMs)) writes.offGridSlots.push({ monitorId: id, slot });
}

/**
 * Whether the store must be queried to know if the region's outcome (not a `not_run`) is recorded. Every
 * outcome since the last decision that may become a vote is in memory, so an open or future slot has no
 * recorded outcome of a region that has not answered. Two kinds of recorded rows may be missing in memory: a
 * `not_run`, and results of a region from a time in which the monitor did not declare it.
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
  return slot < state.decidedSlot;
}

/** Factor of the monitor's id in a key: more than the 28 regions. */
const REGION_PLACES = 32;

/** An outcome, linked to an outcome of another slot that was kept before. */
type Kept = { readonly slot: number; outcome: Outcome; readonly before: Kept | undefined };

/**
 * Outcomes by monitor, slot and region. Monitor and region are the key, because a region usually reports one
 * slot of a monitor at a time. A string of all three would be allocated and hashed for every result.
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
  return monitorId * REGION_PLACES + Math.clz32(bitOf(region));
}

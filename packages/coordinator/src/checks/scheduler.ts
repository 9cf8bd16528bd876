import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import {
  dueSlot,
  FIRST_SLOT_SPACING_MS,
  gridSlotFrom,
  phaseOf,
  slotAfter,
  slotAfterRestart,
} from '../verdict/schedule.ts';
import type { SlotEvents } from '../verdict/slots.ts';
import { type Due, DueQueue } from './due-queue.ts';
import type { OpenJobs } from './open-jobs.ts';
import type { SlotClock } from './slot-clock.ts';

/** Says which regions are live. `Agents` implements this. */
export interface LiveRegions {
  /** Live regions in the fixed order. The array is replaced, never changed. */
  live(): readonly Region[];
  isLive(region: Region): boolean;
  /** Whether no region has become live lately. */
  isSettled(): boolean;
  /** Grows with every region that becomes live. */
  readonly liveSerial: number;
}

/** A slot that is about to be opened. */
export type AskingSlot = {
  /** Epoch ms. */
  readonly slot: number;
  /**
   * Whether the slot is the monitor's first slot since the monitor was created or
   * activated, or since its probed attributes changed.
   */
  readonly isFirst: boolean;
  /** How long after its instant the slot is opened, ms; 0 if it is opened ahead. */
  readonly lateMs: number;
};

/** Decides which slots are left out under overload. */
export interface Shedding {
  /**
   * Whether the slot runs at all. Called at most once per slot, and not for a slot without a live region.
   *
   * @param jobs number of the monitor's live regions
   */
  admitsSlot(monitor: LiveMonitor, asking: AskingSlot, jobs: number): boolean;
  /** Whether the slot runs in the region. Called at most once per slot and region. */
  admits(monitor: LiveMonitor, asking: AskingSlot, region: Region): boolean;
}

export type SchedulerParts = {
  monitors: LiveMonitors;
  slotClock: SlotClock;
  regions: LiveRegions;
  jobs: OpenJobs;
  events: SlotEvents;
  counters: DispatchCounters;
  overload: Shedding;
  /**
   * Returns the newest recorded and believed slot that the monitor was given; null: none is known. Called at
   * the start.
   */
  newestSlot: (monitorId: number) => number | null;
  /**
   * Returns a slot of the monitor: this slot and earlier slots were given before the monitor was deactivated
   * or its probed attributes changed. 0: none is known; infinite: all slots from before the start. Called at
   * the start.
   */
  floorSlot: (monitorId: number) => number;
};

/** The plan of an active monitor. `dueAt` is its next slot, epoch ms on the slot clock. */
export type Plan = Due & {
  monitor: LiveMonitor;
  phase: number;
  /**
   * Whether the monitor's next slot is its first slot since it was created or activated, or since its probed
   * attributes changed.
   */
  isFirst: boolean;
  /**
   * The newest slot that the monitor was given, at most {@link AHEAD_MS} ahead of the present; 0: no slot.
   */
  lastSlot: number;
  /** Whether the plan is in the queue of late slots. */
  isLate: boolean;
};

/** Whether `after` was activated, or changed in its probed attributes, since `before`. */
function isCheckedAnew(before: LiveMonitor, after: LiveMonitor): boolean {
  return after.activatedAt !== before.activatedAt || after.version !== before.version;
}

/** Maximum number of late slots that are opened per second, unless the rate of all active monitors is more. */
const CATCH_UP_PER_SECOND = 500;
/** Late slots are opened in bursts: at most as many slots at once as may be opened in this time, ms. */
const BURST_MS = 100;
/** Slots are opened at most this long before their instants, ms. */
export const AHEAD_MS = 400;
/**
 * Shortest time ahead of the present for which slots are open, ms. When slots are open
 * for less time, the slots of the next {@link AHEAD_MS} are opened. The time is enough
 * for a late tick, the travel time and the agent's reading, so that the check starts
 * at its slot. The jobs of slots that are opened together share messages.
 */
const LEAST_AHEAD_MS = 200;
/**
 * A late slot that is skipped counts as this part of a late slot that is opened, because skipping takes a
 * tenth of the time of opening. So after a standstill under overload, the late slots are skipped within a few
 * ticks, and the following slots are not late.
 */
const SKIPPED_COST = 0.1;
/**
 * When this many jobs were opened ahead in a tick, the tick opens no further slot ahead, so that it takes
 * less than 20 ms.
 */
const JOBS_AHEAD_PER_TICK = 1_500;

const NONE: readonly never[] = [];

/**
 * Opens the slots of active monitors, usually shortly before they are due. For each slot it decides which
 * regions get a job, notifies the evaluation, and opens the jobs ({@link OpenJobs}).
 *
 * The first slot of a monitor waits for agents: until all its declared regions are live, or until some of its
 * regions are live and no region has become live for half a second. Later slots go to the regions that are
 * live.
 */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #plans = new Map<number, Plan>();
  readonly #due = new DueQueue<Plan>();
  /** Plans whose slots are late. Other slots do not wait for these, which may be thousands after a downtime. */
  readonly #late = new DueQueue<Plan>();
  /** Plans whose first slots wait for their regions to become live. */
  readonly #parked = new Set<Plan>();
  /**
   * The newest slots of monitors that are no longer scheduled, until these slots are past. If such a monitor
   * is scheduled again, it must not be given the same slot again.
   */
  readonly #endedSlots = new Map<number, number>();
  /** Slots are opened ahead up to this instant on the slot clock, epoch ms. */
  #aheadUntil = 0;
  #parkedSerial = -1;
  /** Earliest instant for the next first slot of any monitor, epoch ms. Slots on the grid ignore it. */
  #nextFirstAt = 0;
  /** Slots per second of all active monitors together. */
  #slotsPerSecond = 0;
  /** Number of late slots that may be opened now. It grows with time. */
  #allowance = 0;
  #tickedAt: number | null = null;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  /** Number of monitors that are scheduled. */
  get size(): number {
    return this.#plans.size;
  }

  /** Plans all active monitors, each after its newest slot. */
  start(): void {
    const now = this.#parts.slotClock.now();
    for (const monitor of this.#parts.monitors.values()) {
      if (monitor.active) this.#planAtStart(monitor, now);
    }
  }

  /**
   * Handles a change of the declaration. A monitor that is new or active again, or whose probed attributes
   * changed, gets a first slot as soon as possible.
   */
  declarationChanged(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = (before ?? after)?.id;
    if (id === undefined) return;
    const plan = this.#plans.get(id);
    const now = this.#parts.slotClock.now();
    if (after === null || !after.active) {
      if (plan !== undefined) this.#end(plan, now);
      return;
    }
    if (plan === undefined || isCheckedAnew(plan.monitor, after)) {
      const lastSlot = plan?.lastSlot ?? this.#endedSlots.get(id) ?? 0;
      if (plan !== undefined) this.#drop(plan);
      this.#planFirst(this.#add(after, lastSlot), now);
      return;
    }
    const { periodMs } = plan.monitor;
    plan.monitor = after;
    this.#slotsPerSecond += 1_000 / after.periodMs - 1_000 / periodMs;
    plan.phase = this.#phaseOf(after);
    if (this.#parked.delete(plan)) {
      // The changed monitor may have a live region now.
      this.#planFirst(plan, now);
      return;
    }
    if (periodMs === after.periodMs || plan.isFirst) return;
    const previous = plan.lastSlot > 0 ? plan.lastSlot : now;
    const next = Math.max(slotAfter(previous, after.periodMs, plan.phase), this.#gridFrom(plan, now));
    this.#plan(plan, next);
  }

  /**
   * Opens the slots that are due now or soon.
   *
   * @param monotonic the present, monotonic ms; the time limits of jobs are counted from it
   */
  tick(monotonic: number): void {
    const { slotClock, regions } = this.#parts;
    const now = slotClock.now();
    if (slotClock.takeJump()) this.#skipTo(now);
    this.#earnAllowance(now);
    this.#forgetEnded(now);
    if (this.#parked.size > 0 && this.#parkedSerial !== regions.liveSerial) this.#unpark(now);
    const until = this.#openUntil(now);
    let jobs = 0;
    for (let plan = this.#due.peek(); plan !== undefined && plan.dueAt <= until; plan = this.#due.peek()) {
      if (plan.dueAt <= now) this.#setLate(plan);
      else if (jobs >= JOBS_AHEAD_PER_TICK) break;
      else jobs += this.#openDue(plan, now, monotonic);
    }
    for (let plan = this.#late.peek(); plan !== undefined && this.#allowance >= 1; plan = this.#late.peek())
      this.#openDue(plan, now, monotonic);
  }

  #openUntil(now: number): number {
    if (this.#aheadUntil - now < LEAST_AHEAD_MS) this.#aheadUntil = now + AHEAD_MS;
    return this.#aheadUntil;
  }

  /**
   * Opens the planned slot and plans the next one. A missed slot is not opened. A first slot that must wait
   * for its regions is parked: it is planned again when they are live.
   *
   * @returns the number of jobs that were handed to {@link OpenJobs}
   */
  #openDue(plan: Plan, now: number, monotonic: number): number {
    const { periodMs } = plan.monitor;
    const due = dueSlot(plan.dueAt, now, periodMs, plan.phase);
    if (due.is === 'missed') {
      this.#parts.counters.slots.missed += 1;
      this.#plan(plan, due.next);
      return 0;
    }
    if (plan.isFirst && !this.#hasItsRegions(plan.monitor)) {
      this.#park(plan);
      return 0;
    }
    plan.lastSlot = due.slot;
    const jobs = this.#open(plan, due.slot, now, monotonic);
    plan.isFirst = false;
    this.#plan(plan, slotAfter(due.slot, periodMs, plan.phase));
    // Only late slots use the allowance, which spreads them over time. Slots that
    // are opened ahead are spread by their phases.
    if (due.slot <= now) this.#allowance -= jobs === null ? SKIPPED_COST : 1;
    return jobs ?? 0;
  }

  /**
   * Opens the slot in the regions that can run it, or leaves the slot out.
   *
   * @returns the number of jobs that were handed to {@link OpenJobs}; null: the slot is left out because of
   *   overload
   */
  #open(plan: Plan, slot: number, now: number, monotonic: number): number | null {
    const { jobs: openJobs, events, counters, overload } = this.#parts;
    const { monitor, isFirst } = plan;
    const live = this.#liveOf(monitor);
    if (live.length === 0) {
      counters.slots['no-agent'] += 1;
      return 0;
    }
    const asking = { slot, isFirst, lateMs: Math.max(0, now - slot) };
    const isAdmitted = overload.admitsSlot(monitor, asking, live.length);
    const running = isAdmitted ? this.#running(monitor, live, monotonic) : NONE;
    const leftOut = isAdmitted ? this.#leftOut(monitor, asking, live, running) : live;
    if (leftOut.length === live.length) {
      counters.slots.skipped += 1;
      events.leftOut(monitor, slot, live);
      return null;
    }
    counters.slots.dispatched += 1;
    // The evaluation first gets all live regions, and then those of them that get no job.
    events.opened(monitor, slot, live);
    for (const region of running) events.skipped(monitor, slot, region);
    if (leftOut.length > 0) events.leftOut(monitor, slot, leftOut);
    let jobs = 0;
    const slotAt = monotonic + slot - now;
    for (let index = 0; index < live.length; index += 1) {
      const region = live[index] as Region;
      if (running.includes(region) || leftOut.includes(region)) continue;
      openJobs.openJob(monitor, slot, region, slotAt, monotonic);
      jobs += 1;
    }
    return jobs;
  }

  /** The monitor's regions that are live. */
  #liveOf({ regions: declared }: LiveMonitor): readonly Region[] {
    const { regions } = this.#parts;
    if (declared === null) return regions.live();
    for (let index = 0; index < declared.length; index += 1) {
      if (!regions.isLive(declared[index] as Region)) return declared.filter((each) => regions.isLive(each));
    }
    return declared;
  }

  /**
   * The regions in which the check of an earlier slot still runs. This method counts these regions as
   * skipped.
   */
  #running({ id }: LiveMonitor, live: readonly Region[], now: number): readonly Region[] {
    const { jobs, counters } = this.#parts;
    const running = live.filter((region) => jobs.isRunning(id, region, now));
    counters.jobsSkipped['predecessor-running'] += running.length;
    return running;
  }

  /** The regions in which the slot is left out because of overload. */
  #leftOut(
    monitor: LiveMonitor,
    asking: AskingSlot,
    live: readonly Region[],
    running: readonly Region[],
  ): readonly Region[] {
    const { overload } = this.#parts;
    return live.filter((region) => !running.includes(region) && !overload.admits(monitor, asking, region));
  }

  #planAtStart(monitor: LiveMonitor, now: number): void {
    const { newestSlot, floorSlot } = this.#parts;
    const newest = newestSlot(monitor.id);
    const plan = this.#add(monitor, newest ?? 0);
    if (newest === null) {
      this.#planFirst(plan, now);
      return;
    }
    // A clock that was ahead may have dated the activation in the future.
    const isActivatedSince = newest < monitor.activatedAt && monitor.activatedAt <= now;
    // The newest slot was given before a deactivation or a change of the probed attributes took effect. The
    // slot may be later than this change: slots are given ahead, and a change takes effect somewhat later.
    const isProbedOtherwiseSince = newest <= floorSlot(monitor.id);
    if (isActivatedSince || isProbedOtherwiseSince) this.#planFirst(plan, now);
    else this.#plan(plan, slotAfterRestart(newest, now, monitor.periodMs, plan.phase));
  }

  /**
   * Plans a first slot for a monitor: as soon as possible after the first slots of other monitors, or at the
   * next slot on the grid if that is earlier. The slot is always later than the monitor's last slot, which
   * may lie ahead or in this millisecond.
   */
  #planFirst(plan: Plan, now: number): void {
    plan.isFirst = true;
    this.#plan(plan, this.#firstSlot(plan, now));
  }

  #firstSlot(plan: Plan, now: number): number {
    const earliest = Math.max(now, plan.lastSlot + 1);
    const turn = Math.max(now, this.#nextFirstAt);
    const first = Math.max(earliest, turn);
    const onGrid = this.#gridFrom(plan, earliest);
    if (first < onGrid) this.#nextFirstAt = turn + FIRST_SLOT_SPACING_MS;
    return Math.min(first, onGrid);
  }

  #add(monitor: LiveMonitor, lastSlot: number): Plan {
    const plan: Plan = {
      monitor,
      phase: this.#phaseOf(monitor),
      isFirst: false,
      lastSlot,
      isLate: false,
      dueAt: 0,
      queueIndex: -1,
    };
    this.#plans.set(monitor.id, plan);
    this.#slotsPerSecond += 1_000 / monitor.periodMs;
    return plan;
  }

  /** Sets the monitor's next slot. */
  #plan(plan: Plan, dueAt: number): void {
    if (plan.isLate) this.#unplan(plan);
    this.#due.set(plan, dueAt);
  }

  #unplan(plan: Plan): void {
    (plan.isLate ? this.#late : this.#due).delete(plan);
    plan.isLate = false;
  }

  #setLate(plan: Plan): void {
    this.#due.delete(plan);
    plan.isLate = true;
    this.#late.set(plan, plan.dueAt);
  }

  #end(plan: Plan, now: number): void {
    if (plan.lastSlot >= now) this.#endedSlots.set(plan.monitor.id, plan.lastSlot);
    this.#drop(plan);
  }

  #forgetEnded(now: number): void {
    for (const [id, slot] of this.#endedSlots) {
      if (slot < now) this.#endedSlots.delete(id);
    }
  }

  #drop(plan: Plan): void {
    this.#unplan(plan);
    this.#parked.delete(plan);
    this.#plans.delete(plan.monitor.id);
    this.#slotsPerSecond -= 1_000 / plan.monitor.periodMs;
  }

  #phaseOf({ id, periodMs }: LiveMonitor): number {
    return (phaseOf(id, periodMs) + this.#parts.slotClock.gridShiftMs) % periodMs;
  }

  #gridFrom({ monitor, phase }: Plan, now: number): number {
    return gridSlotFrom(now, monitor.periodMs, phase);
  }

  /**
   * Whether all declared regions of the monitor are live, or some of its regions are live and no region has
   * become live lately.
   */
  #hasItsRegions({ regions: declared }: LiveMonitor): boolean {
    const { regions } = this.#parts;
    if (declared?.every((region) => regions.isLive(region)) === true) return true;
    if (!regions.isSettled()) return false;
    return declared === null ? regions.live().length > 0 : declared.some((region) => regions.isLive(region));
  }

  #park(plan: Plan): void {
    this.#unplan(plan);
    this.#parked.add(plan);
    // A region has become live lately. So the plan is checked again in the next tick, even if no further
    // region becomes live.
    if (!this.#parts.regions.isSettled()) this.#parkedSerial = -1;
  }

  /** Plans the first slots that waited for regions, if these regions are live now. */
  #unpark(now: number): void {
    const { regions } = this.#parts;
    if (regions.isSettled()) this.#parkedSerial = regions.liveSerial;
    for (const plan of this.#parked) {
      if (!this.#hasItsRegions(plan.monitor)) continue;
      this.#parked.delete(plan);
      this.#planFirst(plan, now);
    }
  }

  /**
   * Skips the slots before `now` after a jump of the clock, for all monitors together. First slots are
   * planned again instead.
   */
  #skipTo(now: number): void {
    const { slots } = this.#parts.counters;
    for (let plan = this.#late.peek(); plan !== undefined; plan = this.#late.peek())
      this.#plan(plan, plan.dueAt);
    this.#due.setAll((plan) => {
      if (plan.dueAt >= now) return plan.dueAt;
      if (plan.isFirst) return this.#firstSlot(plan, now);
      slots.missed += 1;
      return this.#gridFrom(plan, now);
    });
  }

  /**
   * Lets more late slots be opened, in proportion to the time since the last tick. Their number is bounded,
   * so that many late slots spread over several ticks.
   */
  #earnAllowance(now: number): void {
    const elapsed = this.#tickedAt === null ? BURST_MS : now - this.#tickedAt;
    this.#tickedAt = now;
    const rate = Math.max(CATCH_UP_PER_SECOND, this.#slotsPerSecond) / 1_000;
    this.#allowance = Math.min(rate * BURST_MS, this.#allowance + rate * elapsed);
  }
}

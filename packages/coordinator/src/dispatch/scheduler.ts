import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import {
  dueSlot,
  FIRST_SLOT_SPACING_MS,
  gridSlotFrom,
  phaseOf,
  slotAfter,
  slotAfterRestart,
} from '../domain/schedule.ts';
import type { SlotSink } from '../results/evaluation.ts';
import type { DispatchCounters } from './counters.ts';
import { type Due, DueQueue } from './due-queue.ts';
import type { InFlight } from './in-flight.ts';
import type { SlotClock } from './slot-clock.ts';

/** Slots are opened at no more than this rate, or twice what is declared where that is more, per second. */
const CATCH_UP_PER_SECOND = 500;
/** Time whose slots may be made up for in one tick, ms. */
const BURST_MS = 100;

/** The regions as scheduling sees them; the registry of agents is one. */
export interface LiveRegions {
  live(): readonly Region[];
  isLive(region: Region): boolean;
  /** No region came to life just now. */
  isSettled(): boolean;
  /** Grows with every region that comes to life. */
  readonly liveSerial: number;
}

export type SchedulerOptions = {
  monitors: LiveMonitors;
  slotClock: SlotClock;
  regions: LiveRegions;
  inFlight: InFlight;
  sink: SlotSink;
  counters: DispatchCounters;
  /** Newest slot that the monitor was ever given, as far as recorded; null: none. Asked at the start. */
  newestSlot: (monitorId: number) => number | null;
};

/** When an active monitor is due. `dueAt` is on the slot clock. */
type Plan = Due & {
  monitor: LiveMonitor;
  phase: number;
  /** Its next slot is the first since it was created or activated. */
  isFirst: boolean;
  /** Newest slot it was given. */
  lastSlot: number;
};

/**
 * Opens the slots of active monitors as they fall due: decides which regions get the job, tells the
 * evaluation, and puts the jobs into the in-flight table, from where they are published.
 *
 * The first slot of a monitor waits for agents: until all its regions are live, or no region has come
 * to life for half a second. Later slots go to whoever is live.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #plans = new Map<number, Plan>();
  readonly #due = new DueQueue<Plan>();
  /** First slots that wait for a live region. */
  readonly #parked = new Set<Plan>();
  readonly #phaseShift: number;
  #parkedSerial = -1;
  /** Earliest instant for the next first slot. */
  #nextFirstAt = 0;
  /** Slots a second that all active monitors have together. */
  #slotsPerSecond = 0;
  /** Slots that may be opened now; grows with time. */
  #allowance = 0;
  #tickedAt: number | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    // Slots recorded under a clock that was ahead must not come again: results of a slot that is
    // recorded already would count as repeated. So the grid moves by some seconds.
    this.#phaseShift = options.slotClock.isSetAside ? 1 + (Math.floor(options.slotClock.now()) % 9_973) : 0;
  }

  /** Monitors that are scheduled. */
  get size(): number {
    return this.#plans.size;
  }

  /** Plans all active monitors, each after its newest slot. */
  start(): void {
    const now = this.#options.slotClock.now();
    for (const monitor of this.#options.monitors.values()) {
      if (monitor.active) this.#planAtStart(monitor, now);
    }
  }

  /** A declaration was changed. */
  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = (before ?? after)?.id;
    if (id === undefined) return;
    const plan = this.#plans.get(id);
    if (after === null || !after.active) {
      if (plan !== undefined) this.#drop(plan);
      return;
    }
    const now = this.#options.slotClock.now();
    if (plan === undefined || after.activatedAt !== plan.monitor.activatedAt) {
      if (plan !== undefined) this.#drop(plan);
      this.#planFirst(this.#add(after, plan?.lastSlot ?? 0), now);
      return;
    }
    const { periodMs } = plan.monitor;
    plan.monitor = after;
    this.#slotsPerSecond += 1_000 / after.periodMs - 1_000 / periodMs;
    plan.phase = this.#phaseOf(after);
    if (this.#parked.delete(plan)) {
      // It may have been given a region that is live.
      this.#planFirst(plan, now);
      return;
    }
    if (periodMs === after.periodMs || plan.isFirst) return;
    // Of a clock that was ahead, the last slot may lie in the future.
    const previous = plan.lastSlot > 0 ? Math.min(plan.lastSlot, now) : now;
    this.#due.set(plan, Math.max(slotAfter(previous, after.periodMs, plan.phase), this.#gridFrom(plan, now)));
  }

  /**
   * Opens what is due.
   *
   * @param monotonic for the bounds of the jobs, ms
   */
  tick(monotonic: number): void {
    const { slotClock, regions } = this.#options;
    const now = slotClock.now();
    if (slotClock.takeJump()) this.#skipTo(now);
    this.#earnAllowance(now);
    if (this.#parked.size > 0 && this.#parkedSerial !== regions.liveSerial) this.#unpark(now);
    for (
      let plan = this.#due.peek();
      plan !== undefined && plan.dueAt <= now && this.#allowance >= 1;
      plan = this.#due.peek()
    ) {
      this.#take(plan, now, monotonic);
    }
  }

  #take(plan: Plan, now: number, monotonic: number): void {
    const { periodMs } = plan.monitor;
    const due = dueSlot(plan.dueAt, now, periodMs, plan.phase);
    if (due.is === 'missed') {
      this.#options.counters.slotsMissed += 1;
      this.#due.set(plan, due.next);
      return;
    }
    if (plan.isFirst && !this.#hasItsRegions(plan.monitor)) {
      this.#park(plan);
      return;
    }
    this.#allowance -= 1;
    plan.isFirst = false;
    plan.lastSlot = due.slot;
    this.#due.set(plan, slotAfter(due.slot, periodMs, plan.phase));
    this.#open(plan.monitor, due.slot, monotonic);
  }

  #open(monitor: LiveMonitor, slot: number, monotonic: number): void {
    const { regions, inFlight, sink, counters } = this.#options;
    const live =
      monitor.regions === null ? regions.live() : monitor.regions.filter((region) => regions.isLive(region));
    if (live.length === 0) {
      counters.slotsWithoutAgents += 1;
      return;
    }
    counters.slots += 1;
    // The skipped ones too: the evaluation is told of them right after, and then waits for the others.
    sink.opened(monitor, slot, live);
    for (const region of live) {
      if (inFlight.get(monitor.id, region) === undefined) {
        inFlight.open(monitor, slot, region, monotonic);
      } else {
        counters.skipped += 1;
        sink.skipped(monitor, slot, region);
      }
    }
  }

  #planAtStart(monitor: LiveMonitor, now: number): void {
    const newest = this.#options.newestSlot(monitor.id);
    const plan = this.#add(monitor, newest ?? 0);
    if (newest === null || (newest < monitor.activatedAt && newest <= now)) {
      this.#planFirst(plan, now);
    } else if (newest > now) {
      // Of a clock that was ahead.
      this.#due.set(plan, this.#gridFrom(plan, now));
    } else {
      this.#due.set(plan, slotAfterRestart(newest, now, monitor.periodMs, plan.phase));
    }
  }

  /** A first slot at once, behind those of others; the grid's where that comes earlier. */
  #planFirst(plan: Plan, now: number): void {
    plan.isFirst = true;
    // Activated twice within a millisecond it would get the same slot again.
    const earliest = plan.lastSlot === now ? now + 1 : now;
    const first = Math.max(earliest, this.#nextFirstAt);
    const onGrid = this.#gridFrom(plan, earliest);
    if (first < onGrid) this.#nextFirstAt = first + FIRST_SLOT_SPACING_MS;
    this.#due.set(plan, Math.min(first, onGrid));
  }

  #add(monitor: LiveMonitor, lastSlot: number): Plan {
    const plan: Plan = {
      monitor,
      phase: this.#phaseOf(monitor),
      isFirst: false,
      lastSlot,
      dueAt: 0,
      queueIndex: -1,
    };
    this.#plans.set(monitor.id, plan);
    this.#slotsPerSecond += 1_000 / monitor.periodMs;
    return plan;
  }

  #drop(plan: Plan): void {
    this.#due.delete(plan);
    this.#parked.delete(plan);
    this.#plans.delete(plan.monitor.id);
    this.#slotsPerSecond -= 1_000 / plan.monitor.periodMs;
  }

  #phaseOf({ id, periodMs }: LiveMonitor): number {
    return (phaseOf(id, periodMs) + this.#phaseShift) % periodMs;
  }

  #gridFrom({ monitor, phase }: Plan, now: number): number {
    return gridSlotFrom(now, monitor.periodMs, phase);
  }

  /** All its regions are live; or some are and no more come just now. */
  #hasItsRegions({ regions: declared }: LiveMonitor): boolean {
    const { regions } = this.#options;
    if (declared?.every((region) => regions.isLive(region)) === true) return true;
    if (!regions.isSettled()) return false;
    return declared === null ? regions.live().length > 0 : declared.some((region) => regions.isLive(region));
  }

  #park(plan: Plan): void {
    this.#due.delete(plan);
    this.#parked.add(plan);
    // Looked at again although no further region may come: the set may just not be settled yet.
    if (!this.#options.regions.isSettled()) this.#parkedSerial = -1;
  }

  /** Regions came to life: first slots that waited for them come now. */
  #unpark(now: number): void {
    const { regions } = this.#options;
    if (regions.isSettled()) this.#parkedSerial = regions.liveSerial;
    for (const plan of this.#parked) {
      if (!this.#hasItsRegions(plan.monitor)) continue;
      this.#parked.delete(plan);
      this.#planFirst(plan, now);
    }
  }

  /** The clock went forward: what lay in between is passed over. */
  #skipTo(now: number): void {
    for (let plan = this.#due.peek(); plan !== undefined && plan.dueAt < now; plan = this.#due.peek()) {
      if (plan.isFirst) {
        this.#planFirst(plan, now);
        continue;
      }
      this.#options.counters.slotsMissed += 1;
      this.#due.set(plan, this.#gridFrom(plan, now));
    }
  }

  /** A late tick has many slots to open; they are spread over the next ticks instead of leaving as one burst. */
  #earnAllowance(now: number): void {
    const elapsed = this.#tickedAt === null ? BURST_MS : now - this.#tickedAt;
    this.#tickedAt = now;
    const rate = Math.max(CATCH_UP_PER_SECOND, 2 * this.#slotsPerSecond) / 1_000;
    this.#allowance = Math.min(rate * BURST_MS, this.#allowance + rate * elapsed);
  }
}

/** Regions that active monitors declare, with how many do; `null` counts for none. */
export class DeclaredRegions {
  readonly #counts = new Map<Region, number>(REGIONS.map((region) => [region, 0]));

  count(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  changed(before: LiveMonitor | null, after: LiveMonitor | null): void {
    this.#add(before, -1);
    this.#add(after, 1);
  }

  #add(monitor: LiveMonitor | null, by: 1 | -1): void {
    if (monitor === null || !monitor.active) return;
    for (const region of monitor.regions ?? []) this.#counts.set(region, this.count(region) + by);
  }
}

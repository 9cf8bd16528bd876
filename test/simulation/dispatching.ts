import { OpenJobs } from '@svc/coordinator/checks/open-jobs.ts';
import { Scheduler, type Shedding } from '@svc/coordinator/checks/scheduler.ts';
import type { SlotClock } from '@svc/coordinator/checks/slot-clock.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import type { SlotEvents, SlotOutcome } from '@svc/coordinator/verdict/slots.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { DISPATCH_COUNTERS } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Offer } from './agents.ts';
import type { DeclaredMonitor } from './declared-monitor.ts';
import { KnownAgents } from './known-agents.ts';
import { WORLD_REGIONS } from './own-regions.ts';
import type { Presence } from './presence.ts';

/** Longest interval of dispatch's turns while answers of regions are missing, ms. */
const ASKING_TICK_MS = 1_000;
/** Lead of a turn before a slot, ms. */
const TICK_AHEAD_MS = 150;
/** Interval of dispatch's turns while there is nothing to do, ms. */
const IDLE_TICK_MS = 3_600_000;

/** The agents as dispatch knows them. They outlive the coordinator. */
export type AgentsAround = {
  readonly presence: Presence;
  /** Gives a job to the region's agents. Its first attempt begins after `waitMs`. */
  readonly offer: (region: Region, job: Offer) => void;
  /** Whether dispatch's turns come before the slots. If not, they come after the slots. */
  readonly isAhead: boolean;
  readonly heldBy: (region: Region) => Iterable<number>;
  /** Whether jobs may be sent. Otherwise they wait, as without a connection. Undefined: always. */
  readonly maySend?: () => boolean;
  /** Skips slots while more checks are requested than can be done. */
  readonly shedding: Shedding;
};

export type DispatchingParts = {
  readonly around: AgentsAround;
  readonly clock: Clock;
  readonly slotClock: SlotClock;
  readonly monitors: DeclaredMonitor;
  readonly events: SlotEvents;
  /** The newest believed slot that the monitor was given before the start; null: there is none. */
  readonly newestSlot: number | null;
  /** Returns the slot up to which slots are not about the present version of the monitor. */
  readonly floorSlot: () => number;
};

/** Dispatch in one life of the coordinator: the real scheduler and the real table of open jobs. */
export class Dispatching {
  readonly #parts: DispatchingParts;
  readonly #agents: KnownAgents;
  readonly #jobs: OpenJobs;
  #scheduler: Scheduler | null = null;

  constructor(parts: DispatchingParts) {
    this.#parts = parts;
    this.#agents = new KnownAgents();
    this.#jobs = new OpenJobs({
      events: parts.events,
      counters: createTotals(DISPATCH_COUNTERS),
      isLive: (region) => this.#agents.isLive(region),
      readerCaughtUp: () => true,
      isBehind: () => false,
    });
  }

  /** Begins to dispatch. It is called when the regions are known. */
  start(): void {
    const { around, slotClock, monitors, events, newestSlot, floorSlot } = this.#parts;
    for (const region of around.presence.live()) this.regionCame(region);
    this.#scheduler = new Scheduler({
      monitors,
      slotClock,
      regions: this.#agents,
      jobs: this.#jobs,
      events,
      counters: createTotals(DISPATCH_COUNTERS),
      overload: around.shedding,
      newestSlot: () => newestSlot,
      floorSlot,
    });
    this.#scheduler.start();
  }

  /** One turn of dispatch. Returns when the next is needed, as a delay in ms. */
  tick(): number {
    const now = this.#parts.clock.monotonic();
    this.#scheduler?.tick(now);
    // A shortcut: many turns find no open job, and there are many regions.
    if (this.#jobs.size === 0) return this.#untilNextSlot();
    this.#jobs.judgeSilentJobs(now);
    for (const region of this.#regionsWithJobs()) {
      const queued = this.#jobs.takeQueuedJobs(region, now);
      if (this.#parts.around.maySend?.() === false) {
        this.#jobs.putBackJobs(queued);
        continue;
      }
      for (const job of queued) {
        this.#jobs.jobPublished(job, now);
        const offer = {
          slot: job.slot,
          version: job.monitor.version,
          waitMs: Math.max(0, job.startAt - now),
        };
        this.#parts.around.offer(region, offer);
      }
    }
    return Math.min(ASKING_TICK_MS, this.#untilNextSlot());
  }

  /** Handles a change of the declaration. */
  declared(before: LiveMonitor | null, after: LiveMonitor | null): void {
    if (before === after) return;
    this.#scheduler?.declarationChanged(before, after);
    if (before === null) return;
    for (const region of before.regions ?? WORLD_REGIONS) {
      const isStillChecked =
        after?.active === true && (after.regions === null || after.regions.includes(region));
      if (!isStillChecked || after?.version !== before.version) this.#jobs.withdrawJob(before.id, region);
    }
  }

  regionCame(region: Region): void {
    this.#agents.came(region);
  }

  /** Handles a region whose agent missed three heartbeats. */
  regionWent(region: Region): void {
    this.#agents.went(region);
    this.#jobs.loseJobs(region, this.#parts.clock.monotonic());
  }

  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    return this.#jobs.isAskedAgain(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  arrived(monitorId: number, slot: number, region: Region): void {
    this.#jobs.resultArrived(monitorId, slot, region);
  }

  settled({ monitorId, slot, region, is }: SlotOutcome): void {
    if (is === 'reported') this.#jobs.answerRecorded(monitorId, slot, region);
    else this.#jobs.jobGivenBack(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  /** The regions with jobs, in the order of {@link WORLD_REGIONS}. */
  #regionsWithJobs(): Region[] {
    const found = new Set<Region>();
    for (const { region } of this.#jobs.values()) found.add(region);
    return WORLD_REGIONS.filter((region) => found.has(region));
  }

  #untilNextSlot(): number {
    const { monitors, slotClock, around } = this.#parts;
    const monitor = monitors.current;
    if (monitor === null || !monitor.active) return IDLE_TICK_MS;
    const now = slotClock.now();
    const aheadMs = around.isAhead ? TICK_AHEAD_MS : 0;
    const phase = (phaseOf(monitor.id, monitor.periodMs) + slotClock.gridShiftMs) % monitor.periodMs;
    const next = gridSlotFrom(now + aheadMs + 1, monitor.periodMs, phase);
    return Math.min(IDLE_TICK_MS, next - now - aheadMs);
  }
}

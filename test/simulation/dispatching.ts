import { newCounters } from '@svc/coordinator/dispatch/counters.ts';
import { InFlight } from '@svc/coordinator/dispatch/in-flight.ts';
import { recover } from '@svc/coordinator/dispatch/restart.ts';
import { MOST_AHEAD_MS, Scheduler } from '@svc/coordinator/dispatch/scheduler.ts';
import type { Shedding } from '@svc/coordinator/dispatch/scheduler-parts.ts';
import type { SlotClock } from '@svc/coordinator/dispatch/slot-clock.ts';
import type { LiveMonitor } from '@svc/coordinator/domain/monitor.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import type { SlotEvents, SlotOutcome, SlotRecovery } from '@svc/coordinator/domain/slots.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Acceptance, Refusal } from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Answer, Offer } from './agents.ts';
import type { DeclaredMonitor } from './declared-monitor.ts';
import { KnownAgents } from './known-agents.ts';
import type { Presence } from './presence.ts';

/** Interval of dispatch's turns while jobs are offered, ms. */
const OFFERING_TICK_MS = 250;
/** Lead of a turn before a slot when agents take jobs ahead, ms. */
const TICK_AHEAD_MS = 150;
/** With nothing to do it looks so often, ms. */
const IDLE_TICK_MS = 3_600_000;

/** The agents as dispatch meets them; they outlive the coordinator. */
export type AgentsAround = {
  readonly presence: Presence;
  /** Gives a job to the region's agents. Its first attempt begins after `waitMs`. */
  readonly offer: (region: Region, job: Offer) => Answer;
  /** Agents take jobs ahead of their slots. */
  readonly isAhead: boolean;
  readonly heldBy: (region: Region) => Iterable<number>;
  /** Skips slots while more is asked for than can be done. */
  readonly shedding: Shedding;
};

export type DispatchingParts = {
  readonly around: AgentsAround;
  readonly clock: Clock;
  readonly slotClock: SlotClock;
  readonly monitors: DeclaredMonitor;
  readonly events: SlotEvents;
  /** The newest slot that the monitor was given before the start, as far as believed. */
  readonly newestSlot: number | null;
  /** Slots up to this one are not about what is probed now. */
  readonly floorSlot: () => number;
};

/** What one life of the coordinator does with jobs: the real scheduler and in-flight table. */
export class Dispatching {
  readonly #parts: DispatchingParts;
  readonly #agents: KnownAgents;
  readonly #inFlight: InFlight;
  #scheduler: Scheduler | null = null;

  constructor(parts: DispatchingParts) {
    this.#parts = parts;
    this.#agents = new KnownAgents(parts.around.isAhead);
    this.#inFlight = new InFlight({
      events: parts.events,
      counters: newCounters(),
      readerCaughtUp: () => true,
    });
  }

  /** The agents were heard: dispatch begins. */
  start(recovery: SlotRecovery): void {
    const { around, clock, slotClock, monitors, events, newestSlot, floorSlot } = this.#parts;
    const now = clock.monotonic();
    for (const region of around.presence.live()) this.regionCame(region);
    this.#adoptHeld(now);
    this.#scheduler = new Scheduler({
      monitors,
      slotClock,
      regions: this.#agents,
      inFlight: this.#inFlight,
      events,
      counters: newCounters(),
      overload: around.shedding,
      newestSlot: () => newestSlot,
      floorSlot,
      hasReported: () => false,
    });
    this.#scheduler.start();
    recover({
      recovery,
      unrecorded: [],
      monitors,
      regions: this.#agents,
      inFlight: this.#inFlight,
      events,
      slotNow: slotClock.now(),
      monotonic: now,
      isReady: () => true,
    });
  }

  /** One turn of dispatch. Returns when the next is needed, as a delay in ms. */
  tick(): number {
    const now = this.#parts.clock.monotonic();
    this.#scheduler?.tick(now);
    // A shortcut: many turns find nothing in flight, and there are many regions.
    if (this.#inFlight.size === 0) return this.#untilNextSlot();
    this.#inFlight.loseMissing(now);
    this.#inFlight.expireQueued(now);
    const regions = this.#regionsWithJobs();
    for (const region of regions) {
      for (const job of this.#inFlight.queued(region).all()) {
        this.#inFlight.markOffered(job, now);
        const offer = {
          slot: job.slot,
          version: job.monitor.version,
          waitMs: Math.max(0, job.startAt - now),
        };
        this.#answer(region, job.slot, this.#parts.around.offer(region, offer));
      }
    }
    for (const region of regions) this.#inFlight.judge(region, now);
    return this.#isOffering() ? OFFERING_TICK_MS : this.#untilNextSlot();
  }

  /** The declaration has changed. */
  declared(before: LiveMonitor | null, after: LiveMonitor | null): void {
    if (before === after) return;
    this.#scheduler?.changed(before, after);
    if (before === null) return;
    for (const region of before.regions ?? REGIONS) {
      const isStillChecked =
        after?.active === true && (after.regions === null || after.regions.includes(region));
      if (!isStillChecked || after?.version !== before.version) this.#inFlight.withdraw(before.id, region);
    }
  }

  regionCame(region: Region): void {
    this.#agents.came(region);
  }

  /** Three heartbeats were missed. */
  regionWent(region: Region): void {
    const agent = this.#agents.went(region);
    if (agent !== undefined) this.#inFlight.agentGone(agent, this.#parts.clock.monotonic());
  }

  /** An agent of the region no longer names a job that it took. */
  heartbeats(region: Region): void {
    const agent = this.#agents.of(region);
    if (agent === undefined) return;
    const { around, monitors, clock } = this.#parts;
    for (let beats = 0; beats < 2; beats += 1) {
      agent.serial += 1;
      const held = [...around.heldBy(region)].map((slot): [number, number] => [
        monitors.current?.id ?? 0,
        slot,
      ]);
      this.#inFlight.heartbeat(agent, held, clock.monotonic());
    }
  }

  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    return this.#inFlight.isOfferedAgain(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  arrived(monitorId: number, slot: number, region: Region): void {
    this.#inFlight.recorded(monitorId, slot, region);
  }

  settled({ monitorId, slot, region, is }: SlotOutcome): void {
    if (is === 'reported') this.#inFlight.recorded(monitorId, slot, region);
    else this.#inFlight.givenBack(monitorId, slot, region, this.#parts.clock.monotonic());
  }

  /** In the fixed order. */
  #regionsWithJobs(): Region[] {
    const found = new Set<Region>();
    for (const { region } of this.#inFlight.values()) found.add(region);
    return REGIONS.filter((region) => found.has(region));
  }

  #isOffering(): boolean {
    for (const { state } of this.#inFlight.values())
      if (state === 'offered' || state === 'queued') return true;
    return false;
  }

  /** Jobs that agents held over the restart. */
  #adoptHeld(now: number): void {
    const { around, slotClock, monitors, floorSlot } = this.#parts;
    const monitor = monitors.current;
    if (monitor === null) return;
    for (const agent of this.#agents) {
      if (monitor.regions !== null && !monitor.regions.includes(agent.region)) continue;
      for (const slot of around.heldBy(agent.region)) {
        if (slot > slotClock.now() + MOST_AHEAD_MS) continue;
        this.#inFlight.adopt(monitor, slot, agent, now, slot > floorSlot());
      }
    }
  }

  #answer(region: Region, slot: number, answer: Answer): void {
    const { monitors, clock } = this.#parts;
    const agent = this.#agents.of(region);
    const id = monitors.current?.id;
    if (agent === undefined || id === undefined || answer === null) return;
    const refused: [number, number, Refusal][] = answer === 'accepted' ? [] : [[id, slot, answer]];
    const accepted: [number, number][] = answer === 'accepted' ? [[id, slot]] : [];
    const acceptance: Acceptance = {
      v: 1,
      kind: 'acceptance',
      agent: agent.id,
      batch: '',
      accepted,
      refused,
    };
    this.#inFlight.acceptance(agent, acceptance, clock.monotonic());
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

import { newCounters } from '@svc/coordinator/dispatch/counters.ts';
import { InFlight } from '@svc/coordinator/dispatch/in-flight.ts';
import { recover } from '@svc/coordinator/dispatch/restart.ts';
import { Scheduler, type Shedding } from '@svc/coordinator/dispatch/scheduler.ts';
import { SlotClock } from '@svc/coordinator/dispatch/slot-clock.ts';
import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import type { SlotEvents, SlotOutcome } from '@svc/coordinator/domain/slots.ts';
import { States } from '@svc/coordinator/evaluation/state.ts';
import { closesIncidents } from '@svc/coordinator/notify/registry.ts';
import { BacklogHold } from '@svc/coordinator/recording/backlog-hold.ts';
import { MaintenanceHold } from '@svc/coordinator/recording/maintenance-hold.ts';
import { Recorder } from '@svc/coordinator/recording/recorder.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Acceptance, Refusal } from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Answer, Offer, Report } from './agents.ts';
import { Batches, type Commit } from './batches.ts';
import type { Declared } from './declared.ts';
import { DeclaredMonitor } from './declared-monitor.ts';
import { type GivenSlots, givenSlots, NO_SLOTS } from './given-slots.ts';
import { KnownAgents } from './known-agents.ts';
import { MortalClock } from './mortal-clock.ts';
import type { Moment } from './oracle/moment.ts';
import type { Presence } from './presence.ts';
import { type CommitTime, type Flight, SlowStore } from './slow-store.ts';
import type { WorldStore } from './store.ts';
import type { Now, Told } from './told.ts';
import { toldEvents } from './told-events.ts';
import type { VirtualClock } from './virtual-clock.ts';

const log = createLogger('simulation', 'silent');

/** What is around the coordinator and outlives it. */
export type Surroundings = {
  readonly clock: VirtualClock;
  readonly presence: Presence;
  readonly store: WorldStore;
  /** Gives a job to the region's agents. Its first attempt begins after `waitMs`. */
  readonly offer: (region: Region, job: Offer) => Answer;
  /** Agents take jobs ahead of their slots. */
  readonly isAhead: boolean;
  readonly heldBy: (region: Region) => Iterable<number>;
  readonly declared: Declared;
  readonly shedding: Shedding;
  /** How long the commit with this number takes. */
  readonly commitTime: (commit: number) => CommitTime;
  /** What the oracle notes when an evaluation ends. */
  readonly momentOf: (now: Now) => Moment;
};

/**
 * One life of the coordinator: the real scheduler, in-flight table and recording under the virtual clock. The
 * rest of the simulator uses them only through this class.
 */
export class Service {
  readonly #batches: Batches;
  #isApplying = false;
  /** The log of changes from before the start is applied, so that results may be read. */
  isReading = false;
  readonly #store: SlowStore;
  readonly #around: Surroundings;
  readonly #clock: MortalClock;
  readonly #monitors = new DeclaredMonitor();
  readonly #states = new States();
  readonly #slotClock: SlotClock;
  readonly #inFlight: InFlight;
  readonly #recorder: Recorder;
  readonly #backlogHold: BacklogHold;
  readonly #agents: KnownAgents;
  readonly #maintenanceHold: MaintenanceHold;
  readonly #events: SlotEvents;
  readonly #newestSlot: number | null;
  /** How much older votes are than this life's clocks say, ms. */
  readonly #agedMs: number;
  #scheduler: Scheduler | null = null;

  private constructor(
    around: Surroundings,
    monitor: LiveMonitor | null,
    { newest, ahead }: GivenSlots,
    before: Now | null,
  ) {
    this.#around = around;
    this.#agents = new KnownAgents(around.isAhead);
    this.#clock = new MortalClock(around.clock);
    this.#monitors.current = monitor;
    this.#newestSlot = newest;
    this.#slotClock = new SlotClock(this.#clock, newest, log, ahead);
    // Stored instants are on the slots' clock, which may have been set while no coordinator ran.
    this.#agedMs =
      before === null ? 0 : before.age - before.slot + this.#slotClock.now() - this.#clock.monotonic();
    this.#backlogHold = new BacklogHold({
      clock: this.#clock,
      slotClock: this.#slotClock,
      onEnd: (monitorIds) => this.#recorder.announce(monitorIds),
    });
    this.#maintenanceHold = new MaintenanceHold({
      clock: this.#clock,
      slotClock: this.#slotClock,
      onEnd: (monitorIds) => this.#recorder.maintenanceEnded(monitorIds),
    });
    this.#batches = new Batches({
      now: () => this.now,
      status: () => this.status,
      momentOf: around.momentOf,
      onApplied: (changesUntil) => around.declared.applied(changesUntil),
    });
    this.#store = new SlowStore(around.store.recording, this.#clock, around.commitTime, this.#batches);
    this.#recorder = this.#newRecorder();
    this.#events = toldEvents(this.#recorder, (told) => this.#batches.note(told));
    this.#inFlight = new InFlight({
      events: this.#events,
      counters: newCounters(),
      overload: NO_OVERLOAD,
      readerCaughtUp: () => true,
      tokens: { tokenOf: () => '' },
    });
  }

  /**
   * Loads the stored rows, and begins to apply the log of changes. The reading of results may begin after that.
   *
   * @param before instants of the end of the former life, on its clocks
   */
  static async start(
    around: Surroundings,
    monitor: LiveMonitor | null,
    before: Now | null,
  ): Promise<Service> {
    const given = monitor === null ? NO_SLOTS : await givenSlots(around, monitor.id);
    const service = new Service(around, monitor, given, before);
    const loadedAt = service.#slotClock.now();
    service.#maintenanceHold.changed(await around.store.windows(loadedAt), loadedAt);
    await service.#recorder.load();
    service.#store.isLoading = false;
    service.#batches.forget();
    void service.applyChanges().then(() => {
      service.#backlogHold.start();
      service.#maintenanceHold.start();
      service.isReading = true;
    });
    return service;
  }

  /** The agents were heard: dispatch begins. */
  async resume(): Promise<void> {
    const monitor = this.#monitors.current;
    const now = this.#clock.monotonic();
    for (const region of this.#around.presence.live()) this.regionCame(region);
    if (monitor !== null) {
      for (const agent of this.#agents) {
        if (monitor.regions !== null && !monitor.regions.includes(agent.region)) continue;
        for (const slot of this.#around.heldBy(agent.region)) {
          if (slot > this.#slotClock.now()) continue;
          this.#inFlight.adopt(monitor, slot, agent, now, slot > this.#floorSlot);
        }
      }
    }
    const regions = this.#agents;
    const { counters, newestSlot } = { counters: newCounters(), newestSlot: this.#newestSlot };
    this.#scheduler = new Scheduler({
      monitors: this.#monitors,
      slotClock: this.#slotClock,
      regions,
      inFlight: this.#inFlight,
      events: this.#events,
      counters,
      overload: this.#around.shedding,
      newestSlot: () => newestSlot,
      floorSlot: () => this.#floorSlot,
      hasReported: () => false,
    });
    this.#scheduler.start();
    recover({
      recovery: {
        undecidedSlots: () => this.#recorder.undecidedSlots(),
        resume: (of, slot, waitedFor) => {
          this.#batches.note({ is: 'resumed', slot, waitedFor });
          this.#recorder.resume(of, slot, waitedFor);
        },
        resumed: () => {},
      },
      unrecorded: [],
      monitors: this.#monitors,
      regions,
      inFlight: this.#inFlight,
      events: this.#events,
      slotNow: this.#slotClock.now(),
      monotonic: now,
      isReady: () => true,
    });
    this.#batches.note({ is: 'all-resumed' });
    this.#recorder.resumed();
    this.tick();
  }

  /**
   * Ends at once. Work that is not committed is lost, and no timer runs any more. Returns what was committed without
   * this life knowing it.
   */
  kill(): Commit | null {
    this.#clock.die();
    return this.#batches.unanswered();
  }

  /** Whether events wait that are not evaluated. */
  get hasNews(): boolean {
    return this.#batches.hasNews;
  }

  /** The batch that takes its time to be written. */
  get flight(): Flight | null {
    return this.#store.flight;
  }

  /** Number of events that are not committed. */
  get waiting(): number {
    return this.#recorder.backlog.events;
  }

  /** When the last commit ended, monotonic ms; infinite while there is one. */
  get freeSince(): number {
    return this.flight === null ? this.#batches.freeSince : Number.POSITIVE_INFINITY;
  }

  knows(monitorId: number): boolean {
    return this.#monitors.get(monitorId) !== undefined;
  }

  get now(): Now {
    const slot = this.#slotClock.now();
    const monotonic = this.#clock.monotonic();
    return { slot, monotonic, age: monotonic + this.#slotClock.jumpedMs + this.#agedMs };
  }

  /** Whether it has found slots far ahead of its clock. */
  get isBehind(): boolean {
    return this.#slotClock.aheadSlot !== null;
  }

  /** Slots up to this one are not about what is probed now. */
  get #floorSlot(): number {
    const id = this.#monitors.current?.id;
    return (id === undefined ? undefined : this.#states.get(id)?.floorSlot) ?? 0;
  }

  get status(): MonitorStatus {
    const id = this.#monitors.current?.id;
    return (id === undefined ? undefined : this.#states.get(id)?.status) ?? 'unknown';
  }

  /** Where the reading of the stream continues. */
  get position(): number {
    return this.#recorder.positionIn('stream')?.sequence ?? 0;
  }

  record({ region, result }: Report, sequence: number): void {
    if (this.knows(result.monitor))
      this.#batches.note({ is: 'reported', region, result, isOfferedAgain: false });
    const position = { stream: 'stream', created: 'stream', sequence, messageId: `m${sequence}`, time: 0 };
    void this.#recorder.record({ region, agent: 'agent', results: [result], position });
  }

  /** Commits what was told, until a commit takes time. Hands over what is committed. */
  async flush(): Promise<readonly Commit[]> {
    while (!this.#store.isWaiting && this.waiting > 0) {
      await Promise.race([this.#recorder.flushed(), this.#store.waits]);
    }
    return this.#batches.take();
  }

  /** One turn of dispatch. Returns when the next is needed, as a delay in ms. */
  tick(): number {
    const now = this.#clock.monotonic();
    this.#scheduler?.tick(now);
    // A shortcut: many turns find nothing in flight, and there are many regions.
    if (this.#inFlight.size === 0) return this.#untilNextSlot();
    this.#inFlight.loseMissing(now);
    this.#inFlight.expireQueued(now);
    for (const region of REGIONS) {
      for (const job of this.#inFlight.queued(region).all()) {
        this.#inFlight.markOffered(job, now);
        const offer = {
          slot: job.slot,
          version: job.monitor.version,
          waitMs: Math.max(0, job.startAt - now),
        };
        this.#answer(region, job.slot, this.#around.offer(region, offer));
      }
    }
    for (const region of REGIONS) this.#inFlight.judge(region, now);
    const isOffering = [...this.#inFlight.values()].some(
      ({ state }) => state === 'offered' || state === 'queued',
    );
    return isOffering ? OFFERING_TICK_MS : this.#untilNextSlot();
  }

  /** Applies the log of changes, one step after the other, as the applier of changes does. */
  async applyChanges(): Promise<void> {
    if (this.#isApplying) return;
    this.#isApplying = true;
    const { declared } = this.#around;
    while (declared.hasEffects) {
      const before = this.#monitors.current;
      const { changes, told, until } = declared.nextStep();
      for (const each of told) this.#batches.note(each);
      await this.#recorder.declare(changes, until);
      this.#dispatchDeclared(before, this.#monitors.current);
    }
    this.#isApplying = false;
  }

  #dispatchDeclared(before: LiveMonitor | null, after: LiveMonitor | null): void {
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
    if (agent !== undefined) this.#inFlight.agentGone(agent);
  }

  /** An agent of the region no longer names a job that it took. */
  heartbeats(region: Region): void {
    const agent = this.#agents.of(region);
    if (agent === undefined) return;
    for (let beats = 0; beats < 2; beats += 1) {
      agent.serial += 1;
      const held = [...this.#around.heldBy(region)].map((slot): [number, number] => [
        this.#monitors.current?.id ?? 0,
        slot,
      ]);
      this.#inFlight.heartbeat(agent, held, this.#clock.monotonic());
    }
  }

  #answer(region: Region, slot: number, answer: Answer): void {
    const agent = this.#agents.of(region);
    const id = this.#monitors.current?.id;
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
    this.#inFlight.acceptance(agent, acceptance, this.#clock.monotonic());
  }

  #newRecorder(): Recorder {
    const { presence } = this.#around;
    const evaluates = () => this.#batches.evaluates();
    const recorder = new Recorder({
      store: this.#store,
      states: this.#states,
      monitors: this.#monitors,
      maintenance: this.#maintenanceHold,
      presence,
      // An evaluation asks for it first of all.
      rollups: {
        get claimedUntil() {
          evaluates();
          return 0;
        },
      },
      tokens: { isValid: (token) => token === 'good' },
      slots: {
        isOfferedAgain: (...job) => this.#isOfferedAgain(...job),
        arrived: (monitorId, slot, region) => this.#inFlight.recorded(monitorId, slot, region),
        settled: (outcome) => this.#settled(outcome),
      },
      clock: this.#clock,
      slotClock: this.#slotClock,
      log,
      closesIncidents,
      newKey: () => `key-${++keys}`,
      newIncidentKey: () => `key-${++keys}`,
      onRead: (results) => this.#backlogHold.read(results),
      isHeld: (monitorId) => this.#backlogHold.isHeld(monitorId),
      onDeclared: (_, monitor) => {
        this.#monitors.current = monitor;
      },
      onQueued: (_, delivery) => this.#batches.queued(delivery),
    });
    recorder.onTransition((change) => this.#batches.changed(change));
    return recorder;
  }

  #isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    const isOfferedAgain = this.#inFlight.isOfferedAgain(monitorId, slot, region, this.#clock.monotonic());
    const told = this.#batches.evaluating.findLast(
      (each) => each.is === 'reported' && isAbout(each, slot, region),
    );
    if (isOfferedAgain && told?.is === 'reported') told.isOfferedAgain = true;
    return isOfferedAgain;
  }

  #settled({ monitorId, slot, region, is }: SlotOutcome): void {
    if (is === 'reported') this.#inFlight.recorded(monitorId, slot, region);
    else this.#inFlight.givenBack(monitorId, slot, region, this.#clock.monotonic());
  }

  #untilNextSlot(): number {
    const monitor = this.#monitors.current;
    if (monitor === null || !monitor.active) return IDLE_TICK_MS;
    const now = this.#slotClock.now();
    const aheadMs = this.#around.isAhead ? TICK_AHEAD_MS : 0;
    const phase = (phaseOf(monitor.id, monitor.periodMs) + this.#slotClock.gridShiftMs) % monitor.periodMs;
    const next = gridSlotFrom(now + aheadMs + 1, monitor.periodMs, phase);
    return Math.min(IDLE_TICK_MS, next - now - aheadMs);
  }
}

/** The limits of a world follow from nothing that happens in it. */
const NO_OVERLOAD = {
  offered() {},
  unanswered() {},
  refused() {},
};

/** Interval of dispatch's turns while jobs are offered, ms. */
const OFFERING_TICK_MS = 250;
/** Lead of a turn before a slot when agents take jobs ahead, ms. */
const TICK_AHEAD_MS = 150;
/** With nothing to do it looks so often, ms. */
const IDLE_TICK_MS = 3_600_000;

function isAbout({ result, region }: Told & { is: 'reported' }, slot: number, of: Region): boolean {
  return result.slot === slot && region === of && result.outcome === 'not_run';
}

/** Keys of incidents and deliveries so far. */
let keys = 0;

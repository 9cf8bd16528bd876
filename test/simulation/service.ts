import { newCounters } from '@svc/coordinator/dispatch/counters.ts';
import { InFlight } from '@svc/coordinator/dispatch/in-flight.ts';
import { recover } from '@svc/coordinator/dispatch/restart.ts';
import { Scheduler } from '@svc/coordinator/dispatch/scheduler.ts';
import { SlotClock } from '@svc/coordinator/dispatch/slot-clock.ts';
import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/domain/monitor.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import type { SlotEvents, SlotOutcome } from '@svc/coordinator/domain/slots.ts';
import { States } from '@svc/coordinator/evaluation/state.ts';
import type { NewDelivery } from '@svc/coordinator/evaluation/writes.ts';
import { closesIncidents } from '@svc/coordinator/notify/registry.ts';
import { BacklogHold } from '@svc/coordinator/recording/backlog-hold.ts';
import { MaintenanceHold } from '@svc/coordinator/recording/maintenance-hold.ts';
import { Recorder } from '@svc/coordinator/recording/recorder.ts';
import type { RecordedBatch } from '@svc/coordinator/store/recording-store.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Acceptance, Refusal } from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { Answer, Offer, Report } from './agents.ts';
import type { Declared } from './declared.ts';
import { DeclaredMonitor } from './declared-monitor.ts';
import { type GivenSlots, givenSlots, NO_SLOTS } from './given-slots.ts';
import { KnownAgents } from './known-agents.ts';
import { MortalClock } from './mortal-clock.ts';
import type { Moment } from './oracle/moment.ts';
import type { Presence } from './presence.ts';
import { type CommitTime, type Flight, SlowStore } from './slow-store.ts';
import type { WorldStore } from './store.ts';
import type { Announcement, Now, Told, Transition } from './told.ts';
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
  /** How long the commit with this number takes. */
  readonly commitTime: (commit: number) => CommitTime;
  /** What the oracle notes when an evaluation ends. */
  readonly momentOf: (now: Now) => Moment;
};

/** Events that were evaluated and committed together. */
export type Commit = {
  readonly told: readonly Told[];
  /** When they were evaluated. */
  readonly now: Now;
  readonly moment: Moment;
  /** When the commit before it had ended, monotonic ms. */
  readonly freeSince: number;
  readonly transitions: Transition[];
  readonly announcements: Announcement[];
  /** The status that the service shows after it. */
  status: MonitorStatus;
};

/**
 * One life of the coordinator: the real scheduler, in-flight table and recording under the virtual clock. The
 * rest of the simulator uses them only through this class.
 */
export class Service {
  /** What the evaluation was told, and is not evaluated. */
  #told: Told[] = [];
  /** How much of it the batch has that is being evaluated; null: none is. */
  #evaluating: number | null = null;
  /** The batch that is being written, and whether it is durable. */
  #written: {
    readonly commit: Commit;
    durable: Pick<Commit, 'transitions' | 'announcements'> | null;
  } | null = null;
  /** What is committed and not shown. */
  #commits: Commit[] = [];
  /** The last one of them, which listeners are told of now. */
  #latest: Commit | null = null;
  /** When the last commit ended, monotonic ms. */
  #freeSince = Number.NEGATIVE_INFINITY;
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
    this.#store = new SlowStore(around.store.recording, this.#clock, around.commitTime, {
      evaluated: () => this.#evaluated(),
      durable: (batch, ids) => this.#durable(batch, ids),
      answered: () => this.#answered(),
    });
    this.#recorder = this.#newRecorder();
    this.#events = toldEvents(this.#recorder, (told) => this.#told.push(told));
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
    service.#evaluating = null;
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
          if (slot <= this.#slotClock.now()) this.#inFlight.adopt(monitor, slot, agent, now);
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
      overload: NO_OVERLOAD,
      newestSlot: () => newestSlot,
      hasReported: () => false,
    });
    this.#scheduler.start();
    recover({
      recovery: {
        undecidedSlots: () => this.#recorder.undecidedSlots(),
        resume: (of, slot, waitedFor) => {
          this.#told.push({ is: 'resumed', slot, waitedFor });
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
    this.#told.push({ is: 'all-resumed' });
    this.#recorder.resumed();
    this.tick();
  }

  /**
   * Ends at once. Work that is not committed is lost, and no timer runs any more. Returns what was committed without
   * this life knowing it.
   */
  kill(): Commit | null {
    this.#clock.die();
    if (this.#written === null || this.#written.durable === null) return null;
    const { commit, durable } = this.#written;
    return { ...commit, ...durable, status: durable.transitions.at(-1)?.to ?? commit.status };
  }

  /** Whether events wait that are not evaluated. */
  get hasNews(): boolean {
    return this.#told.length > 0;
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
    return this.flight === null ? this.#freeSince : Number.POSITIVE_INFINITY;
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
      this.#told.push({ is: 'reported', region, result, isOfferedAgain: false });
    const position = { stream: 'stream', created: 'stream', sequence, messageId: `m${sequence}`, time: 0 };
    void this.#recorder.record({ region, agent: 'agent', results: [result], position });
  }

  /** Commits what was told, until a commit takes time. Hands over what is committed. */
  async flush(): Promise<readonly Commit[]> {
    while (!this.#store.isWaiting && this.waiting > 0) {
      await Promise.race([this.#recorder.flushed(), this.#store.waits]);
    }
    const commits = this.#commits;
    if (commits.length === 0) return commits;
    this.#commits = [];
    for (const commit of commits) commit.status = commit.transitions.at(-1)?.to ?? commit.status;
    // A monitor that is removed has no last change of status.
    (commits.at(-1) as Commit).status = this.status;
    return commits;
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
      this.#told.push(...told);
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

  /** A batch is evaluated: everything that was told until now. */
  #evaluates(): number {
    this.#evaluating ??= this.#told.length;
    return 0;
  }

  #evaluated(): void {
    const { now } = this;
    const commit: Commit = {
      told: this.#told.splice(0, this.#evaluating ?? 0),
      now,
      moment: this.#around.momentOf(now),
      freeSince: this.#freeSince,
      transitions: [],
      announcements: [],
      status: this.status,
    };
    this.#evaluating = null;
    this.#written = { commit, durable: null };
  }

  #durable({ writes, changesUntil }: RecordedBatch, ids: readonly (number | null)[]): void {
    if (changesUntil !== null) this.#around.declared.applied(changesUntil);
    if (this.#written === null) return;
    const transitions = writes.transitions.map(({ from, to, reason, at }) => ({ from, to, reason, at }));
    const announcements = writes.deliveries.filter((_, index) => ids[index] !== null).map(announcementOf);
    this.#written.durable = { transitions, announcements };
  }

  #answered(): void {
    this.#latest = this.#written?.commit ?? null;
    if (this.#latest !== null) this.#commits.push(this.#latest);
    this.#written = null;
    this.#freeSince = this.#clock.monotonic();
  }

  #newRecorder(): Recorder {
    const { presence } = this.#around;
    const evaluates = () => this.#evaluates();
    const recorder = new Recorder({
      store: this.#store,
      states: this.#states,
      monitors: this.#monitors,
      maintenance: this.#maintenanceHold,
      presence,
      // An evaluation asks for it first of all.
      rollups: {
        get claimedUntil() {
          return evaluates();
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
      onRead: (result) => this.#backlogHold.read(result),
      isHeld: (monitorId) => this.#backlogHold.isHeld(monitorId),
      onDeclared: (_, monitor) => {
        this.#monitors.current = monitor;
      },
      onQueued: (_, delivery) => this.#latest?.announcements.push(announcementOf(delivery)),
    });
    recorder.onTransition(({ from, to, reason, at }) =>
      this.#latest?.transitions.push({ from, to, reason, at }),
    );
    return recorder;
  }

  #isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (reason !== 'shutting-down') return false;
    const isOfferedAgain = this.#inFlight.isOfferedAgain(monitorId, slot, region, this.#clock.monotonic());
    const evaluated = this.#told.slice(0, this.#evaluating ?? 0);
    const told = evaluated.findLast((each) => each.is === 'reported' && isAbout(each, slot, region));
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

/** One monitor is never too much. */
const NO_OVERLOAD = {
  admitsSlot: () => true,
  admits: () => true,
  opened() {},
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

function announcementOf({ notificationId, alert: { status, closure } }: NewDelivery): Announcement {
  return { channel: notificationId, status, isClosure: closure !== undefined };
}

function isAbout({ result, region }: Told & { is: 'reported' }, slot: number, of: Region): boolean {
  return result.slot === slot && region === of && result.outcome === 'not_run';
}

/** Keys of incidents and deliveries so far. */
let keys = 0;

import { setImmediate } from 'node:timers/promises';
import { closesIncidents } from '@svc/coordinator/alerts/registry.ts';
import { BacklogHold } from '@svc/coordinator/checks/backlog-hold.ts';
import { MaintenanceHold } from '@svc/coordinator/checks/maintenance-hold.ts';
import { Recorder } from '@svc/coordinator/checks/recorder.ts';
import { SlotClock } from '@svc/coordinator/checks/slot-clock.ts';
import { DerivedIds } from '@svc/coordinator/verdict/derived-ids.ts';
import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import { States } from '@svc/coordinator/verdict/state.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { Offer, Report } from './agents.ts';
import { Batches, type Commit } from './batches.ts';
import type { Declared } from './declared.ts';
import { DeclaredMonitor } from './declared-monitor.ts';
import { type AgentsAround, Dispatching } from './dispatching.ts';
import { type GivenSlots, givenSlots, NO_SLOTS } from './given-slots.ts';
import { MortalClock } from './mortal-clock.ts';
import type { Moment } from './oracle/moment.ts';
import type { JudgeOfSlots } from './oracle/slots.ts';
import { type CommitBatch, type CommitTime, commitAlone, type Flight, SlowStore } from './slow-store.ts';
import type { WorldStore } from './store.ts';
import type { Now, Told } from './told.ts';
import { toldEvents } from './told-events.ts';

const log = createLogger('simulation', 'silent');

/** The surroundings of the coordinator, which outlive it. */
export type Surroundings = AgentsAround & {
  readonly clock: Clock;
  readonly store: WorldStore;
  readonly declared: Declared;
  /** Returns the duration of the commit with this number. */
  readonly commitTime: (commit: number) => CommitTime;
  /** Returns the facts that the oracle needs from the end of an evaluation. */
  readonly momentOf: (now: Now) => Moment;
  /** Judges the slots that are given. */
  readonly slots: JudgeOfSlots;
  /** The lease of this life; null: there is only one coordinator. */
  readonly lead: Lead | null;
};

/** The lease of a life, as the service and its store use it. */
export type Lead = {
  readonly commit: CommitBatch;
  /** The clock of the world outside of the process. */
  readonly network: Clock;
  /** Whether no other coordinator leads, as far as this life knows. */
  readonly maySend: () => boolean;
  /** Called when a job or an alert leaves the process. */
  readonly sent: () => void;
  /** Whether no other coordinator has taken the lease. */
  readonly isCurrent: () => boolean;
};

/**
 * One life of the coordinator: the real recording under the virtual clock, beside the
 * real dispatch. The rest of the simulator uses the recording only through this class.
 */
export class Service {
  readonly dispatching: Dispatching;
  readonly #batches: Batches;
  #isApplying = false;
  /** Whether the log of changes from before the start is applied. Results are read only after that. */
  isReading = false;
  readonly #store: SlowStore;
  readonly #around: Surroundings;
  readonly #clock: MortalClock;
  readonly #monitors = new DeclaredMonitor();
  readonly #states = new States();
  readonly #slotClock: SlotClock;
  readonly #recorder: Recorder;
  readonly #backlogHold: BacklogHold;
  readonly #maintenanceHold: MaintenanceHold;
  /** The age of stored votes is greater by this time than this life's clocks say, ms. */
  readonly #agedMs: number;

  private constructor(
    around: Surroundings,
    monitor: LiveMonitor | null,
    { newest, ahead }: GivenSlots,
    before: Now | null,
  ) {
    this.#around = around;
    this.#clock = new MortalClock(around.clock);
    this.#monitors.current = monitor;
    this.#slotClock = new SlotClock(this.#clock, newest, log, ahead);
    // Stored instants are on the slots' clock, which may have been set while no coordinator ran.
    this.#agedMs =
      before === null ? 0 : before.age - before.slot + this.#slotClock.now() - this.#clock.monotonic();
    this.#backlogHold = new BacklogHold({
      clock: this.#clock,
      slotClock: this.#slotClock,
    });
    this.#maintenanceHold = new MaintenanceHold({
      clock: this.#clock,
      slotClock: this.#slotClock,
    });
    this.#batches = new Batches({
      now: () => this.now,
      status: () => this.status,
      momentOf: around.momentOf,
      onApplied: (changesUntil) => around.declared.applied(changesUntil),
    });
    this.#store = new SlowStore(around.store.recording, this.#clock, around.commitTime, this.#batches, {
      commit: around.lead?.commit ?? commitAlone,
      network: around.lead?.network ?? null,
    });
    this.#recorder = this.#newRecorder();
    const offer = (region: Region, job: Offer) => {
      around.lead?.sent();
      around.slots.offered(region, job);
      return around.offer(region, job);
    };
    this.dispatching = new Dispatching({
      around: { ...around, offer, maySend: around.lead?.maySend ?? ALWAYS },
      clock: this.#clock,
      slotClock: this.#slotClock,
      monitors: this.#monitors,
      events: toldEvents(this.#recorder, (told) => this.#batches.note(told), around),
      newestSlot: newest,
      floorSlot: () => this.#floorSlot,
    });
  }

  /**
   * Loads the stored rows, and begins to apply the log of
   * changes. The reading of results may begin after that.
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
    service.#maintenanceHold.changeWindows(await around.store.windows(loadedAt), loadedAt);
    await service.#recorder.load();
    service.#store.isLoading = false;
    service.#batches.forget();
    const announce = (monitorIds: readonly number[]) => service.#recorder.announceStatuses(monitorIds);
    void service.applyChanges().then(() => {
      service.#backlogHold.start(announce);
      service.#maintenanceHold.start(announce);
      service.isReading = true;
    });
    return service;
  }

  /** Begins to dispatch. It is called when all reports from before the start are read. */
  resume(): void {
    this.#around.slots.resumed(this.#monitors.current);
    this.dispatching.start();
    this.#batches.note({ is: 'all-resumed' });
    this.#recorder.endResumption();
    this.dispatching.tick();
  }

  /**
   * Ends at once. Work that is not committed is lost, and no timer runs any more.
   */
  kill(): void {
    this.#clock.die();
  }

  /** The batch that is committed without the knowledge of this life; null: there is no such batch. */
  unanswered(): Commit | null {
    return this.#batches.unanswered();
  }

  /** Called when the process continues. Events that came while it stood still do not count as late. */
  wokeUp(): void {
    this.#batches.freeSince = this.now.monotonic;
  }

  /** The batch that is being written; null: no batch is being written. */
  get writing(): Commit | null {
    return this.#batches.writing;
  }

  /** Whether events wait that are not evaluated. */
  get hasNews(): boolean {
    return this.#batches.hasNews;
  }

  /** The batch whose write takes time; null: there is none. */
  get flight(): Flight | null {
    return this.#store.flight;
  }

  /** Number of events that are not committed. */
  get waiting(): number {
    return this.#recorder.backlog.events;
  }

  /** Since when the service is free to evaluate a batch, monotonic ms; infinite while a commit is in progress. */
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

  /** Whether the coordinator knows of slots far ahead of its clock. */
  get isBehind(): boolean {
    return this.#slotClock.aheadSlot !== null;
  }

  /** The slot up to which results are not about the present version of the monitor. */
  get #floorSlot(): number {
    const id = this.#monitors.current?.id;
    return id === undefined ? 0 : this.#recorder.floorSlot(id);
  }

  get status(): MonitorStatus {
    const id = this.#monitors.current?.id;
    return (id === undefined ? undefined : this.#states.get(id)?.status) ?? 'unknown';
  }

  /** Position in the stream at which reading continues. */
  get position(): number {
    return this.#recorder.positionIn('stream')?.sequence ?? 0;
  }

  record({ region, result }: Report, sequence: number): void {
    if (this.knows(result.monitor))
      this.#batches.note({ is: 'reported', region, result, isOfferedAgain: false });
    const position = { stream: 'stream', created: 'stream', sequence, messageId: `m${sequence}`, time: 0 };
    void this.#recorder.recordMessage({ region, agent: 'agent', results: [result], position });
  }

  /** Commits the waiting events, until a commit takes time. Returns the commits. */
  async flush(): Promise<readonly Commit[]> {
    // The queue ends its pause by a timer of its own. If that
    // has run in this instant, the evaluation begins now.
    if (this.#batches.isPausing) await setImmediate();
    while (!this.#store.isWaiting && !this.#batches.isPausing && this.waiting > 0) {
      const flushed = this.#recorder.flushed();
      await Promise.race([flushed, this.#store.waits]);
    }
    return this.committed();
  }

  /** Returns the commits that were not returned before. */
  committed(): readonly Commit[] {
    const commits = this.#batches.take();
    for (const { told } of commits) {
      for (const each of told)
        if (each.is === 'reported' && !each.isOfferedAgain)
          this.#around.slots.answered(each.region, each.result.slot);
    }
    return commits;
  }

  /** Whether no event waits to be committed, and no commit waits to be returned. */
  get isIdle(): boolean {
    return this.waiting === 0 && !this.#batches.hasNews && !this.#batches.hasCommits;
  }

  /** Applies the log of changes, one step after the other, as the applier of changes does. */
  async applyChanges(): Promise<void> {
    if (this.#isApplying) return;
    this.#isApplying = true;
    const { declared } = this.#around;
    while (declared.hasEffects && this.#around.lead?.isCurrent() !== false) {
      const before = this.#monitors.current;
      const { changes, told, until } = declared.nextStep();
      for (const each of told) this.#batches.note(each);
      await this.#recorder.declare(changes, until);
      this.dispatching.declared(before, this.#monitors.current);
      if (before !== this.#monitors.current) this.#around.slots.declared(this.#monitors.current);
    }
    this.#isApplying = false;
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
      // An evaluation reads this value first.
      rollups: {
        get claimedUntil() {
          evaluates();
          return 0;
        },
      },
      tokens: { isValid: (token) => token === 'good' },
      slots: {
        isOfferedAgain: (...job) => this.#isOfferedAgain(...job),
        resultArrived: (monitorId, slot, region) => {
          this.#around.slots.read(region, slot);
          this.dispatching.arrived(monitorId, slot, region);
        },
        outcomeRecorded: (outcome) => this.dispatching.settled(outcome),
      },
      clock: this.#clock,
      slotClock: this.#slotClock,
      log,
      closesIncidents,
      ids: IDS,
      onResults: (results) => this.#backlogHold.holdBacklog(results),
      isHeld: (monitorId) => this.#backlogHold.isHeld(monitorId),
      onDeclared: (_, monitor) => {
        this.#monitors.current = monitor;
      },
      onQueued: (delivery) => {
        this.#batches.queued(delivery);
        const { lead } = this.#around;
        if (lead?.maySend()) lead.sent();
      },
    });
    recorder.onTransition((change) => this.#batches.changed(change));
    return recorder;
  }

  #isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    if (!this.dispatching.isOfferedAgain(monitorId, slot, region, reason)) return false;
    const told = this.#batches.evaluating.findLast(
      (each) => each.is === 'reported' && isAbout(each, slot, region),
    );
    if (told?.is === 'reported') told.isOfferedAgain = true;
    return true;
  }
}

function isAbout({ result, region }: Told & { is: 'reported' }, slot: number, of: Region): boolean {
  return result.slot === slot && region === of && result.outcome === 'not_run';
}

const ALWAYS = () => true;
const IDS = new DerivedIds('simulated', new Secret(new Uint8Array(32)));

import type { Shedding } from '@svc/coordinator/checks/scheduler.ts';
import type { Region } from '@svc/shared/regions.ts';
import { type Offer, type Report, SimulatedAgents } from './agents.ts';
import type { Commit } from './batches.ts';
import { commitTimes } from './commit-times.ts';
import { Declared } from './declared.ts';
import { killAfterMs } from './kill-instant.ts';
import { changed, describe, monitorOf, NEEDS_SERVICE, WORLD_BEGINS } from './moves.ts';
import { Oracle } from './oracle/oracle.ts';
import { Slots } from './oracle/slots.ts';
import { Outages } from './outages.ts';
import type { Line, Outcome } from './outcome.ts';
import { Presence } from './presence.ts';
import type { Effort } from './probe.ts';
import { Service } from './service.ts';
import { sheddingOf } from './shedding.ts';
import type { WorldStore } from './store.ts';
import type { Now } from './told.ts';
import { describeTold } from './told-events.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { Move, World } from './world.ts';

/** Time after which a dead agent counts as gone, because it missed three heartbeats, ms. */
const MISSED_MS = 6_500;
/** Time after a start in which the coordinator waits for one heartbeat of each agent, ms. */
const ROUND_MS = 2_500;
/** Interval at which dispatch reads the clock, ms. */
const TICK_MS = 50;
/** Interval of the checks whether all reports from before a start are recorded, ms. */
const RECORDED_MS = 100;
/** The recorder waits for the end of a start for 30 s. Dispatch ends it before, ms. */
const LONGEST_START_MS = 27_000;
/** Maximum number of reports that wait to be recorded. One batch takes all waiting reports. */
const MOST_WAITING = 300;

/** Runs a world from its beginning to its end, and shows it to the oracle. */
export async function simulate(
  world: World,
  store: WorldStore,
  { isTold }: { isTold: boolean },
): Promise<Outcome> {
  return new Simulation(world, store, isTold).run();
}

class Simulation {
  readonly #world: World;
  readonly #clock = new VirtualClock(WORLD_BEGINS);
  readonly #presence = new Presence(this.#clock);
  readonly #agents: SimulatedAgents;
  readonly #oracle: Oracle;
  readonly #outages: Outages;
  readonly #slots: Slots;
  readonly #store: WorldStore;
  /** All reports, in the order in which they reached the stream. */
  readonly #stream: Report[] = [];
  readonly #story: Line[] | null;
  #service: Service | null = null;
  readonly #declared: Declared;
  readonly #commitTime: ReturnType<typeof commitTimes>;
  readonly #shedding: Shedding;
  /** Number of reports that the present life has read. */
  #read = 0;
  /** What was evaluated last of what is durable. */
  #evaluated: Pick<Commit, 'now' | 'moment'> | null = null;
  readonly #efforts = new Map<number, Effort>();
  #effort: Effort;
  /** Work of the instant that uses the store. It is done step by step before the commit. */
  #work: (() => Promise<void>)[] = [];
  #isResumed = false;
  /** When the last life of the service ended, by its clocks. */
  #endedAt: Now | null = null;
  #tickAt = Number.POSITIVE_INFINITY;
  #restart: (Move & { do: 'restart' }) | null = null;
  #events = 0;

  constructor(world: World, store: WorldStore, isTold: boolean) {
    this.#world = world;
    this.#store = store;
    this.#story = isTold ? [] : null;
    this.#declared = new Declared(world.id, store);
    this.#commitTime = commitTimes(world);
    this.#shedding = sheddingOf(world);
    this.#effort = world;
    this.#efforts.set(1, world);
    const isTargetFine = world.troubles.length === 0 && world.mishaps.blip === 0;
    this.#oracle = new Oracle(this.#presence, { isTargetFine });
    this.#outages = new Outages(world);
    this.#slots = new Slots(world, this.#clock, this.#presence, this.#oracle);
    this.#agents = new SimulatedAgents({
      world,
      clock: this.#clock,
      effortOf: (version) => this.#efforts.get(version) ?? world,
      onReport: (report) => this.#arrived(report),
    });
  }

  async run(): Promise<Outcome> {
    const { lengthMs, moves, agents } = this.#world;
    for (const region of agents) this.#startAgent(region);
    for (const move of moves) this.#clock.after(move.at, () => this.#move(move));
    await this.#start();
    while (this.#clock.nextAt <= lengthMs) {
      this.#clock.runNext();
      this.#slots.look();
      if (this.#needsSettling()) await this.#settle();
      if (this.#oracle.violations.length > 0 && this.#story !== null) break;
    }
    return this.#finish();
  }

  #finish(): Outcome {
    const service = this.#service;
    if (service !== null) this.#oracle.finish(WORLD_BEGINS, service.now, service.freeSince);
    service?.kill();
    const { violations, confirmed, channels } = this.#oracle;
    return {
      violations,
      events: this.#events,
      confirmed: confirmed.confirmed,
      unannounced: confirmed.unannounced,
      announcements: channels.announcements,
      outages: this.#outages.finish(),
      story: this.#story ?? [],
    };
  }

  /** The first start: the monitor and its channels are declared. */
  async #start(): Promise<void> {
    await this.#startService();
    await this.#declared.declare(monitorOf(this.#world));
    for (const [index, kind] of this.#world.channels.entries()) await this.#declared.link(index + 1, kind);
    void this.#service?.applyChanges();
    await this.#settle();
  }

  async #startService(): Promise<void> {
    const around = {
      clock: this.#clock,
      presence: this.#presence,
      store: this.#store,
      offer: (region: Region, job: Offer) => this.#agents.offer(region, job),
      isAhead: this.#world.isAhead,
      heldBy: (region: Region) => this.#agents.heldBy(region),
      declared: this.#declared,
      commitTime: this.#commitTime,
      commitsTakeTime: this.#isSlow,
      shedding: this.#shedding,
      momentOf: (now: Now) => this.#oracle.moment(now),
      slots: this.#slots,
    };
    for (const region of this.#presence.live()) if (!this.#agents.has(region)) this.#presence.went(region);
    for (const region of this.#agents.regions()) this.#presence.came(region);
    const service = await Service.start(around, this.#declared.monitor, this.#endedAt);
    this.#service = service;
    this.#oracle.started(service.now, service.isBehind, this.#declared);
    this.#read = service.position;
    const [before, latestAt] = [this.#stream.length, this.#clock.monotonic() + LONGEST_START_MS];
    this.#clock.after(ROUND_MS, () => this.#resume(service, before, latestAt));
  }

  /** Dispatch begins when the log of changes is applied and the `before` reports from before the start are recorded. */
  #resume(service: Service, before: number, latestAt: number): void {
    if (this.#service !== service) return;
    if (!(service.isReading && service.position >= before) && this.#clock.monotonic() < latestAt) {
      this.#clock.after(RECORDED_MS, () => this.#resume(service, before, latestAt));
      return;
    }
    this.#work.push(async () => {
      service.resume();
      this.#isResumed = true;
      this.#tickSoon(0);
    });
  }

  /** Most instants bring nothing to commit, such as those at which a check begins. */
  #needsSettling(): boolean {
    const service = this.#service;
    if (this.#work.length > 0) return true;
    return service !== null && (this.#restart !== null || this.#hasUnread(service) || !service.isIdle);
  }

  #hasUnread(service: Service): boolean {
    return service.isReading && this.#read < this.#stream.length;
  }

  /** Commits the events of the instant as far as commits take no time, and shows them to the oracle. */
  async #settle(): Promise<void> {
    const work = this.#work;
    this.#work = [];
    for (const task of work) await task();
    const service = this.#service;
    if (service === null) return;
    const isKilled = this.#restart !== null && service.hasNews;
    if (isKilled && this.#restart?.isBeforeCommit && service.flight === null && !this.#isSlow)
      return this.#kill();
    do {
      this.#readMore(service);
      for (const commit of await service.flush()) this.#show(commit);
    } while (service.flight === null && this.#hasUnread(service));
    if (isKilled && !this.#isSlow) this.#kill();
    else if (this.#restart !== null && this.#isSlow) this.#killIn(service);
  }

  /** Whether commits take time in this world. */
  get #isSlow(): boolean {
    return this.#world.commits !== null;
  }

  /** Plans the kill, in the first batch after the move. */
  #killIn(service: Service): void {
    const { flight } = service;
    if (flight === null || this.#restart === null) return;
    const restart = this.#restart;
    const afterMs = killAfterMs(flight, restart, this.#clock.monotonic());
    if (afterMs === null) return;
    this.#restart = null;
    this.#clock.after(afterMs, () => {
      if (this.#service === service) this.#kill(restart);
    });
  }

  #show(commit: Commit): void {
    const { told, transitions, announcements, status, now, moment } = commit;
    this.#evaluated = commit;
    // Changes that time alone should have made are judged with the next event.
    if (told.length === 0 && transitions.length === 0 && announcements.length === 0) {
      this.#oracle.passed(now, moment, commit.freeSince);
      return;
    }
    this.#events += told.length;
    this.#outages.see(transitions, status, this.#clock.monotonic());
    this.#tell(commit);
    this.#oracle.look(told, commit, now, moment);
    if (told.length > 0) this.#tickSoon(0);
  }

  #kill(restart = this.#restart): void {
    this.#restart = null;
    const service = this.#service;
    if (service === null) return;
    this.#endedAt = service.now;
    // Of several changes of one instant, the first may be committed.
    for (const commit of service.committed()) this.#show(commit);
    const unanswered = service.kill();
    if (unanswered !== null) this.#show(unanswered);
    this.#note(`the coordinator is killed${unanswered === null ? '' : ' before it knows of a commit'}`);
    this.#oracle.ended(this.#evaluated);
    this.#service = null;
    this.#isResumed = false;
    this.#clock.after(restart?.downMs ?? 0, () => {
      this.#note('the coordinator starts');
      this.#work.push(() => this.#startService());
    });
  }

  #arrived(report: Report): void {
    this.#stream.push(report);
    if (this.#service !== null) this.#readMore(this.#service);
  }

  /** Reads the stream, as far as the recorder has room. */
  #readMore(service: Service): void {
    if (!service.isReading) return;
    while (this.#read < this.#stream.length && service.waiting < MOST_WAITING) {
      const report = this.#stream[this.#read] as Report;
      if (service.knows(report.result.monitor)) this.#oracle.read(report.result, service.now);
      this.#read += 1;
      service.record(report, this.#read);
    }
  }

  #tickSoon(delayMs: number): void {
    const at = this.#clock.monotonic() + delayMs;
    if (at === this.#tickAt || (at > this.#tickAt && this.#tickAt > this.#clock.monotonic())) return;
    this.#tickAt = at;
    this.#clock.after(delayMs, () => {
      if (this.#tickAt !== at) return;
      this.#tickAt = Number.POSITIVE_INFINITY;
      if (this.#isResumed && this.#service !== null)
        this.#tickSoon(Math.max(1, this.#service.dispatching.tick()));
    });
  }

  #startAgent(region: Region): void {
    this.#agents.start(region);
    this.#came(region);
  }

  #came(region: Region): void {
    this.#presence.came(region);
    if (!this.#isResumed) return;
    this.#service?.dispatching.regionCame(region);
    this.#tickSoon(0);
  }

  #stopAgent(region: Region): void {
    this.#agents.stop(region);
    this.#missed(region, () => {});
  }

  #cutOff({ region, forMs, isReplaced }: Move & { do: 'cut-off' }): void {
    this.#agents.cutOff(region, forMs, () => this.#came(region));
    this.#missed(region, () => {
      if (isReplaced) this.#startAgent(region);
    });
  }

  /** Three heartbeats will be missed. */
  #missed(region: Region, then: () => void): void {
    this.#clock.after(MISSED_MS, () => {
      if (this.#agents.has(region)) return;
      this.#presence.went(region);
      if (this.#isResumed) this.#service?.dispatching.regionWent(region);
      then();
      this.#tickSoon(0);
    });
  }

  /** Carries out a move. A move that needs the service waits until it has resumed. */
  #move(move: Move): void {
    if (!this.#isResumed && NEEDS_SERVICE.has(move.do) && !this.#world.isDeclaredMeanwhile) {
      this.#clock.after(ROUND_MS, () => this.#move(move));
      return;
    }
    this.#note(describe(move));
    switch (move.do) {
      case 'restart':
        this.#restart = move;
        return;
      case 'stop-agent':
        this.#stopAgent(move.region);
        this.#clock.after(Math.max(MISSED_MS + 1, move.forMs), () => this.#startAgent(move.region));
        return;
      case 'cut-off':
        this.#cutOff(move);
        return;
      case 'start-agent':
        if (!this.#agents.has(move.region)) this.#startAgent(move.region);
        return;
      case 'roll-agent':
        this.#agents.roll(move.region);
        return;
      case 'set-wall-clock':
        this.#clock.stepWall(move.byMs);
        this.#oracle.clockWasSet();
        this.#slots.clockWasSet();
        this.#tickSoon(TICK_MS);
        return;
      case 'link':
      case 'unlink':
      case 'set-window':
      case 'remove-window':
        this.#change(() => this.#declared.change(move));
        return;
      default:
        this.#declare(move);
    }
  }

  /** Changes rows, and begins to apply the effects. */
  #change(write: () => Promise<void>): void {
    this.#work.push(async () => {
      await write();
      void this.#service?.applyChanges();
    });
  }

  #declare(move: Move): void {
    this.#change(async () => {
      const before = this.#declared.monitor;
      const monitor = changed(before, move, this.#clock.wall());
      if (monitor === before) return;
      if (move.do === 'change-effort') this.#effort = move;
      if (monitor !== null) this.#efforts.set(monitor.version, this.#effort);
      await this.#declared.declare(monitor);
      for (const delayMs of [0, 2, 600]) this.#clock.after(delayMs, () => this.#tickSoon(0));
    });
  }

  #tell({ told, transitions, announcements }: Commit): void {
    if (this.#story === null) return;
    for (const each of told) this.#note(describeTold(each));
    for (const { from, to, reason } of transitions) this.#note(`==> ${from} → ${to} (${reason})`);
    for (const { channel, status } of announcements) this.#note(`==> channel ${channel} is told ${status}`);
  }

  #note(text: string): void {
    this.#story?.push({ at: this.#clock.monotonic(), text });
  }
}

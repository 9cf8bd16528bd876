import { setImmediate } from 'node:timers/promises';
import type { Shedding } from '@svc/coordinator/checks/scheduler.ts';
import type { Region } from '@svc/shared/regions.ts';
import { type Offer, type Report, SimulatedAgents } from './agents.ts';
import type { Commit } from './batches.ts';
import { commitTimes } from './commit-times.ts';
import { Declared } from './declared.ts';
import { FreezableClock } from './freezable-clock.ts';
import { killAfterMs } from './kill-instant.ts';
import { type Held, Life, type Process, SlotsOfLife } from './life.ts';
import { MortalClock } from './mortal-clock.ts';
import { changed, describe, monitorOf, NEEDS_SERVICE, WORLD_BEGINS } from './moves.ts';
import { RewindableOracle } from './oracle/rewindable-oracle.ts';
import { Slots } from './oracle/slots.ts';
import { Outages } from './outages.ts';
import type { Line, Outcome } from './outcome.ts';
import { Pair } from './pair.ts';
import { Presence } from './presence.ts';
import type { Effort } from './probe.ts';
import { RewindableStore } from './rewindable-store.ts';
import { Service } from './service.ts';
import { commitThrough, type ShardStore } from './shard.ts';
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

/**
 * Runs a world from its beginning to its end, and shows it to the oracle. A
 * world with two coordinators has a store of its own instead of `store`.
 */
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
  readonly #oracle: RewindableOracle;
  readonly #outages: Outages;
  readonly #slots: Slots;
  readonly #store: WorldStore;
  /** All reports, in the order in which they reached the stream. */
  readonly #stream: Report[] = [];
  readonly #story: Line[] | null;
  /** The processes of the coordinators, one or two. */
  readonly #processes: readonly Process[];
  /** The parts that two coordinators share; null: there is one coordinator. */
  readonly #pair: Pair | null;
  /**
   * The lives that have not ended. The life of a former leader
   * ends when it learns that it does not lead any more.
   */
  readonly #lives: Life[] = [];
  /**
   * The lives that the oracle was told of, each with the number of
   * steps of the oracle before it. The last one is the present life.
   */
  readonly #eras: { readonly life: Life; readonly from: number }[] = [];
  readonly #declared: Declared;
  readonly #commitTime: ReturnType<typeof commitTimes>;
  readonly #shedding: Shedding;
  /**
   * The durable commits that were shown to the oracle, each with the number of steps of the oracle before it.
   */
  #shown: { readonly commit: Commit; readonly from: number }[] = [];
  /** The commits that were shown to the oracle, or that the database has lost. */
  readonly #isDone = new WeakSet<Commit>();
  readonly #efforts = new Map<number, Effort>();
  #effort: Effort;
  /** Work of this instant that uses the store. It is done step by step before the commit. */
  #work: (() => Promise<void>)[] = [];
  /** When the last life of the service ended, by its clocks. */
  #endedAt: Now | null = null;
  /** The move that lets the leader stand still at its next batch; null: there is none. */
  #freezing: (Move & { do: 'freeze' }) | null = null;
  #restart: (Move & { do: 'restart' }) | null = null;
  #events = 0;

  constructor(world: World, store: WorldStore, isTold: boolean) {
    this.#world = world;
    const pairStore = world.isPair ? new RewindableStore() : null;
    this.#store = pairStore ?? store;
    this.#story = isTold ? [] : null;
    this.#declared = new Declared(world.id, this.#store);
    this.#commitTime = commitTimes(world);
    this.#shedding = sheddingOf(world);
    this.#effort = world;
    this.#efforts.set(1, world);
    const isTargetFine = world.troubles.length === 0 && world.mishaps.blip === 0;
    this.#oracle = new RewindableOracle(this.#presence, { isTargetFine, isRewindable: pairStore !== null });
    this.#processes = (pairStore === null ? [0] : [0, 1]).map((number) => this.#newProcess(number));
    this.#pair = pairStore === null ? null : this.#newPair(pairStore);
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
      await this.#drain();
      if (this.#needsSettling()) await this.#settle();
      if (this.#oracle.violations.length > 0 && this.#story !== null) break;
    }
    return this.#finish();
  }

  /** Runs everything that follows from answers about the lease. */
  async #drain(): Promise<void> {
    const shard = this.#pair?.shard;
    if (!shard?.isBusy) return;
    shard.isBusy = false;
    await setImmediate();
  }

  /** The life that leads; null: no life leads. */
  get #life(): Life | null {
    if (this.#pair === null) return this.#lives[0] ?? null;
    return this.#lives.find(({ held }) => held?.store === this.#pair?.leaders.current) ?? null;
  }

  async #finish(): Promise<Outcome> {
    const life = this.#life;
    if (life !== null && life === this.#eras.at(-1)?.life) {
      const { service } = life;
      const freeSince = life.isFrozen ? Number.POSITIVE_INFINITY : service.freeSince;
      const { now } = service;
      this.#oracle.tell((oracle) => oracle.finish(WORLD_BEGINS, now, freeSince));
      if (this.#pair !== null && !life.hasUnread && service.isIdle) await this.#findLost();
    }
    for (const each of this.#lives) each.service.kill();
    for (const { up } of this.#processes) up?.die();
    this.#pair?.shard.close();
    const { violations } = this.#oracle;
    const { confirmed, channels } = this.#oracle.present;
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

  /** Finds results that were lost: "no result that was reported is lost", whichever leader has read it. */
  async #findLost(): Promise<void> {
    const monitorId = this.#world.id;
    if (this.#declared.monitor === null) return;
    const reports = this.#stream.filter(({ result }) => result.outcome !== 'not_run');
    const keys = reports.map(({ region, result }) => ({ monitorId, slot: result.slot, region }));
    const recorded = await this.#store.recording.recordedOutcomes(keys);
    const lost = keys[recorded.findIndex((outcome) => outcome === null || outcome === 'not_run')];
    if (lost !== undefined)
      this.#oracle.leaders(
        `${lost.region}'s result about slot ${lost.slot} is lost`,
        this.#clock.monotonic(),
      );
  }

  /** The first start: the monitor and its channels are declared. */
  async #start(): Promise<void> {
    const [first] = this.#processes as [Process];
    if (this.#pair === null) await this.#startService(first, null);
    else await this.#pair.take(first);
    for (const task of this.#work.splice(0)) await task();
    await this.#declared.declare(monitorOf(this.#world));
    for (const [index, kind] of this.#world.channels.entries()) await this.#declared.link(index + 1, kind);
    this.#pair?.rowsChanged();
    this.#life?.applyChanges();
    await this.#settle();
  }

  #newProcess(number: number): Process {
    const clock = new FreezableClock(this.#clock);
    return { clock, number, up: new MortalClock(clock), cutUntil: 0, isTaking: false };
  }

  #newPair(store: RewindableStore): Pair {
    const lifeOf = (writer: ShardStore) => this.#lives.find(({ held }) => held?.store === writer) ?? null;
    return new Pair({
      world: this.#world,
      clock: this.#clock,
      processes: this.#processes,
      store,
      declared: this.#declared,
      oracle: this.#oracle,
      batchOf: (writer) => lifeOf(writer)?.service.writing ?? this.#writingOfDead(writer),
      leads: (process) => this.#lives.some((life) => life.process === process),
      isLed: () => {
        const { process } = this.#life ?? {};
        return (
          process !== undefined && !process.clock.isFrozen && process.cutUntil <= this.#clock.monotonic()
        );
      },
      onTaken: (process, held) => this.#work.push(() => this.#lead(process, held)),
      onLost: (writer) => {
        const life = lifeOf(writer);
        if (life === null) return;
        this.#note(`coordinator ${life.process.number} does not lead any more`);
        this.#end(life);
      },
    });
  }

  /** Returns the batch that an ended life had sent before its end; null: there is none. */
  #writingOfDead(writer: ShardStore): Commit | null {
    const { life } = this.#eras.at(-1) ?? {};
    return life?.held?.store === writer ? life.service.writing : null;
  }

  /** A process has taken the lease. */
  async #lead(process: Process, held: Held): Promise<void> {
    if (held.lease.isOver || this.#pair?.leaders.current !== held.store) return;
    this.#note(`coordinator ${process.number} leads`);
    const steps = this.#closeEra();
    await this.#startService(process, held, steps);
  }

  /**
   * Shows the oracle the commits of the last leader that were not
   * shown yet. Returns the number of steps of the oracle afterwards.
   */
  #closeEra(): number {
    const { life } = this.#eras.at(-1) ?? {};
    if (life === undefined) return 0;
    if (!life.isOver) this.#endedAt = life.service.now;
    // A former leader gives no slots, even if it does not know yet that another one leads.
    this.#slots.ended();
    for (const commit of life.service.committed()) this.#show(commit);
    const unanswered = life.service.unanswered();
    if (unanswered !== null) this.#show(unanswered);
    const evaluated = this.#shown.at(-1)?.commit ?? null;
    const { steps } = this.#oracle;
    this.#oracle.tell((oracle) => oracle.ended(evaluated));
    return steps;
  }

  async #startService(process: Process, held: Held | null, from = 0): Promise<void> {
    const isCurrent = () => held === null || this.#pair?.leaders.current === held.store;
    const slots = new SlotsOfLife(
      this.#slots,
      isCurrent,
      held === null ? null : () => this.#declared.monitor,
    );
    const lead =
      held === null
        ? null
        : {
            commit: commitThrough(held.lease.store),
            network: this.#clock,
            maySend: () => held.lease.isTrusted(),
            sent: () => this.#pair?.leaders.sends(held.store),
            isCurrent,
          };
    const around = {
      clock: process.clock,
      presence: this.#presence,
      store: this.#store,
      offer: (region: Region, job: Offer) => this.#agents.offer(region, job),
      isAhead: this.#world.isAhead,
      heldBy: (region: Region) => this.#agents.heldBy(region),
      declared: this.#declared,
      commitTime: this.#commitTime,
      shedding: this.#shedding,
      momentOf: (now: Now) => this.#oracle.moment(now),
      slots,
      lead,
    };
    for (const region of this.#presence.live()) if (!this.#agents.has(region)) this.#presence.went(region);
    for (const region of this.#agents.regions()) this.#presence.came(region);
    const service = await Service.start(around, this.#declared.monitor, this.#endedAt);
    const { now, isBehind } = service;
    const rows = { windows: new Map(this.#declared.windows), monitor: this.#declared.monitor };
    this.#oracle.tell((oracle) => oracle.started(now, isBehind, rows));
    const life: Life = new Life({
      process,
      held,
      service,
      stream: this.#stream,
      slots,
      onRead: ({ result }) => {
        if (life !== this.#life || !service.knows(result.monitor)) return;
        const read = service.now;
        this.#oracle.tell((oracle) => oracle.read(result, read));
      },
      onTrust: () => {
        if (held !== null) this.#pair?.leaders.sends(held.store);
      },
      onResume: (resume) => this.#work.push(async () => resume()),
    });
    this.#lives.push(life);
    this.#eras.push({ life, from });
    // The lease may have been lost while the rows were loaded.
    if (held?.lease.isOver) this.#end(life);
  }

  /**
   * Whether the instant may have events to commit. Most instants have none, for example when a check begins.
   */
  #needsSettling(): boolean {
    if (this.#work.length > 0) return true;
    const isKilling = this.#restart !== null && this.#life !== null;
    return isKilling || this.#lives.some(({ needsSettling }) => needsSettling);
  }

  /** Commits the events of the instant as far as commits take no time, and shows them to the oracle. */
  async #settle(): Promise<void> {
    const work = this.#work;
    this.#work = [];
    for (const task of work) await task();
    for (const former of [...this.#lives]) if (former !== this.#life) await this.#settleLife(former);
    const life = this.#life;
    if (life === null) return;
    const { service } = life;
    const isKilled = this.#restart !== null && service.hasNews;
    if (isKilled && this.#restart?.isBeforeCommit && service.flight === null && !this.#isSlow)
      return this.#kill(life);
    await this.#settleLife(life);
    if (life.isOver) return;
    if (isKilled && !this.#isSlow) this.#kill(life);
    else if (this.#restart !== null && this.#isSlow) this.#killIn(life);
    if (this.#freezing !== null) this.#freezeIn(life, this.#freezing);
  }

  async #settleLife(life: Life): Promise<void> {
    if (life.isFrozen) return;
    const { service } = life;
    do {
      life.readMore();
      const commits = await service.flush();
      // A life may learn of a commit when another one has taken the lease since.
      for (const commit of commits) this.#show(commit);
      if (life !== this.#life && commits.length > 0) life.tickSoon(0);
    } while (service.flight === null && life.hasUnread && !life.isOver);
  }

  /** Whether commits take time in this world. */
  get #isSlow(): boolean {
    return this.#world.commits !== null;
  }

  /** Plans the kill of a life, at the first batch after the move. */
  #killIn(life: Life): void {
    const { flight } = life.service;
    if (flight === null || this.#restart === null) return;
    const restart = this.#restart;
    const afterMs = killAfterMs(flight, restart, this.#clock.monotonic());
    if (afterMs === null) return;
    this.#restart = null;
    this.#clock.after(afterMs, () => {
      if (!life.isOver) this.#kill(life, restart);
    });
  }

  #show(commit: Commit): void {
    if (this.#isDone.has(commit)) return;
    this.#isDone.add(commit);
    const { told, transitions, announcements, now, moment, freeSince } = commit;
    this.#shown.push({ commit, from: this.#oracle.steps });
    for (const each of told) if (each.is === 'unlinked') this.#pair?.leaders.unlinked(each.channel);
    for (const each of announcements) this.#pair?.leaders.announced(each);
    // Changes that time alone should have made are judged with the next event.
    if (told.length === 0 && transitions.length === 0 && announcements.length === 0) {
      this.#oracle.tell((oracle) => oracle.passed(now, moment, freeSince));
      return;
    }
    this.#events += told.length;
    this.#outages.see(transitions, commit.status, this.#clock.monotonic());
    this.#tell(commit);
    this.#oracle.tell((oracle) => oracle.look(told, commit, now, moment));
    if (told.length > 0) this.#life?.tickSoon(0);
  }

  /** Ends a life. Requests that it has sent to the database may still arrive there. */
  #end(life: Life): void {
    if (life === this.#life) this.#slots.ended();
    if (life === this.#eras.at(-1)?.life) this.#endedAt = life.service.now;
    life.isOver = true;
    life.service.kill();
    this.#lives.splice(this.#lives.indexOf(life), 1);
    this.#pair?.lookOn();
  }

  #kill(life: Life, restart = this.#restart): void {
    this.#restart = null;
    const { process } = life;
    if (this.#pair === null) {
      this.#endedAt = life.service.now;
      // Of several changes of one instant, the first may be committed.
      for (const commit of life.service.committed()) this.#show(commit);
      const isUnanswered = life.service.unanswered() !== null;
      this.#end(life);
      this.#closeEra();
      this.#note(`the coordinator is killed${isUnanswered ? ' before it knows of a commit' : ''}`);
    } else {
      this.#note(`coordinator ${process.number} is killed`);
      for (const each of this.#lives.filter((one) => one.process === process)) this.#end(each);
      process.up?.die();
      process.up = null;
      process.clock.thaw();
    }
    this.#clock.after(restart?.downMs ?? 0, () => {
      this.#note(`the coordinator starts`);
      if (this.#pair === null) this.#work.push(() => this.#startService(process, null));
      else {
        process.up = new MortalClock(process.clock);
        this.#pair.lookOn();
      }
    });
  }

  #arrived(report: Report): void {
    this.#stream.push(report);
    for (const life of this.#lives) life.readMore();
  }

  #tickSoon(delayMs: number): void {
    for (const life of this.#lives) life.tickSoon(delayMs);
  }

  #startAgent(region: Region): void {
    this.#agents.start(region);
    this.#came(region);
  }

  #came(region: Region): void {
    this.#presence.came(region);
    for (const life of this.#lives) life.regionCame(region);
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

  /** Calls `then` when the region's agent has missed three heartbeats. */
  #missed(region: Region, then: () => void): void {
    this.#clock.after(MISSED_MS, () => {
      if (this.#agents.has(region)) return;
      this.#presence.went(region);
      for (const life of this.#lives) life.dispatch((dispatching) => dispatching.regionWent(region));
      then();
      this.#tickSoon(0);
    });
  }

  /** Carries out a move. A move that needs the service waits until it has resumed. */
  #move(move: Move): void {
    if (this.#life?.isResumed !== true && NEEDS_SERVICE.has(move.do) && !this.#world.isDeclaredMeanwhile) {
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
      case 'mute':
      case 'unmute':
        this.#change(() => this.#declared.change(move));
        return;
      case 'freeze':
      case 'cut-database':
      case 'resign':
      case 'expire-lease':
      case 'set-back':
        if (this.#pair !== null) this.#moveLease(move, this.#pair);
        return;
      default:
        this.#declare(move);
    }
  }

  /** Changes rows, and begins to apply the effects. */
  #change(write: () => Promise<void>): void {
    this.#work.push(async () => {
      await write();
      this.#pair?.rowsChanged();
      this.#life?.applyChanges();
    });
  }

  #moveLease(move: Move, pair: Pair): void {
    const life = this.#life;
    switch (move.do) {
      case 'freeze':
        if (move.isUnanswered) this.#freezing = move;
        else if (life !== null && !life.isFrozen) this.#freeze(life, move.forMs);
        break;
      case 'cut-database':
        if (life !== null) life.process.cutUntil = this.#clock.monotonic() + move.forMs;
        break;
      case 'resign':
        if (life === null || life.isFrozen) break;
        void life.held?.lease.resign();
        this.#end(life);
        break;
      case 'expire-lease':
        pair.expireLease();
        break;
      case 'set-back':
        this.#setBack(move, pair);
    }
    pair.lookOn();
  }

  /** Lets the process of a life stand still at the first batch after the move. */
  #freezeIn(life: Life, move: Move & { do: 'freeze' }): void {
    const { flight } = life.service;
    const wanted = { ...move, do: 'restart', downMs: 0, isBeforeCommit: false } as const;
    const afterMs = flight === null ? null : killAfterMs(flight, wanted, this.#clock.monotonic());
    if (afterMs === null) return;
    this.#freezing = null;
    this.#clock.after(afterMs, () => {
      if (!life.isOver && !life.isFrozen) this.#freeze(life, move.forMs);
      this.#pair?.lookOn();
    });
  }

  #freeze(life: Life, forMs: number): void {
    const { process } = life;
    life.freeze();
    this.#clock.after(forMs, () => {
      this.#note(`coordinator ${process.number} goes on`);
      process.clock.thaw();
      if (!life.isOver) life.wokeUp();
      this.#pair?.lookOn();
    });
  }

  /** Lets the database lose its last commits. The oracle forgets what it was shown of them. */
  #setBack({ commits, forMs }: Move & { do: 'set-back' }, pair: Pair): void {
    const life = this.#life;
    if (life !== null && life === this.#eras.at(-1)?.life)
      for (const commit of life.service.committed()) this.#show(commit);
    for (const process of this.#processes)
      process.cutUntil = Math.max(process.cutUntil, this.#clock.monotonic() + forMs);
    const { batches: lost, takes } = pair.setBack(commits);
    this.#note(`the database has lost ${lost.size} batches`);
    this.#slots.ended();
    for (const commit of lost) this.#isDone.add(commit);
    const firstShown = this.#shown.find(({ commit }) => lost.has(commit))?.from ?? this.#oracle.steps;
    const firstEra = this.#eras.find(({ life: { held } }) => held !== null && takes.has(held.store));
    const steps = Math.min(firstShown, firstEra?.from ?? firstShown);
    this.#oracle.rewindTo(steps);
    for (const { commit, from } of this.#shown) {
      if (from < steps) continue;
      for (const each of commit.told)
        if (each.is === 'unlinked') pair.leaders.takesUnlinkingBack(each.channel);
    }
    this.#shown = this.#shown.filter(({ from }) => from < steps);
    if (firstEra !== undefined) this.#eras.length = this.#eras.indexOf(firstEra);
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

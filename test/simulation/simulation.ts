import { longestCheckMs } from '@svc/coordinator/domain/longest-check.ts';
import type { WindowTimes } from '@svc/coordinator/domain/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/domain/monitor.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { type Offer, type Report, SimulatedAgents } from './agents.ts';
import type { Window } from './oracle/maintenance.ts';
import { Oracle, type Violation } from './oracle/oracle.ts';
import { type OutageCounts, Outages } from './outages.ts';
import { Presence } from './presence.ts';
import { Service } from './service.ts';
import type { WorldStore } from './store.ts';
import type { Announcement, Now, Told, Transition } from './told.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { Move, World } from './world.ts';

/** An agent that died is missed after three heartbeats, ms. */
const MISSED_MS = 6_500;
/** An agent's forgotten job is noticed with its second heartbeat without it, ms. */
const FORGOTTEN_MS = 4_000;
/** After a start the coordinator hears one round of heartbeats, ms. */
const ROUND_MS = 2_500;
/** Dispatch reads the clock so often, ms. */
const TICK_MS = 50;
const WORLD_BEGINS = Date.UTC(2026, 0, 1);

/** A line of the story: an instant (ms after the beginning) and what happened then. */
export type Line = { readonly at: number; readonly text: string };

export type Outcome = {
  readonly violations: readonly Violation[];
  readonly events: number;
  readonly confirmed: number;
  readonly unannounced: number;
  readonly announcements: number;
  readonly outages: OutageCounts;
  readonly story: readonly Line[];
};

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
  readonly #store: WorldStore;
  /** All reports, in the order in which they reached the stream. */
  readonly #stream: Report[] = [];
  readonly #story: Line[] | null;
  #service: Service | null = null;
  #monitor: LiveMonitor | null;
  readonly #efforts = new Map<number, { timeoutMs: number; retry: number }>();
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
    this.#monitor = monitorOf(world);
    this.#efforts.set(1, world);
    const isTargetFine = world.troubles.length === 0 && world.mishaps.blip === 0;
    this.#oracle = new Oracle(this.#presence, { isTargetFine });
    this.#outages = new Outages(world);
    this.#agents = new SimulatedAgents({
      world,
      clock: this.#clock,
      effortOf: (version) => this.#efforts.get(version) ?? world,
      onReport: (report) => this.#arrived(report),
      onForgotten: (region) => this.#forgotten(region),
    });
  }

  async run(): Promise<Outcome> {
    const { lengthMs, moves, agents } = this.#world;
    for (const region of agents) this.#startAgent(region);
    for (const move of moves) this.#clock.after(move.at, () => this.#move(move));
    await this.#start();
    while (this.#clock.nextAt <= lengthMs) {
      this.#clock.runNext();
      await this.#settle();
      if (this.#oracle.violations.length > 0 && this.#story !== null) break;
    }
    return this.#finish();
  }

  #finish(): Outcome {
    const service = this.#service;
    if (service !== null) this.#oracle.finish(WORLD_BEGINS, service.now);
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
    await this.#startService(null);
    const monitor = this.#monitor;
    this.#monitor = null;
    await this.#declare(monitor);
    for (const [index, kind] of this.#world.channels.entries()) {
      await this.#service?.link(index + 1, kind);
      this.#oracle.linked(index + 1, kind);
    }
    await this.#settle();
  }

  async #startService(monitor: LiveMonitor | null): Promise<void> {
    const around = {
      clock: this.#clock,
      presence: this.#presence,
      store: this.#store,
      offer: (region: Region, job: Offer) => this.#agents.offer(region, job),
      isAhead: this.#world.isAhead,
      heldBy: (region: Region) => this.#agents.heldBy(region),
    };
    for (const region of this.#presence.live()) if (!this.#agents.has(region)) this.#presence.went(region);
    for (const region of this.#agents.regions()) this.#presence.came(region);
    const service = await Service.start(around, monitor, this.#endedAt);
    this.#service = service;
    this.#oracle.started(service.now, service.isBehind);
    // Announcements that were not made before the end are made before anything is read.
    this.#show(service, await service.flush());
    for (let sequence = service.position; sequence < this.#stream.length; sequence += 1) {
      service.record(this.#stream[sequence] as Report, sequence + 1);
    }
    this.#clock.after(ROUND_MS, () => {
      if (this.#service !== service) return;
      this.#work.push(async () => {
        await service.resume();
        this.#isResumed = true;
        this.#tickSoon(0);
      });
    });
  }

  /** Commits the events of the instant, and shows them to the oracle. */
  async #settle(): Promise<void> {
    const work = this.#work;
    const hasWork = work.length > 0;
    this.#work = [];
    for (const task of work) await task();
    const service = this.#service;
    if (service === null) return;
    const isKilled = this.#restart !== null && service.told.length > 0;
    // What was declared in this instant is committed.
    if (isKilled && !hasWork && this.#restart?.isBeforeCommit) return this.#kill();
    const told = await service.flush();
    this.#show(service, told);
    if (isKilled) this.#kill();
  }

  #show(service: Service, told: readonly Told[]): void {
    const transitions = service.transitions.splice(0);
    const announcements = service.announcements.splice(0);
    // Changes that time alone should have made are judged with the next event, at the instant at which they
    // were due.
    if (told.length === 0 && transitions.length === 0 && announcements.length === 0) return;
    this.#events += told.length;
    this.#outages.see(transitions, service.status, this.#clock.monotonic());
    this.#tell(told, transitions, announcements);
    this.#oracle.look(told, { status: service.status, transitions, announcements }, service.now);
    if (told.length > 0) this.#tickSoon(0);
  }

  #kill(): void {
    const restart = this.#restart;
    this.#restart = null;
    this.#note(`the coordinator is killed${restart?.isBeforeCommit ? ' before the commit' : ''}`);
    this.#endedAt = this.#service?.now ?? null;
    if (this.#endedAt !== null) this.#oracle.ended(this.#endedAt);
    this.#service?.kill();
    this.#service = null;
    this.#isResumed = false;
    this.#clock.after(restart?.downMs ?? 0, () => {
      this.#note('the coordinator starts');
      this.#work.push(() => this.#startService(this.#monitor));
    });
  }

  #arrived(report: Report): void {
    this.#stream.push(report);
    this.#service?.record(report, this.#stream.length);
  }

  #tickSoon(delayMs: number): void {
    const at = this.#clock.monotonic() + delayMs;
    if (at >= this.#tickAt && this.#tickAt > this.#clock.monotonic()) return;
    if (at === this.#tickAt) return;
    this.#tickAt = at;
    this.#clock.after(delayMs, () => {
      if (this.#tickAt !== at) return;
      this.#tickAt = Number.POSITIVE_INFINITY;
      if (this.#isResumed && this.#service !== null) this.#tickSoon(Math.max(1, this.#service.tick()));
    });
  }

  #startAgent(region: Region): void {
    this.#agents.start(region);
    this.#presence.came(region);
    if (!this.#isResumed) return;
    this.#service?.regionCame(region);
    this.#tickSoon(0);
  }

  #stopAgent(region: Region): void {
    this.#agents.stop(region);
    this.#clock.after(MISSED_MS, () => {
      if (this.#agents.has(region)) return;
      this.#presence.went(region);
      if (this.#isResumed) this.#service?.regionWent(region);
      this.#tickSoon(0);
    });
  }

  #forgotten(region: Region): void {
    this.#clock.after(FORGOTTEN_MS, () => {
      if (this.#isResumed) this.#service?.heartbeats(region);
      this.#tickSoon(0);
    });
  }

  /** Carries out a move. A move that needs the service waits until it has resumed. */
  #move(move: Move): void {
    if (!this.#isResumed && NEEDS_SERVICE.has(move.do)) {
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
      case 'start-agent':
        if (!this.#agents.has(move.region)) this.#startAgent(move.region);
        return;
      case 'roll-agent':
        this.#agents.roll(move.region);
        return;
      case 'set-wall-clock':
        this.#clock.stepWall(move.byMs);
        this.#oracle.clockWasSet();
        this.#tickSoon(TICK_MS);
        return;
      case 'link':
        this.#work.push(async () => {
          await this.#service?.link(move.channel, move.kind);
          this.#oracle.linked(move.channel, move.kind);
        });
        return;
      case 'unlink':
        this.#work.push(() => this.#unlink(move.channel));
        return;
      case 'set-window':
        this.#work.push(() => this.#setWindow(move.window, windowOf(move)));
        return;
      case 'remove-window':
        this.#work.push(() => this.#setWindow(move.window, null));
        return;
      default:
        this.#work.push(() => this.#declare(changed(this.#monitor, move, this.#clock.wall())));
    }
  }

  async #unlink(channel: number): Promise<void> {
    const service = this.#service;
    if (service === null) return;
    const told = await service.flush();
    this.#show(service, told);
    await service.unlink(channel);
    this.#oracle.unlinked(channel, service.announcements.splice(0), service.now);
  }

  async #setWindow(number: number, window: Window | null): Promise<void> {
    const service = this.#service;
    if (service === null) return;
    // What happened before is held, or not, by the windows before.
    this.#show(service, await service.flush());
    await service.setWindow(number, window === null ? null : timesOf(window));
    this.#oracle.windowSet(number, window);
  }

  async #declare(monitor: LiveMonitor | null): Promise<void> {
    if (monitor === this.#monitor) return;
    this.#monitor = monitor;
    if (monitor !== null) this.#efforts.set(monitor.version, this.#world);
    await this.#service?.declare(monitor);
    for (const delayMs of [0, 2, 600]) this.#clock.after(delayMs, () => this.#tickSoon(0));
  }

  #tell(
    told: readonly Told[],
    transitions: readonly Transition[],
    announcements: readonly Announcement[],
  ): void {
    if (this.#story === null) return;
    for (const each of told) this.#note(describeTold(each));
    for (const { from, to, reason } of transitions) this.#note(`==> ${from} → ${to} (${reason})`);
    for (const { channel, status } of announcements) this.#note(`==> channel ${channel} is told ${status}`);
  }

  #note(text: string): void {
    this.#story?.push({ at: this.#clock.monotonic(), text });
  }
}

const NEEDS_SERVICE: ReadonlySet<Move['do']> = new Set([
  'change-probe',
  'change-period',
  'change-regions',
  'switch-off',
  'switch-on',
  'remove',
  'link',
  'unlink',
  'set-window',
  'remove-window',
]);

function windowOf({ from, until, isDaily }: Move & { do: 'set-window' }): Window {
  return { from: WORLD_BEGINS + from, until: WORLD_BEGINS + until, isDaily };
}

function timesOf({ from, until, isDaily }: Window): WindowTimes {
  const daily = { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null } as const;
  return { startsAt: from, endsAt: until, timeZone: 'UTC', repeat: isDaily ? daily : null, endedAt: null };
}

/** The monitor of a world as it is declared first. */
export function monitorOf({ id, periodMs, regions, timeoutMs, retry }: World): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: 'Monitor',
    target: 'http://127.0.0.1/',
    active: true,
    periodMs,
    regions,
    version: 1,
    degradedAtMs: 0,
    longestCheckMs: longestCheckMs(timeoutMs, retry),
    activatedAt: WORLD_BEGINS,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

/** The monitor as the move declares it. */
function changed(monitor: LiveMonitor | null, move: Move, wall: number): LiveMonitor | null {
  if (monitor === null) return null;
  switch (move.do) {
    case 'change-probe':
      return { ...monitor, version: monitor.version + 1 };
    case 'change-period':
      return { ...monitor, periodMs: move.periodMs };
    case 'change-regions':
      return { ...monitor, regions: move.regions };
    case 'switch-off':
      return monitor.active ? { ...monitor, active: false } : monitor;
    case 'switch-on':
      return monitor.active ? monitor : { ...monitor, active: true, activatedAt: wall };
    case 'remove':
      return null;
    default:
      return monitor;
  }
}

function describe(move: Move): string {
  const { at: _, do: what, ...rest } = move;
  return `-- ${what} ${Object.values(rest).flat().join(' ')}`;
}

function describeTold(told: Told): string {
  switch (told.is) {
    case 'opened':
      return `slot ${told.slot} is given to ${told.regions.join(', ')}`;
    case 'excused':
      return `${told.region} is excused from slot ${told.slot}`;
    case 'reported': {
      const again = told.isOfferedAgain ? ', offered again' : '';
      return `${told.region} reports ${told.result.outcome} about slot ${told.result.slot}${again}`;
    }
    case 'resumed':
      return `slot ${told.slot} still waits for ${told.waitedFor.join(', ') || 'nobody'}`;
    case 'all-resumed':
      return 'dispatch has resumed';
    case 'declared':
      return 'the declaration is applied';
  }
}

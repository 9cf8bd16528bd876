import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  CAPABILITIES,
  type Capability,
  HEARTBEAT_INTERVAL_MS,
  HEARTBEATS_MISSED,
  type Heartbeat,
  type Sickness,
  sicknessesOf,
  understands,
} from '@svc/shared/messages/heartbeat.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import type { DispatchCounters } from './counters.ts';
import type { Job } from './job.ts';
import { SickAgents } from './sick-agents.ts';

/** An agent that was not heard of for this long is gone, ms: three heartbeats and what they may be late. */
export const SILENCE_MS = HEARTBEATS_MISSED * HEARTBEAT_INTERVAL_MS + 500;
/**
 * As much for an agent after whose last word another life of the same id began: mostly it was started again,
 * and what it held can be offered again sooner.
 */
const REPLACED_SILENCE_MS = 2 * HEARTBEAT_INTERVAL_MS + 500;
/** Most agents known per region; further ones are dropped, so that nobody can make us remember without bound. */
export const MAX_AGENTS_PER_REGION = 1_000;
/**
 * Log lines of one text about the agents of one region in 10 s. A fleet of twenty agents is told in full, and agents
 * that somebody invents fill no log.
 */
export const MOST_LINES = 20;
/** Disowned batches of a region are logged at most this often, ms. */
const TELL_DISOWNED_EVERY_MS = 10_000;
/** The set of regions counts as settled when none has come to life for this long, ms. */
const SETTLED_MS = 500;

/** What a region's agent last said of itself. */
export class KnownAgent {
  /** Given by its operator, or generated. */
  readonly id: string;
  /** Of this life of it; '' where it says none (0.1): agents with one id are one then. */
  readonly bootId: string;
  readonly region: Region;
  version = '';
  /** Attempts it runs at once. */
  capacity = 0;
  running = 0;
  held = 0;
  loopDelayMs = 0;
  /** Its wall clock minus ours, ms, journey included. */
  clockOffsetMs = 0;
  startedAt = 0;
  isDraining = false;
  /** The host that it runs on, '' where it does not say. */
  machine = '';
  /** What it finds wrong with itself. */
  sicknesses: readonly Sickness[] = [];
  /** Batches of results that its stream disowned. */
  disownedBatches = 0;
  /** Another life of the same id began after its last word. */
  isReplaced = false;
  /** What it announced. */
  capabilities: readonly Capability[] = [];
  /** Monotonic ms. */
  lastSeenAt = 0;
  /** Epoch ms. */
  lastSeenWall = 0;
  /** Heartbeats so far. */
  serial = 0;
  /** The jobs it accepted; kept by the in-flight table. */
  readonly jobs = new Set<Job>();

  constructor(id: string, region: Region, bootId = '') {
    this.id = id;
    this.bootId = bootId;
    this.region = region;
  }
}

export type AgentsOptions = {
  clock: Clock;
  log: Logger;
  counters: DispatchCounters;
  /** The region has its first agent that takes jobs. */
  onRegionLive: (region: Region) => void;
  /** Its last agent is gone or takes no more jobs; heard of last at `lastSeenAt` (epoch ms). */
  onRegionLost: (region: Region, lastSeenAt: number) => void;
  /** Three heartbeats missed; the agent is forgotten already. */
  onGone: (agent: KnownAgent) => void;
};

type RegionAgents = {
  /** By id and boot id. */
  agents: Map<string, KnownAgent>;
  /** Ids that several agents were heard under, and that this was said of. */
  sharedIds: Set<string>;
  isLive: boolean;
  /** Batches that the region's stream disowned and that were not said yet. */
  disownedUntold: number;
  /** They are said again from then on, monotonic ms. */
  tellDisownedAt: number;
  /** What every agent announced. */
  common: ReadonlySet<Capability>;
};

/**
 * The agents that are alive, by region. A region is live while at least one agent takes jobs there:
 * one that drains ends soon and takes none.
 */
export class Agents {
  readonly #options: AgentsOptions;
  readonly #regions = new Map<Region, RegionAgents>();
  readonly #log: ThrottledLog;
  readonly #sickAgents: SickAgents;
  #live: readonly Region[] = [];
  #liveSince = Number.NEGATIVE_INFINITY;
  /** Grows with every region that comes to life. */
  liveSerial = 0;

  constructor(options: AgentsOptions) {
    this.#options = options;
    const { clock, counters } = options;
    this.#log = new ThrottledLog(options.log, clock, MOST_LINES);
    this.#sickAgents = new SickAgents({ clock, counters, log: this.#log });
    for (const region of REGIONS) {
      this.#regions.set(region, {
        agents: new Map(),
        sharedIds: new Set(),
        isLive: false,
        disownedUntold: 0,
        tellDisownedAt: Number.NEGATIVE_INFINITY,
        common: new Set(),
      });
    }
  }

  /** Live regions in the fixed order. The array is replaced, never changed. */
  live(): readonly Region[] {
    return this.#live;
  }

  isLive(region: Region): boolean {
    return this.#of(region).isLive;
  }

  /** Whether every agent of the region announced it: any of them may get the next batch. */
  understand(region: Region, capability: Capability): boolean {
    return this.#of(region).common.has(capability);
  }

  /** Some live region takes jobs ahead of their slots. */
  takeJobsAhead(): boolean {
    return this.#live.some((region) => this.understand(region, 'jobs-ahead'));
  }

  /** How many agents are sick, by what is wrong with them. */
  get sick(): Readonly<Record<Sickness, number>> {
    return this.#sickAgents.counts();
  }

  /** No region came to life lately, so those that are live now are probably all. */
  isSettled(): boolean {
    return this.#options.clock.monotonic() - this.#liveSince >= SETTLED_MS;
  }

  /**
   * What the region's agents said in their last heartbeats.
   *
   * @returns `silentSince`: monotonic ms of the oldest of them
   */
  loadOf(region: Region): { held: number; capacity: number; silentSince: number } {
    const load = { held: 0, capacity: 0, silentSince: Number.POSITIVE_INFINITY };
    for (const { held, capacity, lastSeenAt } of this.#of(region).agents.values()) {
      load.held += held;
      load.capacity += capacity;
      load.silentSince = Math.min(load.silentSince, lastSeenAt);
    }
    return load;
  }

  agentsOf(region: Region): Iterable<KnownAgent> {
    return this.#of(region).agents.values();
  }

  /**
   * A sign of life other than a heartbeat.
   *
   * @returns null when the region has too many agents already
   */
  seen(region: Region, id: string, bootId = ''): KnownAgent | null {
    const { agents } = this.#of(region);
    const key = keyOf(id, bootId);
    let agent = agents.get(key);
    if (agent === undefined) {
      if (agents.size >= MAX_AGENTS_PER_REGION) {
        this.#options.counters.heartbeatsDropped += 1;
        return null;
      }
      agent = new KnownAgent(id, region, bootId);
      for (const other of agents.values()) if (other.id === id) other.isReplaced = true;
      agents.set(key, agent);
      this.#compareCapabilities(region);
    } else if (agent.isReplaced) {
      this.#sharesId(agent);
    }
    agent.lastSeenAt = this.#options.clock.monotonic();
    agent.lastSeenWall = this.#options.clock.wall();
    return agent;
  }

  /** @returns null when the region has too many agents already */
  heartbeat(region: Region, message: Heartbeat): KnownAgent | null {
    const agent = this.seen(region, message.agent, message.boot);
    if (agent === null) return null;
    if (agent.serial === 0) {
      this.#log.info('an agent is there', { region, agent: agent.id, version: message.version }, region);
    }
    agent.serial += 1;
    agent.version = message.version;
    agent.capacity = message.capacity;
    agent.running = message.running;
    agent.held = message.held.length;
    agent.loopDelayMs = message.loop_delay_ms;
    agent.clockOffsetMs = message.clock - agent.lastSeenWall;
    agent.startedAt = message.started_at;
    agent.isDraining = message.draining;
    agent.machine = message.machine ?? '';
    agent.sicknesses = sicknessesOf(message);
    this.#sickAgents.heard(agent);
    this.#disowned(agent, message.disowned ?? 0);
    this.#announced(agent, message);
    this.#update(region, agent.lastSeenWall);
    return agent;
  }

  /** Some agent of the region has been silent for too long at `asOf` (monotonic ms). */
  hasSilent(region: Region, asOf: number): boolean {
    for (const agent of this.#of(region).agents.values()) if (isSilent(agent, asOf)) return true;
    return false;
  }

  /** Forgets the region's agents that were silent at `asOf` and are still: all that had arrived by then was handled. */
  judge(region: Region, asOf: number): void {
    const { agents } = this.#of(region);
    let lastSeenAt = 0;
    for (const agent of agents.values()) {
      if (!isSilent(agent, asOf)) continue;
      lastSeenAt = Math.max(lastSeenAt, agent.lastSeenWall);
      agents.delete(keyOf(agent.id, agent.bootId));
      this.#sickAgents.gone(agent);
      this.#options.counters.agentsGone += 1;
      this.#log.warn('an agent is gone', { region, agent: agent.id, jobs: agent.jobs.size }, region);
      this.#options.onGone(agent);
    }
    if (lastSeenAt === 0) return;
    this.#compareCapabilities(region);
    this.#update(region, lastSeenAt);
  }

  /** Silence counts from now on: there was no connection over which anybody of the region could have been heard. */
  excuse(region: Region): void {
    const now = this.#options.clock.monotonic();
    for (const agent of this.#of(region).agents.values()) agent.lastSeenAt = now;
  }

  /** It is heard after another one of its id began: both live. */
  #sharesId(agent: KnownAgent): void {
    agent.isReplaced = false;
    const { sharedIds } = this.#of(agent.region);
    if (sharedIds.has(agent.id) || sharedIds.size >= MAX_AGENTS_PER_REGION) return;
    sharedIds.add(agent.id);
    this.#options.counters.sharedAgentIds += 1;
    const { region, id } = agent;
    this.#log.warn(SHARED_ID, { region, agent: id }, region);
  }

  #disowned(agent: KnownAgent, batches: number): void {
    const further = batches - agent.disownedBatches;
    agent.disownedBatches = batches;
    if (further <= 0) return;
    this.#options.counters.batchesDisowned += further;
    const { region, id } = agent;
    // Whoever tampers may say so as often as he likes.
    const state = this.#of(region);
    state.disownedUntold += further;
    const now = this.#options.clock.monotonic();
    if (now < state.tellDisownedAt) return;
    state.tellDisownedAt = now + TELL_DISOWNED_EVERY_MS;
    this.#options.log.error(
      { region, agent: id, batches: state.disownedUntold },
      "somebody tampers with a region's stream of results: it took new batches for repetitions",
    );
    state.disownedUntold = 0;
  }

  #announced(agent: KnownAgent, message: Heartbeat): void {
    const capabilities = CAPABILITIES.filter((each) => understands(message, each));
    const isSame =
      capabilities.length === agent.capabilities.length &&
      capabilities.every((each) => agent.capabilities.includes(each));
    if (isSame) return;
    agent.capabilities = capabilities;
    this.#compareCapabilities(agent.region);
  }

  #compareCapabilities(region: Region): void {
    const state = this.#of(region);
    const agents = [...state.agents.values()];
    state.common = new Set(
      CAPABILITIES.filter(
        (each) => agents.length > 0 && agents.every(({ capabilities }) => capabilities.includes(each)),
      ),
    );
  }

  #update(region: Region, lastSeenAt: number): void {
    const state = this.#of(region);
    let isLive = false;
    for (const agent of state.agents.values()) {
      if (!agent.isDraining && agent.serial > 0) {
        isLive = true;
        break;
      }
    }
    if (isLive === state.isLive) return;
    state.isLive = isLive;
    this.#live = REGIONS.filter((each) => this.#of(each).isLive);
    if (isLive) {
      this.#liveSince = this.#options.clock.monotonic();
      this.liveSerial += 1;
      this.#options.onRegionLive(region);
    } else {
      this.#options.onRegionLost(region, lastSeenAt);
    }
  }

  #of(region: Region): RegionAgents {
    // Every region was put in by the constructor.
    return this.#regions.get(region) as RegionAgents;
  }
}

const SHARED_ID = 'several agents have the same id: give each its own SVC_AGENT_ID';

function isSilent(agent: KnownAgent, asOf: number): boolean {
  return asOf - agent.lastSeenAt >= (agent.isReplaced ? REPLACED_SILENCE_MS : SILENCE_MS);
}

/** Who puts a line feed into an id can make it like another one of its own region only. */
function keyOf(id: string, bootId: string): string {
  return `${id}\n${bootId}`;
}

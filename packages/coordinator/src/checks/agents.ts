import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  HEARTBEAT_INTERVAL_MS,
  HEARTBEATS_MISSED,
  type Heartbeat,
  MAX_AGENTS_PER_REGION,
  type Sickness,
  sicknessesOf,
} from '@svc/shared/messages/heartbeat.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import type { AgentLoad } from '../verdict/thinning.ts';
import { SickAgents } from './sick-agents.ts';

/** Time within which each live agent sends a heartbeat, ms: one interval, plus 500 ms for a delay. */
export const HEARTBEAT_ROUND_MS = HEARTBEAT_INTERVAL_MS + 500;
/** Silence after which an agent counts as gone, ms: three intervals, plus 500 ms for a delay. */
export const SILENCE_MS = HEARTBEATS_MISSED * HEARTBEAT_INTERVAL_MS + 500;
/**
 * Silence after which an agent counts as gone if another process with the same id has started since, ms. The
 * agent was probably restarted, so its jobs can be offered again sooner.
 */
const REPLACED_SILENCE_MS = 2 * HEARTBEAT_INTERVAL_MS + 500;
/**
 * Maximum number of log lines with the same text about the agents of one region within 10 s. Twenty real
 * agents are logged in full, and forged agents cannot fill the log.
 */
export const MOST_LINES = 20;
/**
 * Least time between two log lines about new batches of results that a region's
 * stream refused as repetitions, ms.
 */
const TELL_DISOWNED_EVERY_MS = 10_000;
/** Time without a new live region after which the set of regions counts as settled, ms. */
const SETTLED_MS = 500;

/** An agent of a region, as its last heartbeat described it. */
export class KnownAgent {
  /** Id of the agent, set by its operator or generated. */
  readonly id: string;
  /** Random id of this process of the agent. */
  readonly bootId: string;
  readonly region: Region;
  version = '';
  /** Maximum number of attempts that the agent runs at once. */
  capacity = 0;
  running = 0;
  held = 0;
  /** Numbers of checks between the agent's last two heartbeats. */
  load: Omit<AgentLoad, 'isStarved'> = { begun: 0, late: 0, behind: 0 };
  loopDelayMs = 0;
  /**
   * The agent's wall clock minus the wall clock of this process, ms. The travel time of the heartbeat is
   * included.
   */
  clockOffsetMs = 0;
  startedAt = 0;
  isDraining = false;
  /** The host that the agent runs on; '' if the agent does not report its host. */
  machine = '';
  /** Faults that the agent has found in itself. */
  sicknesses: readonly Sickness[] = [];
  /** Number of new batches of its results that the stream refused as repetitions since the agent's start. */
  disownedBatches = 0;
  /** Whether another process with the same id was first heard after this agent's last heartbeat. */
  isReplaced = false;
  /**
   * When the agent's silence began, monotonic ms: at its last heartbeat, or at a later call of
   * {@link Agents.restartSilence}.
   */
  lastSeenAt = 0;
  /** When the last heartbeat of the agent came, epoch ms. */
  lastSeenWall = 0;
  /** Number of heartbeats so far. */
  serial = 0;

  constructor(id: string, region: Region, bootId: string) {
    this.id = id;
    this.bootId = bootId;
    this.region = region;
  }
}

export type AgentsParts = {
  clock: Clock;
  log: Logger;
  counters: DispatchCounters;
  /** The regions of the installation, in the order in which they are shown. */
  regions: readonly Region[];
  /** Called when the region gets its first agent that takes jobs. */
  onRegionLive: (region: Region) => void;
  /**
   * Called when the last agent of the region that took jobs is gone or drains. `lastSeenAt` is the instant of
   * that agent's last heartbeat, epoch ms.
   */
  onRegionLost: (region: Region, lastSeenAt: number) => void;
  /** Called when the agent was silent for too long. It is already forgotten then. */
  onGone: (agent: KnownAgent) => void;
};

type RegionAgents = {
  /** The region's agents, by id and boot id. */
  agents: Map<string, KnownAgent>;
  /** Ids that several agents use and about which a warning was logged. */
  sharedIds: Set<string>;
  isLive: boolean;
  /** Number of new batches that the region's stream refused as repetitions and that are not logged yet. */
  disownedUntold: number;
  /** Earliest instant of the next log line about refused batches of the region, monotonic ms. */
  tellDisownedAt: number;
};

/**
 * The agents that are alive, by region. A region is live while at least one of its agents takes jobs: a
 * draining agent ends soon and takes no jobs.
 */
export class Agents {
  readonly #parts: AgentsParts;
  readonly #regions = new Map<Region, RegionAgents>();
  /** The agents of all regions. */
  readonly #known = new Set<KnownAgent>();
  readonly #log: ThrottledLog;
  readonly #sickAgents: SickAgents;
  #live: readonly Region[] = [];
  #liveSince = Number.NEGATIVE_INFINITY;
  /** Grows whenever a region becomes live. */
  liveSerial = 0;

  constructor(parts: AgentsParts) {
    this.#parts = parts;
    const { clock, counters } = parts;
    this.#log = new ThrottledLog(parts.log, clock, MOST_LINES);
    this.#sickAgents = new SickAgents({ clock, counters, log: this.#log });
  }

  /** Live regions in the fixed order. The array is replaced, never changed. */
  live(): readonly Region[] {
    return this.#live;
  }

  isLive(region: Region): boolean {
    return this.#of(region).isLive;
  }

  /** The number of sick agents, by sickness. */
  get sick(): Readonly<Record<Sickness, number>> {
    return this.#sickAgents.countSicknesses();
  }

  /** Whether no region has become live lately, so that the list of live regions is probably complete. */
  isSettled(): boolean {
    return this.#parts.clock.monotonic() - this.#liveSince >= SETTLED_MS;
  }

  /** The checks that the region's agents began or refused between their last two heartbeats. */
  loadOf(region: Region): AgentLoad {
    const sum = { begun: 0, late: 0, behind: 0, isStarved: false };
    for (const { load, sicknesses } of this.#of(region).agents.values()) {
      sum.begun += load.begun;
      sum.late += load.late;
      sum.behind += load.behind;
      sum.isStarved ||= sicknesses.includes('starved');
    }
    return sum;
  }

  agentsOf(region: Region): IterableIterator<KnownAgent> {
    return this.#of(region).agents.values();
  }

  /**
   * Finds or adds the agent, and sets when it was last seen.
   *
   * @returns null when the agent is new, and the region already has the maximum number of agents
   */
  #noteSignOfLife(region: Region, id: string, bootId: string): KnownAgent | null {
    const { agents } = this.#of(region);
    const key = keyOf(id, bootId);
    let agent = agents.get(key);
    if (agent === undefined) {
      if (agents.size >= MAX_AGENTS_PER_REGION) {
        this.#parts.counters.heartbeatsDropped += 1;
        return null;
      }
      agent = new KnownAgent(id, region, bootId);
      for (const other of agents.values()) if (other.id === id) other.isReplaced = true;
      agents.set(key, agent);
      this.#known.add(agent);
    } else if (agent.isReplaced) {
      this.#sharesId(agent);
    }
    agent.lastSeenAt = this.#parts.clock.monotonic();
    agent.lastSeenWall = this.#parts.clock.wall();
    return agent;
  }

  /**
   * Handles a heartbeat, and returns the agent that sent it.
   *
   * @returns null when the agent is new, and the region already has the maximum number of agents
   */
  takeHeartbeat(region: Region, message: Heartbeat): KnownAgent | null {
    const agent = this.#noteSignOfLife(region, message.agent, message.boot);
    if (agent === null) return null;
    if (agent.serial === 0) {
      this.#log.info('an agent has connected', { region, agent: agent.id, version: message.version }, region);
    }
    agent.serial += 1;
    agent.version = message.version;
    agent.capacity = message.capacity;
    agent.running = message.running;
    agent.held = message.held;
    const { begun = 0, late = 0, behind = 0 } = message;
    agent.load = { begun, late, behind };
    agent.loopDelayMs = message.loop_delay_ms;
    agent.clockOffsetMs = message.clock - agent.lastSeenWall;
    agent.startedAt = message.started_at;
    agent.isDraining = message.draining;
    agent.machine = message.machine ?? '';
    agent.sicknesses = sicknessesOf(message);
    this.#sickAgents.trackSicknesses(agent);
    this.#disowned(agent, message.disowned ?? 0);
    this.#update(region, agent.lastSeenWall);
    return agent;
  }

  /**
   * The regions with an agent that had been silent for too long at `asOf` (monotonic ms). A region with
   * several such agents is repeated.
   */
  silentRegions(asOf: number): readonly Region[] {
    const regions: Region[] = [];
    for (const agent of this.#known) if (isSilent(agent, asOf)) regions.push(agent.region);
    return regions;
  }

  /**
   * Forgets the region's agents that were silent for too long at `asOf` (monotonic ms) and have not been
   * heard since. The caller has handled all messages that had arrived by then.
   */
  forgetSilentAgents(region: Region, asOf: number): void {
    const { agents } = this.#of(region);
    let lastSeenAt = 0;
    for (const agent of agents.values()) {
      if (!isSilent(agent, asOf)) continue;
      lastSeenAt = Math.max(lastSeenAt, agent.lastSeenWall);
      agents.delete(keyOf(agent.id, agent.bootId));
      this.#known.delete(agent);
      this.#sickAgents.forgetAgent(agent);
      this.#parts.counters.agentsGone += 1;
      this.#log.warn(GONE, { region, agent: agent.id }, region);
      this.#parts.onGone(agent);
    }
    if (lastSeenAt === 0) return;
    this.#update(region, lastSeenAt);
  }

  /**
   * Makes the silence of the region's agents begin at the present instant. Called when the connection is
   * back, and when the reading of the region's heartbeats begins: before that, no agent could be heard.
   */
  restartSilence(region: Region): void {
    const now = this.#parts.clock.monotonic();
    for (const agent of this.#of(region).agents.values()) agent.lastSeenAt = now;
  }

  /**
   * Warns, once for each id, that two live agents share an id. This is known because the agent was heard
   * again after another agent with its id had appeared.
   */
  #sharesId(agent: KnownAgent): void {
    agent.isReplaced = false;
    const { sharedIds } = this.#of(agent.region);
    if (sharedIds.has(agent.id) || sharedIds.size >= MAX_AGENTS_PER_REGION) return;
    sharedIds.add(agent.id);
    this.#parts.counters.sharedAgentIds += 1;
    const { region, id } = agent;
    this.#log.warn(SHARED_ID, { region, agent: id }, region);
  }

  #disowned(agent: KnownAgent, batches: number): void {
    const further = batches - agent.disownedBatches;
    agent.disownedBatches = batches;
    if (further <= 0) return;
    this.#parts.counters.batchesDisowned += further;
    const { region, id } = agent;
    // Somebody who manipulates a stream can make agents report any number of refused
    // batches, at any rate. So the log lines are limited.
    const state = this.#of(region);
    state.disownedUntold += further;
    const now = this.#parts.clock.monotonic();
    if (now < state.tellDisownedAt) return;
    state.tellDisownedAt = now + TELL_DISOWNED_EVERY_MS;
    this.#parts.log.error(
      { region, agent: id, batches: state.disownedUntold },
      "somebody tampers with a region's stream of results: the stream refused new batches as repetitions",
    );
    state.disownedUntold = 0;
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
    this.#live = this.#parts.regions.filter((each) => this.#of(each).isLive);
    if (isLive) {
      this.#liveSince = this.#parts.clock.monotonic();
      this.liveSerial += 1;
      this.#parts.onRegionLive(region);
    } else {
      this.#parts.onRegionLost(region, lastSeenAt);
    }
  }

  #of(region: Region): RegionAgents {
    const known = this.#regions.get(region);
    if (known !== undefined) return known;
    const state: RegionAgents = {
      agents: new Map(),
      sharedIds: new Set(),
      isLive: false,
      disownedUntold: 0,
      tellDisownedAt: Number.NEGATIVE_INFINITY,
    };
    this.#regions.set(region, state);
    return state;
  }
}

const GONE = 'an agent is gone: it missed its heartbeats';
const SHARED_ID = 'several agents have the same id: give each its own SVC_AGENT_ID';

function isSilent(agent: KnownAgent, asOf: number): boolean {
  return asOf - agent.lastSeenAt >= (agent.isReplaced ? REPLACED_SILENCE_MS : SILENCE_MS);
}

/** Key of an agent within its region. A boot id has no line feed, so different agents have different keys. */
function keyOf(id: string, bootId: string): string {
  return `${id}\n${bootId}`;
}

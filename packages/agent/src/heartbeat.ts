import { hostname } from 'node:os';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  HEARTBEAT_INTERVAL_MS,
  type Heartbeat,
  type Sickness,
  UNSTORED_TODO,
} from '@svc/shared/messages/heartbeat.ts';
import { heartbeatSubject, MESSAGE_VERSION } from '@svc/shared/messages/subjects.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';

/** The part of a heartbeat that changes. */
export type AgentState = {
  running: number;
  held: number;
  begun: number;
  late: number;
  behind: number;
  loopDelayMs: number;
  isDraining: boolean;
  sicknesses: readonly Sickness[];
  disownedBatches: number;
};

export type HeartbeatsParts = {
  bus: Bus;
  region: Region;
  agentId: string;
  /** Random id of this start of the agent. */
  bootId: string;
  version: string;
  /** Maximum number of attempts at once. */
  capacity: number;
  clock: Clock;
  log: Logger;
  state: () => AgentState;
};

/** Wait before another heartbeat is sent because NATS did not store the last one, ms. */
const REPEAT_MS = 250;
/**
 * Time without a stored heartbeat after which the log says so, ms. The servers of a cluster choose a stream's
 * leader within 14 s, and a coordinator may start later than its agents.
 */
const WARN_AFTER_MS = 60_000;

/**
 * Sends the heartbeats of this agent: every 2 s, and at once after a reconnect.
 * NATS keeps the newest heartbeat of each start of an agent for ten seconds.
 *
 * A coordinator creates the stream of heartbeats. While the stream does not exist, NATS answers
 * each heartbeat with "no responders", and another heartbeat follows after {@link REPEAT_MS}. If this
 * lasts, probably no coordinator has the agent's region, and the agent warns. The stream stays while the
 * coordinator is away, so its absence alone causes no warning.
 */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  readonly #startedAt: number;
  #stopTimer: () => void = () => {};
  #stopListening: () => void = () => {};
  #cancelRepeat: () => void = () => {};
  #inbox = '';
  /** When NATS last said that it stored no heartbeat, monotonic ms. */
  #unstoredAt = Number.NEGATIVE_INFINITY;
  /** When NATS first said so since it last stored a heartbeat or was away, monotonic ms. */
  #unstoredSince = 0;
  #hasWarned = false;

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.wall();
  }

  start(): void {
    const { bus, clock } = this.#parts;
    this.#inbox = bus.inbox();
    const answers = bus.subscribe(this.#inbox, ({ isNoResponders }) => {
      if (!isNoResponders) return;
      this.#noteUnstored();
      this.#cancelRepeat();
      this.#cancelRepeat = clock.after(REPEAT_MS, () => this.beat());
    });
    this.#stopTimer = clock.every(HEARTBEAT_INTERVAL_MS, () => this.beat());
    const stopListening = bus.onConnection((isConnected) => {
      if (isConnected) this.beat();
    });
    this.#stopListening = () => {
      stopListening();
      answers.close();
    };
    this.beat();
  }

  stop(): void {
    this.#stopTimer();
    this.#stopListening();
    this.#cancelRepeat();
  }

  #noteUnstored(): void {
    const { clock, log, region } = this.#parts;
    const now = clock.monotonic();
    // A heartbeat that was sent in an interval without this answer was stored.
    if (now - this.#unstoredAt > HEARTBEAT_INTERVAL_MS) {
      this.#unstoredSince = now;
      this.#hasWarned = false;
    }
    this.#unstoredAt = now;
    if (this.#hasWarned || now - this.#unstoredSince < WARN_AFTER_MS) return;
    this.#hasWarned = true;
    log.warn({ region }, UNSTORED);
  }

  /** Sends one heartbeat now, unless the connection is down. */
  beat(): void {
    const { bus, region, agentId, bootId, version, capacity, clock, log, state } = this.#parts;
    if (!bus.isConnected) return;
    const { running, held, begun, late, behind, loopDelayMs, isDraining, sicknesses, disownedBatches } =
      state();
    const heartbeat: Heartbeat = {
      v: MESSAGE_VERSION,
      kind: 'heartbeat',
      agent: agentId,
      boot: bootId,
      version,
      capacity,
      running,
      held,
      begun,
      late,
      behind,
      loop_delay_ms: Math.round(loopDelayMs),
      clock: Math.trunc(clock.wall()),
      started_at: Math.trunc(this.#startedAt),
      draining: isDraining,
      machine: hostname().slice(0, 255),
      ...(sicknesses.length === 0 ? {} : { sick: [...sicknesses] }),
      disowned: disownedBatches,
    };
    try {
      bus.publish(heartbeatSubject(region, bootId), JSON.stringify(heartbeat), { reply: this.#inbox });
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'could not send a heartbeat');
    }
  }
}

const UNSTORED = `NATS stores no heartbeats of this region, so it gets no checks: ${UNSTORED_TODO}`;

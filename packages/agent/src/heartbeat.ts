import { hostname } from 'node:os';
import type { Bus } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  AGENT_UNDERSTANDS,
  HEARTBEAT_INTERVAL_MS,
  type Heartbeat,
  type Sickness,
} from '@svc/shared/messages/heartbeat.ts';
import { MESSAGE_VERSION } from '@svc/shared/messages/subjects.ts';

/** The part of a heartbeat that changes. */
export type AgentState = {
  running: number;
  held: number;
  begun: number;
  late: number;
  loopDelayMs: number;
  isDraining: boolean;
  sicknesses: readonly Sickness[];
  disownedBatches: number;
};

export type HeartbeatsParts = {
  bus: Bus;
  subject: string;
  agentId: string;
  bootId: string;
  version: string;
  capacity: number;
  clock: Clock;
  log: Logger;
  state: () => AgentState;
};

/**
 * Tells the coordinator that this agent lives and which jobs it holds: every 2 s, and at once after a
 * reconnect.
 */
export class Heartbeats {
  readonly #parts: HeartbeatsParts;
  readonly #startedAt: number;
  #stopTimer: () => void = () => {};
  #stopListening: () => void = () => {};

  constructor(parts: HeartbeatsParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.wall();
  }

  start(): void {
    const { bus, clock } = this.#parts;
    this.#stopTimer = clock.every(HEARTBEAT_INTERVAL_MS, () => this.beat());
    this.#stopListening = bus.onConnection((isConnected) => {
      if (isConnected) this.beat();
    });
    this.beat();
  }

  stop(): void {
    this.#stopTimer();
    this.#stopListening();
  }

  /** Sends one heartbeat now; none while the connection is down. */
  beat(): void {
    const { bus, subject, agentId, bootId, version, capacity, clock, log, state } = this.#parts;
    if (!bus.isConnected) return;
    const { running, held, begun, late, loopDelayMs, isDraining, sicknesses, disownedBatches } = state();
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
      loop_delay_ms: Math.round(loopDelayMs),
      clock: Math.trunc(clock.wall()),
      started_at: Math.trunc(this.#startedAt),
      draining: isDraining,
      machine: hostname().slice(0, 255),
      ...(sicknesses.length === 0 ? {} : { sick: [...sicknesses] }),
      disowned: disownedBatches,
      understands: [...AGENT_UNDERSTANDS],
    };
    try {
      bus.publish(subject, JSON.stringify(heartbeat));
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'could not send a heartbeat');
    }
  }
}

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { SICKNESSES, type Sickness } from '@svc/shared/messages/heartbeat.ts';
import { AGENT_GAUGES } from '@svc/shared/metrics/agent-instruments.ts';
import { LoopDelay } from '@svc/shared/metrics/process-instruments.ts';
import { type Measurement, seriesOf } from '@svc/shared/metrics/values.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import { OwnExport } from '@svc/shared/own-metrics/own-export.ts';
import type { OwnExportParts } from '@svc/shared/own-metrics/parts.ts';
import { openCpuCounters } from '@svc/shared/process/cpu-counters.ts';
import {
  type ProcessMemory,
  processMemory,
  returnMemoryAfterStart,
} from '@svc/shared/process/process-memory.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { AgentConfig } from './config.ts';
import type { HealthServer } from './health-server.ts';
import { type AgentState, Heartbeats } from './heartbeat.ts';
import { HeldJobs } from './held-jobs.ts';
import { Intake } from './intake.ts';
import { agentMeasurements, createMetrics, type Gauges, type Metrics } from './metrics.ts';
import type { ReferenceList } from './network/reference-list.ts';
import { References } from './network/references.ts';
import { NetworkWatch } from './network/watch.ts';
import type { ProbeSet } from './probes/registry.ts';
import { Reporter } from './reporter.ts';
import { ResultOutbox } from './result-outbox.ts';
import { Runner } from './runner.ts';
import { Starvation } from './starvation.ts';

/**
 * Maximum part of the drain time that is reserved for the acknowledgements of
 * results, ms. The last export of the agent's own metrics takes at most this time too.
 */
const FLUSH_MS = 1_000;

/** Minimum time for the last export of the agent's own metrics, ms. */
const LAST_EXPORT_MS = 250;

/** Maximum time that a stopping agent waits for NATS to end the delivery of jobs, ms. */
const INTAKE_MS = 250;

export type AgentParts = {
  config: Pick<AgentConfig, 'region' | 'agentId' | 'concurrency' | 'listen' | 'metricsToken' | 'drainMs'>;
  /** A connected bus. The agent closes it when it stops. */
  bus: Bus;
  /** The probes. The agent closes them when it stops. */
  probeSet: ProbeSet;
  /**
   * List of hosts that show whether the agent's own network works. The agent closes
   * the list when it stops. Undefined: the agent never suspects its network.
   */
  references?: ReferenceList | undefined;
  /** Settings of the export of the agent's own metrics. Undefined: they are not exported. */
  ownExport?: Pick<OwnExportParts, 'settings' | 'ca'> | undefined;
  /** The memory whose unused part is returned to the system. Default: that of this process. */
  memory?: ProcessMemory;
  clock: Clock;
  log: Logger;
};

/** An agent. It takes jobs of its region, runs them, and hands the results to the region's stream. */
export class Agent {
  readonly id: string;
  readonly metrics: Metrics = createMetrics();
  readonly #parts: AgentParts;
  /** When the agent was created, epoch ms. */
  readonly #startedAt: number;
  readonly #loopDelay = new LoopDelay();
  readonly #ownExport: OwnExport;
  readonly #starvation: Starvation;
  readonly #references: References;
  readonly #network: NetworkWatch;
  readonly #held: HeldJobs;
  readonly #outbox: ResultOutbox;
  readonly #reporter: Reporter;
  readonly #runner: Runner;
  readonly #intake: Intake;
  readonly #heartbeats: Heartbeats;
  #cancelMemoryReturn = () => {};
  #health: HealthServer | null = null;
  #stopCounting: () => void = () => {};
  #stopped: Promise<void> | null = null;

  constructor(parts: AgentParts) {
    const { config, bus, probeSet, clock, log } = parts;
    const { metrics } = this;
    this.#parts = parts;
    this.#startedAt = clock.wall();
    this.id = config.agentId ?? generatedId();
    this.#ownExport = this.#createOwnExport();
    const shared = { bus, clock, log, metrics };
    const bootId = randomBytes(9).toString('base64url');
    const onResult = (result: CheckResult, subject: string): void => this.#reporter.report(result, subject);
    this.#starvation = new Starvation(clock, openCpuCounters(log));
    this.#references = new References({ list: () => parts.references?.list() ?? [], clock, log });
    this.#network = new NetworkWatch({ references: this.#references, clock });
    const held = new HeldJobs(clock);
    this.#held = held;
    this.#outbox = new ResultOutbox(shared);
    this.#reporter = new Reporter({
      agentId: this.id,
      outbox: this.#outbox,
      held,
      clock,
    });
    this.#runner = new Runner({
      ...shared,
      probes: probeSet.probes,
      concurrency: config.concurrency,
      starvation: this.#starvation,
      network: this.#network,
      random: Math.random,
      onResult,
    });
    this.#intake = new Intake({
      ...shared,
      region: config.region,
      agentId: this.id,
      concurrency: config.concurrency,
      runner: this.#runner,
      held,
      starvation: this.#starvation,
      onResult,
    });
    this.#heartbeats = new Heartbeats({
      ...shared,
      region: config.region,
      agentId: this.id,
      bootId,
      version: VERSION,
      capacity: config.concurrency,
      state: () => this.#stateNow(),
    });
  }

  /** Port of the health server; null when there is no health server. */
  get healthPort(): number | null {
    return this.#health?.port ?? null;
  }

  /** The agent's measurements of itself at this moment, for `/metrics` and for the export by OTLP. */
  measurements(): Measurement[] {
    const process = { version: VERSION, loopDelay: this.#loopDelay.values };
    return agentMeasurements(this.metrics, this.#gauges(), process, this.#startedAt);
  }

  /**
   * Starts the agent. Resolves when NATS knows its subscription to jobs and the first heartbeat is sent. If
   * the connection to NATS is down, both follow after the reconnect, and `start` does not wait for them.
   * Rejects when the health address cannot be bound.
   */
  async start(): Promise<void> {
    const { bus, clock, log, memory = processMemory } = this.#parts;
    await this.#startHealthServer();
    this.#loopDelay.start();
    this.#ownExport.start();
    this.#stopCounting = bus.onConnection((isConnected) => {
      if (!isConnected) this.metrics.disconnects += 1;
    });
    this.#starvation.start();
    this.#references.start();
    this.#runner.start();
    this.#outbox.start();
    this.#intake.start();
    this.#cancelMemoryReturn = returnMemoryAfterStart({ memory, clock, log });
    try {
      // The coordinator sends jobs as soon as it sees the first
      // heartbeat, so the subscriptions must be active before it.
      await bus.flush();
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        'the connection to NATS was lost at the start; the agent continues when it is back',
      );
    }
    if (this.#stopped === null) this.#heartbeats.start();
  }

  /**
   * Stops the agent within the drain time and some 350 ms, if the drain time is 2 s or more.
   * {@link Runner.drain} says what happens to the jobs. `stop` may be called twice.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { bus, probeSet, clock, config } = this.#parts;
    const endsAt = clock.monotonic() + config.drainMs;
    const intakeStopped = this.#intake.stop(INTAKE_MS);
    this.#heartbeats.beat();
    await intakeStopped;
    const flushMs = Math.min(FLUSH_MS, config.drainMs / 4);
    await this.#runner.drain(Math.max(0, endsAt - flushMs - clock.monotonic()));
    this.#reporter.flush();
    await this.#outbox.stop(Math.max(100, endsAt - clock.monotonic()));
    // The last heartbeat says that the agent holds no jobs.
    this.#heartbeats.beat();
    this.#heartbeats.stop();
    await this.#ownExport.stop(Math.min(FLUSH_MS, Math.max(LAST_EXPORT_MS, endsAt - clock.monotonic())));
    this.#starvation.stop();
    this.#cancelMemoryReturn();
    this.#loopDelay.stop();
    this.#stopCounting();
    await this.#references.stop();
    await this.#parts.references?.close();
    await this.#health?.stop();
    await probeSet.close();
    await bus.close();
  }

  #createOwnExport(): OwnExport {
    const { ownExport = { settings: null, ca: [] }, config, clock, log } = this.#parts;
    return new OwnExport({
      ...ownExport,
      resource: {
        'service.name': 'svc-agent',
        'service.version': VERSION,
        'service.instance.id': this.id,
        'svc.region': config.region,
      },
      measurements: () => this.measurements(),
      proxyFor: undefined,
      clock,
      log,
    });
  }

  #stateNow(): AgentState {
    return {
      running: this.#runner.running,
      held: this.#held.size,
      ...this.#runner.takeStarts(),
      loopDelayMs: this.#starvation.takeLargestDelay(),
      isDraining: this.#intake.isDraining,
      sicknesses: this.#sicknesses(),
      disownedBatches: this.metrics.batchesDisowned,
    };
  }

  /** The faults that the agent finds in itself now: it is starved of CPU, or its network is down. */
  #sicknesses(): Sickness[] {
    return SICKNESSES.filter((each) => (each === 'starved' ? this.#starvation.isSick : this.#network.isDown));
  }

  async #startHealthServer(): Promise<void> {
    const { config, bus } = this.#parts;
    if (config.listen === undefined) return;
    // The module is loaded only when it is needed, because importing
    // node:http loads all of undici, which takes some 4 MiB.
    const { HealthServer } = await import('./health-server.ts');
    this.#health = new HealthServer({
      listen: config.listen,
      metricsToken: config.metricsToken,
      isReady: () => bus.isConnected && !this.#intake.isDraining,
      measurements: () => this.measurements(),
    });
    await this.#health.start();
  }

  #gauges(): Gauges {
    const sicknesses = this.#sicknesses();
    const isSick = (sickness: Sickness): number => Number(sicknesses.includes(sickness));
    return {
      running: this.#runner.running,
      pending: this.#runner.pending,
      held: this.#held.size,
      outbox: this.#outbox.size,
      outboxAge: this.#outbox.ageMs / 1_000,
      info: seriesOf(AGENT_GAUGES.info, [[{ region: this.#parts.config.region, agent: this.id }, 1]]),
      connected: Number(this.#parts.bus.isConnected),
      sick: { 'network-down': isSick('network-down'), starved: isSick('starved') },
    };
  }
}

function generatedId(): string {
  const name = hostname()
    .replaceAll(/[^\w.-]/g, '-')
    .slice(0, 64);
  return `${name}-${randomBytes(4).toString('hex')}`;
}

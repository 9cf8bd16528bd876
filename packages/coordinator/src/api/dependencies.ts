import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Sickness } from '@svc/shared/messages/heartbeat.ts';
import type { Measurement } from '@svc/shared/metrics/measurement.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { Configuration } from '../configuration/configuration.ts';
import type { Reading } from '../configuration/reading.ts';
import type { RegionAnswer } from '../dispatch/manual-runs.ts';
import type { LiveMonitors, MonitorStatus } from '../domain/monitor.ts';
import type { Vote } from '../domain/status.ts';
import type { EndpointState, TestAnswer } from '../export/protocol.ts';
import type { Deliveries } from '../notify/deliveries.ts';
import type { ChannelProblems } from '../notify/sender.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { Tokens } from '../store/tokens.ts';
import type { ApiCounters } from './api-counters.ts';
import type { ListenerTimeouts } from './listener-timeouts.ts';
import type { Rate } from './rate-limit.ts';
import type { TlsFiles } from './tls-files.ts';

/** What the API needs of the other parts of the coordinator. */
export type ApiDependencies = {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Null: without TLS. */
  readonly tls?: TlsFiles | null;
  readonly timeouts?: ListenerTimeouts;
  /** Connections at once; by default what the process's descriptors allow. */
  readonly maxConnections?: number;
  /** Under which people reach it: the OpenAPI document names it. */
  readonly publicUrl: string;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly reading: Reading;
  readonly tokens: Tokens;
  readonly configuration: Configuration;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly states: MonitorStates;
  readonly agents: AgentDirectory;
  readonly checks: CheckRunner;
  readonly deliveries: Deliveries;
  readonly exports: ExportDirectory;
  readonly channelProblem: ChannelProblems;
  /** Parts by name and whether they work now: ready when all do. */
  readonly readiness: () => Readonly<Record<string, boolean>>;
  /** What the API counts. */
  readonly counters: ApiCounters;
  /** What `/metrics` shows; `counters` are among it. */
  readonly measurements: () => readonly Measurement[];
  /** Bearer token that /metrics asks for; null: none. */
  readonly metricsToken: Secret | null;
  /** Of requests per token; the default is 500 a second, 2,000 at once. */
  readonly rate?: Rate;
  /** Of requests without a valid token per peer; the default is 1 a second, 30 at once. */
  readonly failureRate?: Rate;
  readonly clock: Clock;
  /** The slots' clock, epoch ms: votes are dated by it, and the system's may have been set back since. */
  readonly slotNow: () => number;
  readonly log: Logger;
};

/** The latest verdicts; the recorder's `States` is one. */
export interface MonitorStates {
  get(monitorId: number): { readonly status: MonitorStatus; readonly votes: readonly Vote[] } | undefined;
}

export type LiveAgent = {
  readonly id: string;
  readonly version: string;
  /** Attempts it can run at once, and runs now. */
  readonly capacity: number;
  readonly running: number;
  /** Largest event-loop delay lately, ms. */
  readonly loopDelayMs: number;
  /** Epoch ms. */
  readonly lastSeenWall: number;
  readonly isDraining: boolean;
  /** The host that it runs on, '' where it does not say. */
  readonly machine: string;
  /** What it finds wrong with itself. */
  readonly sicknesses: readonly Sickness[];
};

/** The agents that are alive now. */
export interface AgentDirectory {
  agentsOf(region: Region): Iterable<LiveAgent>;
  /** Regions with an agent that takes jobs. */
  live(): readonly Region[];
  /** Regions whose agents say more than is read, so that none of them is heard for a while. */
  muted(): readonly Region[];
}

/** What is exported over OTLP; `MetricsExport` has it. */
export interface ExportDirectory {
  /** How it stands with each endpoint, a second ago at most. */
  endpoints(): readonly EndpointState[];
  /**
   * Sends the metrics of the monitor to its endpoint, now.
   *
   * @throws SvcError `not-exported`, `export-unavailable`, `not-leading`
   */
  test(monitorId: number): Promise<TestAnswer>;
}

/** `Dispatch` is one. */
export interface CheckRunner {
  /**
   * One attempt per region now, not recorded. `agent` and `result` null: the region stayed silent.
   *
   * @param checkText JSON text of the check
   * @throws SvcError `too-many-runs`, or without a connection to NATS
   */
  runNow(checkText: Secret, regions: readonly Region[], timeoutMs: number): Promise<readonly RegionAnswer[]>;
}

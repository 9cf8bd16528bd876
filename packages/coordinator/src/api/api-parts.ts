import type { Clock } from '@svc/shared/clock.ts';
import type { EgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Sickness } from '@svc/shared/messages/heartbeat.ts';
import { API_COUNTERS } from '@svc/shared/metrics/serving-instruments.ts';
import { createTotals, type Measurement, type ValuesOf } from '@svc/shared/metrics/values.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import type { OwnRegion, Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { ManualDeliveries } from '../alerts/manual-deliveries.ts';
import type { OverdueChannel } from '../alerts/overdue.ts';
import type { ChannelProblems } from '../alerts/sender.ts';
import type { RegionAnswer } from '../checks/manual-runs.ts';
import type { Configuration, Drafts } from '../declaration/configuration.ts';
import type { Incidents } from '../declaration/notes/incidents.ts';
import type { MaintenanceWindows } from '../declaration/notes/maintenance.ts';
import type { Reading } from '../declaration/reading.ts';
import type { EndpointState, TestAnswer } from '../export/metrics-export.ts';
import type { Comparison, WhatIf } from '../history/what-if/compare.ts';
import type { PageDomains } from '../pages/domains/domains.ts';
import type { Tokens } from '../store/access/tokens.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor, LiveMonitors, MonitorStatus } from '../verdict/monitor.ts';
import type { Vote } from '../verdict/status.ts';
import type { Site } from '../web/site.ts';
import type { ApiCalls } from './in-process.ts';
import type { ListenerTimeouts, TlsFiles } from './listener-settings.ts';
import type { Rate } from './request-gate.ts';

/** A shard, and who leads it. */
export type LedShard = {
  readonly id: number;
  /** The name of the coordinator that leads the shard; null: no coordinator leads it. */
  readonly holder: string | null;
  /** Whether this coordinator leads the shard. */
  readonly isHere: boolean;
};

/** Whether another coordinator leads a shard. */
export function isLedElsewhere(shards: readonly LedShard[]): boolean {
  return shards.some(({ holder, isHere }) => holder !== null && !isHere);
}

/** The parts of the coordinator that the API needs. */
export type ApiParts = {
  /** `host:port`. Port 0 stands for any free port. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Files of the certificate and its key; null: the API is served without TLS. */
  readonly tls?: TlsFiles | null;
  readonly timeouts?: ListenerTimeouts;
  /** Maximum number of simultaneous connections. The default depends on the process's limit of open files. */
  readonly maxConnections?: number;
  /** URL at which people reach the API. The OpenAPI document contains it. */
  readonly publicUrl: string;
  /** CIDRs of the proxies whose `X-Forwarded-For` svc trusts; left out: svc trusts no proxy. */
  readonly trustedProxies?: readonly string[];
  readonly store: Store;
  readonly secrets: Secrets;
  readonly reading: Reading;
  readonly tokens: Tokens;
  /** Name of the declared file; left out: this coordinator has no declared file. */
  readonly declaredFile?: string | undefined;
  readonly configuration: Configuration & Drafts;
  /** Changes maintenance windows. */
  readonly maintenance: MaintenanceWindows;
  /** Changes the incidents and updates that people write. */
  readonly incidents: Incidents;
  readonly monitors: KnownMonitors;
  readonly agents: AgentDirectory;
  /** The regions of one's own, in any order. */
  readonly ownRegions: readonly OwnRegion[];
  readonly checks: CheckRunner;
  readonly whatIfs: WhatIfRunner;
  readonly deliveries: ManualDeliveries;
  /** Returns the shards, and who leads them; empty while the database cannot be read. */
  readonly shards: () => Promise<readonly LedShard[]>;
  /** Returns the channels whose alerts are overdue. */
  readonly overdue: () => readonly OverdueChannel[];
  readonly exports: ExportDirectory;
  /**
   * Returns the state of the declared file; null: this process
   * has not read the file yet, or has no declared file.
   */
  readonly declaration: () => DeclaredFileState | null;
  readonly channelProblem: ChannelProblems;
  /** Decides to which addresses svc may connect when it fetches the icons of status pages. */
  readonly guard: EgressGuard;
  readonly domains: PageDomains;
  /** Key with which svc makes ids and credentials for visitors of status pages, 32 bytes. */
  readonly visitorKey: Secret<Uint8Array>;
  /** For each part, by name, whether it works now. The coordinator is ready when all parts work. */
  readonly readiness: () => Readonly<Record<string, boolean>>;
  readonly counters: ApiCounters;
  /** The measurements that `/metrics` shows. They include `counters`. */
  readonly measurements: () => readonly Measurement[];
  /** The last errors of the log, newest first; left out: no errors are remembered. */
  readonly recentErrors?: (() => readonly RecentError[]) | undefined;
  /** Bearer token that `/metrics` requires; null: `/metrics` requires no token. */
  readonly metricsToken: Secret | null;
  /** Rate of requests of one token. The default is 500 a second, 2,000 at once. */
  readonly rate?: Rate;
  /** Rate of requests without a valid token from one peer. The default is 1 a second, 30 at once. */
  readonly failureRate?: Rate;
  /**
   * Creates the sites that are served beside the API. A request is
   * offered to the sites one after the other, in the order of the list.
   */
  readonly sites?: (calls: ApiCalls) => readonly Site[];
  readonly clock: Clock;
  /**
   * Reads the clock that dates slots and votes, epoch ms. While this coordinator
   * leads, that clock never goes back, even if somebody sets the system's clock back.
   */
  readonly slotNow: () => number;
  readonly log: Logger;
};

export type KnownVerdict = {
  readonly status: MonitorStatus;
  readonly votes: readonly Pick<Vote, 'region' | 'outcome' | 'slot' | 'at'>[];
};

/**
 * The monitors and their latest verdicts. The leader of a shard has those
 * of the shard in memory. Other coordinators read them from the database.
 */
export interface KnownMonitors {
  /** Finds the monitors with these ids, in any workspace. Ids without a monitor are left out. */
  findMonitors(ids: readonly number[]): Promise<ReadonlyMap<number, LiveMonitor>>;
  /** Finds the latest verdicts of these monitors. A monitor without a verdict is left out. */
  verdictsOf(ids: readonly number[]): Promise<ReadonlyMap<number, KnownVerdict>>;
}

/** Makes {@link KnownMonitors} from monitors and verdicts in memory. */
export function monitorsIn(
  monitors: Pick<LiveMonitors, 'get'>,
  states: { get(monitorId: number): KnownVerdict | undefined },
): KnownMonitors {
  const known = <Value>(ids: readonly number[], find: (id: number) => Value | undefined) =>
    new Map(
      ids.flatMap((id) => {
        const value = find(id);
        return value === undefined ? [] : [[id, value] as const];
      }),
    );
  return {
    findMonitors: async (ids) => known(ids, (id) => monitors.get(id)),
    verdictsOf: async (ids) => known(ids, (id) => states.get(id)),
  };
}

export type LiveAgent = {
  readonly id: string;
  readonly version: string;
  /** Maximum number of concurrent attempts. `running`: number of attempts that run now. */
  readonly capacity: number;
  readonly running: number;
  /** Largest delay of the agent's event loop in recent time, ms. */
  readonly loopDelayMs: number;
  /** When the last heartbeat of the agent arrived, epoch ms. */
  readonly lastSeenWall: number;
  readonly isDraining: boolean;
  /** Name of the agent's host; '' when the agent does not report a name. */
  readonly machine: string;
  /** The faults that the agent finds in itself. */
  readonly sicknesses: readonly Sickness[];
};

/** The agents that are alive now. */
export interface AgentDirectory {
  agentsOf(region: Region): Iterable<LiveAgent>;
  /** Regions in which an agent takes jobs. */
  liveRegions(): readonly Region[];
}

type DeclaredPlace = {
  readonly file: string;
  /** Lines and columns count from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** State of the declared file. `DeclaredFile` reports it. */
export type DeclaredFileState = {
  /** The workspace that the file declares. */
  readonly workspaceId: number;
  /** When this process last applied the file, epoch ms; null: it has not applied the file yet. */
  readonly appliedAt: number | null;
  /** SHA-256 (hex) of the last applied file. */
  readonly digest: string | null;
  /** Number of entries of the last applied file. */
  readonly resources: number;
  /** Errors of the present file. While it has errors, the last applied declaration stays in effect. */
  readonly errors: readonly DeclaredPlace[];
  /** Warnings about parts of the applied declaration, most of them parts without effect. */
  readonly warnings: readonly DeclaredPlace[];
  /**
   * Why a file without errors is not applied yet; null: the file
   * does not wait. `nextAt`: when the next try begins, epoch ms.
   */
  readonly waiting: { readonly reason: string; readonly tries: number; readonly nextAt: number } | null;
};

/** The exports of metrics over OTLP. */
export interface ExportDirectory {
  /** Returns the state of each endpoint to which svc exports. */
  endpoints(): readonly EndpointState[];
  /**
   * Sends the metrics of a monitor to the endpoint of the monitor now.
   *
   * @throws SvcError `not-exported`, `export-unavailable`, `not-leading`
   */
  testExport(monitorId: number): Promise<TestAnswer>;
}

/** Replays the results of monitors with other settings. `WhatIfs` implements this. */
export interface WhatIfRunner {
  /**
   * Replays the stored results of a monitor with other settings, and compares the statuses and alerts
   * of the replay with the real ones. Returns null when the requested time has no or too few results.
   *
   * @param signal aborted when the caller is gone, which ends the replay
   * @throws SvcError `what-if-failed`
   */
  compare(whatIf: WhatIf, signal: AbortSignal): Promise<Comparison | null>;
}

/** Runs checks that people request. `Dispatch` implements this. */
export interface CheckRunner {
  /**
   * Makes one attempt in each region now. The results are not recorded. If a region
   * does not answer, `agent` and `result` are null in its element of the returned list.
   *
   * @param checkText JSON text of the check
   * @throws SvcError `too-many-runs`, `not-leading`, or an SvcError that says that NATS is not connected
   */
  runNow(checkText: Secret, regions: readonly Region[], timeoutMs: number): Promise<readonly RegionAnswer[]>;
}

/** The counters of the API. `API_COUNTERS` says what each number means. */
export type ApiCounters = ValuesOf<typeof API_COUNTERS>;

export function createApiCounters(): ApiCounters {
  return createTotals(API_COUNTERS);
}

export function countAnswer({ answers }: ApiCounters, status: number): void {
  const text = String(status);
  answers[isCounted(text, answers) ? text : 'other'] += 1;
}

/**
 * The labels of a counted endpoint in metrics. Requests to unknown paths, or with unknown methods,
 * share the labels {@link NO_ENDPOINT}. Labels of their own would make the number of series unbounded.
 */
export type CountedEndpoint = { readonly method: string; readonly route: string };

export const NO_ENDPOINT: CountedEndpoint = { method: 'other', route: 'other' };

/**
 * Counts a request, and records its duration.
 *
 * @param tookMs time from the request to its answer, ms
 */
export function countRequest(
  { requests, requestDuration }: ApiCounters,
  { method, route }: CountedEndpoint,
  status: number,
  tookMs: number,
): void {
  requests.add({ method, route, status: String(status) });
  requestDuration.record(tookMs / 1_000);
}

function isCounted(status: string, answers: ApiCounters['answers']): status is keyof typeof answers {
  return Object.hasOwn(answers, status);
}

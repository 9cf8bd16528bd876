import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '@svc/agent/app.ts';
import { Coordinator } from '@svc/coordinator/coordinator.ts';
import type { ExportSettings } from '@svc/coordinator/export/export-settings.ts';
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import type { Bus } from '@svc/shared/nats/bus.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { OwnRegion, Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { pino } from 'pino';
import { type DatabaseRows, openRows, queryOnce, type TestDatabase, testDatabase } from './database.ts';
import { NO_EXPORT_SETTINGS } from './export-settings.ts';
import { type LocalAgentOptions, localAgent, SHARED_MEMORY } from './local-agent.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';
import { OPERATOR_VALUES } from './operator-values.ts';
import { scrape } from './prometheus-text.ts';
import { readOnThisThread } from './read-declaration.ts';
import { ScaledClock } from './scaled-clock.ts';
import { TIME_LIMITS } from './time-limits.ts';

export type LocalServiceOptions = LocalAgentOptions & {
  regions: readonly Region[];
  declared: object;
  /** Factor by which everything runs faster than real time. */
  scale?: number;
  /** Awaited before the declared file is read. */
  beforeReading?: () => Promise<void>;
  /** Wraps the coordinator's connection and clock, to count what it holds. */
  observe?: { bus(bus: Bus): Bus; clock(clock: Clock): Clock };
  /** The operator's settings of exports over OTLP. */
  exports?: Partial<ExportSettings>;
  /** The address that the leader calls each minute. */
  deadmanUrl?: string;
  /** Limit of all streams of results together, bytes. */
  resultsMaxBytes?: number;
  regionNoticeAfterMs?: number;
  extraRegions?: readonly OwnRegion[];
  /** The NATS servers to use, which the test runs. Left out: the service has a server of its own. */
  natsUrl?: string;
  /** A database that several services share; left out: one of its own. */
  database?: Secret;
  /** The number of shards; left out: that of the database. */
  shards?: number;
  /** The clock of services that share a database; left out: a clock of its own. */
  clock?: ScaledClock;
  /** The clock for leases; left out: the system's. */
  leaseClock?: Clock;
  /** Further configuration of the NATS server, and the nkey seeds that it then requires. */
  accounts?: { configuration: string; seedOf: (part: 'coordinator' | Region) => string };
};

/** A line of the log at level warning or above. */
export type Warning = { level: number; msg: string } & Record<string, unknown>;

export type Transition = {
  monitor: { id: number; name: string };
  from: string;
  to: string;
  reason: string;
  /** Left out: the service has one shard. */
  shard?: number;
};

/** The key of all services of this process. A coordinator that takes over one of their databases needs it. */
export const SECRET_KEY = randomBytes(32).toString('base64');
const TOKEN = 'token-of-the-operator-in-the-tests';

/**
 * Coordinator and agents in this process, on a faster clock, over a real NATS server. It is
 * for events that take several periods. All parts are those of production. Processes would
 * be too slow for such events, and a fake clock drives neither sockets nor a NATS server.
 *
 * A stall of the machine counts tenfold: 100 ms look like a second. So a test may not
 * assume that one event comes before another, unless the first causes the second. Latencies
 * do not shrink with the clock, so thresholds of `degraded_at` are real milliseconds.
 */
export class LocalService {
  readonly clock: ScaledClock;
  readonly transitions: Transition[] = [];
  /** Warnings and errors of the coordinator, the agents and their connections. */
  readonly warnings: Warning[] = [];
  /** Number of log lines by message, at level info or above. */
  readonly said = new Map<string, number>();
  /** The operator's API token. */
  readonly token = TOKEN;
  /** The regions of one's own of the next start of the coordinator. */
  extraRegions: readonly OwnRegion[];
  url = '';
  readonly #options: LocalServiceOptions;
  readonly #nats: NatsServer | null;
  readonly #natsUrl: string;
  readonly #folder: string;
  /** The database of the service alone; null: the database of the test is used. */
  readonly #database: TestDatabase | null;
  readonly #databaseUrl: Secret;
  readonly #agents = new Map<Region, Agent>();
  readonly #waiting = new Set<() => void>();
  readonly #log = pino({ level: 'info' }, { write: (line: string) => this.#logged(line) });
  #coordinator: Coordinator | null = null;

  private constructor(
    options: LocalServiceOptions,
    nats: NatsServer | null,
    folder: string,
    database: TestDatabase | null,
  ) {
    this.#options = options;
    this.extraRegions = options.extraRegions ?? [];
    this.clock = options.clock ?? new ScaledClock(options.scale ?? 10);
    this.#nats = nats;
    this.#natsUrl = nats?.url ?? options.natsUrl ?? '';
    this.#folder = folder;
    this.#database = database;
    this.#databaseUrl = database?.url ?? options.database ?? new Secret('');
  }

  static async start(options: LocalServiceOptions): Promise<LocalService> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-local-'));
    const nats =
      options.natsUrl === undefined ? await startNatsServer(options.accounts?.configuration) : null;
    const database = options.database === undefined ? await testDatabase() : null;
    const service = new LocalService(options, nats, folder, database);
    try {
      await service.declare(options.declared);
      await Promise.all([
        service.startCoordinator(),
        ...options.regions.map((region) => service.startAgent(region)),
      ]);
    } catch (error) {
      await service.dispose();
      throw error;
    }
    return service;
  }

  /** The NATS server that the service started for itself. */
  get nats(): NatsServer {
    if (this.#nats === null) throw new Error('the servers are run by the test');
    return this.#nats;
  }

  async startCoordinator(): Promise<void> {
    const { observe } = this.#options;
    const connectNats = async () => {
      const bus = await connectBus({
        url: this.#natsUrl,
        name: 'coordinator',
        log: this.#log,
        ...this.#keyOf('coordinator'),
      });
      return { bus: observe?.bus(bus) ?? bus, streams: new NatsResultStreams(bus) };
    };
    const coordinator = new Coordinator({
      config: {
        listen: { host: '127.0.0.1', port: 0 },
        publicUrl: 'http://svc.test',
        trustedProxies: [],
        config: join(this.#folder, 'svc.json'),
        allowsDelete: true,
        channelEgressAllow: ['127.0.0.0/8'],
        chatHosts: ['*'],
        probeCa: undefined,
        channelProxy: undefined,
        shards: this.#options.shards,
        extraRegions: this.extraRegions,
        deadmanUrl: this.#options.deadmanUrl === undefined ? undefined : new Secret(this.#options.deadmanUrl),
        noProxy: () => true,
        mailHelo: undefined,
        retentionDays: 14,
        resultsMaxBytes: this.#options.resultsMaxBytes ?? 512 * 1024 ** 2,
        regionNoticeAfterMs: this.#options.regionNoticeAfterMs ?? 1_800_000,
        metricsToken: undefined,
        database: this.#databaseUrl,
        secretKey: new Secret(SECRET_KEY),
        apiTokens: new Secret([TOKEN]),
        apiTokenFile: null,
        tls: null,
        previousSecretKey: null,
      },
      operator: OPERATOR_VALUES,
      ownExport: this.#options.ownExport ?? null,
      exports: { ...NO_EXPORT_SETTINGS, intervalMs: 1_000, ...this.#options.exports },
      nats: await connectNats(),
      connectNats,
      clock: observe?.clock(this.clock) ?? this.clock,
      // The lease has real time, because the database has.
      leaseClock: this.#options.leaseClock ?? systemClock,
      log: this.#log,
      memory: SHARED_MEMORY,
      environment: {},
      // The file is read on this thread, because another thread would take a quarter
      // of the CPU time of each start. Tests of processes use a real thread.
      readDeclaration: async (request) => {
        await this.#options.beforeReading?.();
        return readOnThisThread(request);
      },
    });
    this.#coordinator = coordinator;
    this.url = (await coordinator.start()).url;
  }

  async stopCoordinator(): Promise<void> {
    await this.#coordinator?.stop();
    this.#coordinator = null;
  }

  /** Makes the coordinator lead again after {@link stopLeading}. */
  async lead(): Promise<void> {
    await this.#coordinator?.lead();
  }

  /** Makes the coordinator stop leading. It still serves the API and the pages. */
  async stopLeading(): Promise<void> {
    await this.#coordinator?.stopLeading();
  }

  async startAgent(region: Region): Promise<void> {
    const bus = await connectBus({
      url: this.#natsUrl,
      name: region,
      inboxPrefix: `_INBOX_${region}`,
      log: this.#log,
      ...this.#keyOf(region),
    });
    const agent = localAgent(region, this.#options, {
      bus,
      natsUrl: this.#natsUrl,
      clock: this.clock,
      log: this.#log,
    });
    this.#agents.set(region, agent);
    await agent.start();
  }

  async stopAgent(region: Region): Promise<void> {
    await this.#agents.get(region)?.stop();
    this.#agents.delete(region);
  }

  /** The agent that runs in the region. */
  agent(region: Region): Agent {
    const agent = this.#agents.get(region);
    if (agent === undefined) throw new Error(`no agent runs in ${region}`);
    return agent;
  }

  /** Writes the declared file. A running coordinator applies it by itself; {@link reload} waits for this. */
  async declare(declared: object): Promise<void> {
    await writeFile(join(this.#folder, 'svc.json'), JSON.stringify(declared));
  }

  async reload(declared: object): Promise<void> {
    await this.declare(declared);
    await this.#coordinator?.reload();
  }

  /**
   * Resolves when the monitor's status changes to `to`, after the first `after` changes. A majority
   * of its regions makes the change, so the check of another region may still be in progress.
   */
  async changed(name: string, to: string, after = 0): Promise<Transition> {
    const giveUpAt = performance.now() + TIME_LIMITS.pollMs;
    for (;;) {
      const changes = this.transitions.slice(after);
      const found = changes.find((change) => change.monitor.name === name && change.to === to);
      if (found !== undefined) return found;
      const leftMs = giveUpAt - performance.now();
      if (leftMs <= 0)
        throw new Error(`${name} did not become ${to}; the changes were: ${JSON.stringify(changes)}`);
      await this.#nextLine(leftMs);
    }
  }

  /**
   * Resolves when `count` more slots of the monitor are
   * decided. Some regions may not have reported all of them.
   */
  async decided(monitorId: number, count: number): Promise<void> {
    // One connection for all queries, because opening one takes longer than a query.
    const rows = openRows(this.#databaseUrl);
    const counting = 'SELECT count(*) AS count FROM slot_results WHERE monitor_id = ?';
    const slots = async () => (await rows.query<{ count: number }>(counting, monitorId))[0]?.count ?? 0;
    try {
      // One slot more is awaited, because the newest slot may still be open.
      const goal = (await slots()) + count + 1;
      await this.until(async () => (await slots()) >= goal);
    } finally {
      await rows.close();
    }
  }

  /**
   * Resolves when `isSo` answers true. It is called every two seconds of the service's clock.
   *
   * @throws Error when it still answers false at the time limit of a poll, so that the wait is named
   */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const giveUpAt = performance.now() + TIME_LIMITS.pollMs;
    while (!(await isSo())) {
      if (performance.now() > giveUpAt) throw new Error(`this did not come true: ${isSo}`);
      await new Promise((resolve) => this.clock.after(2_000, () => resolve(null)));
    }
  }

  async request(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        // The server's time-out may close a kept connection while the request is on its way.
        connection: 'close',
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  async get<T>(path: string): Promise<T> {
    const { status, body } = await this.request('GET', path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body as T;
  }

  /** Value of one sample of the coordinator's `/metrics`; `name` with its labels as they are printed. */
  async metric(name: string): Promise<number> {
    const value = (await scrape(this.url)).get(name);
    if (value === undefined) throw new Error(`no such metric: ${name}`);
    return value;
  }

  /** Id of the monitor of this name. */
  async idOf(name: string): Promise<number> {
    const found = await this.query<{ id: number }>('SELECT id FROM monitors WHERE name = ?', name);
    return found[0]?.id ?? -1;
  }

  /** The service's own database. */
  get database(): TestDatabase {
    if (this.#database === null) throw new Error('the database is made by the test');
    return this.#database;
  }

  query: DatabaseRows['query'] = (sql, ...parameters) => queryOnce(this.#databaseUrl, sql, ...parameters);

  async dispose(): Promise<void> {
    await Promise.all([...this.#agents.keys()].map((region) => this.stopAgent(region)));
    await this.stopCoordinator();
    await this.#nats?.dispose();
    await this.#database?.remove();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #keyOf(part: 'coordinator' | Region): { nkeySeed?: Secret } {
    const { accounts } = this.#options;
    return accounts === undefined ? {} : { nkeySeed: new Secret(accounts.seedOf(part)) };
  }

  #logged(text: string): void {
    const line = JSON.parse(text) as { event?: string } & Warning;
    if (line.event === 'transition') this.transitions.push(line as unknown as Transition);
    if (line.level >= 40) this.warnings.push(line);
    this.said.set(line.msg, (this.said.get(line.msg) ?? 0) + 1);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Resolves with the next line of the log, or after this real time. */
  #nextLine(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

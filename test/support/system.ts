import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Region } from '@svc/shared/regions.ts';
import { builtService } from './built-services.ts';
import {
  type DatabaseRows,
  databaseOfProcess,
  databaseSettings,
  queryOnce,
  type TestDatabase,
} from './database.ts';
import { freePort } from './free-port.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';
import { OPERATOR_ENVIRONMENT } from './operator-values.ts';
import { Program, ROOT } from './process.ts';

export type SystemOptions = {
  regions: readonly Region[];
  /** The declared file: resources as the YAML file has them. */
  declared: object;
  environment?: Record<string, string>;
  /** Further lines of the NATS server's configuration. */
  natsConfiguration?: string;
  /** More flags of Node for the coordinator, for profiles. */
  coordinatorFlags?: readonly string[];
  /** Another checkout whose coordinator and agents are run, with its own `node_modules`. */
  root?: string;
};

/** The flags of Node in a checkout. Older checkouts have flags only, and no environment. */
type NodeFlags = Omit<
  typeof import('../../deploy/local/node-flags.ts'),
  'COORDINATOR_ENVIRONMENT' | 'AGENT_ENVIRONMENT'
> & {
  COORDINATOR_ENVIRONMENT?: Record<string, string>;
  AGENT_ENVIRONMENT?: Record<string, string>;
};

/**
 * The whole service as processes of its own: a NATS server, the coordinator and one agent per region,
 * with a data folder that is deleted at the end.
 */
export class System {
  readonly nats: NatsServer;
  readonly coordinator: Program;
  readonly agents: ReadonlyMap<Region, Program>;
  readonly url: string;
  readonly token: string;
  readonly database: TestDatabase;
  readonly #folder: string;

  private constructor(parts: {
    nats: NatsServer;
    coordinator: Program;
    agents: ReadonlyMap<Region, Program>;
    url: string;
    token: string;
    database: TestDatabase;
    folder: string;
  }) {
    this.nats = parts.nats;
    this.coordinator = parts.coordinator;
    this.agents = parts.agents;
    this.url = parts.url;
    this.token = parts.token;
    this.database = parts.database;
    this.#folder = parts.folder;
  }

  static async start(options: SystemOptions): Promise<System> {
    const { root = ROOT } = options;
    const flags: NodeFlags = await import(join(root, 'deploy/local/node-flags.ts'));
    const folder = await mkdtemp(join(tmpdir(), 'svc-system-'));
    const config = join(folder, 'svc.json');
    await writeFile(config, JSON.stringify(options.declared));
    const database = await databaseOfProcess(folder);
    const nats = await startNatsServer(options.natsConfiguration);
    const port = await freePort();
    const token = randomBytes(16).toString('hex');
    const common = {
      SVC_NATS_URL: nats.url,
      SVC_LOG_LEVEL: 'info',
      ...OPERATOR_ENVIRONMENT,
      ...options.environment,
    };
    const programOf = async (service: 'coordinator' | 'agent') =>
      options.root === undefined ? await builtService(service) : `packages/${service}/src/main.ts`;
    const agentProgram = await programOf('agent');
    const coordinator = new Program(
      await programOf('coordinator'),
      {
        ...flags.COORDINATOR_ENVIRONMENT,
        ...databaseSettings(database),
        ...common,
        SVC_LISTEN: `127.0.0.1:${port}`,
        SVC_DATA_DIR: folder,
        SVC_CONFIG: config,
        SVC_API_TOKEN: token,
        SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
      },
      [...flags.COORDINATOR_FLAGS, ...(options.coordinatorFlags ?? [])],
      root,
    );
    const agents = new Map(
      options.regions.map((region) => [
        region,
        new Program(
          agentProgram,
          {
            ...flags.AGENT_ENVIRONMENT,
            ...common,
            SVC_REGION: region,
            SVC_AGENT_ID: `agent-${region}`,
            SVC_DRAIN_MS: '2000',
          },
          flags.AGENT_FLAGS,
          root,
        ),
      ]),
    );
    const url = `http://127.0.0.1:${port}`;
    const system = new System({ nats, coordinator, agents, url, token, database, folder });
    try {
      await Promise.all([coordinator.start(), ...[...agents.values()].map((agent) => agent.start())]);
    } catch (error) {
      await system.dispose();
      throw error;
    }
    return system;
  }

  agent(region: Region): Program {
    const agent = this.agents.get(region);
    if (agent === undefined) throw new Error(`no agent runs in ${region}`);
    return agent;
  }

  /** Sends a GET with the operator's token. Returns the parsed body. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}${path}`, {
      headers: { authorization: `Bearer ${this.token}` },
    });
    if (!response.ok) throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Replaces the declared file, which the coordinator applies by itself. */
  async declare(declared: object): Promise<void> {
    await writeFile(join(this.#folder, 'svc.json'), JSON.stringify(declared));
  }

  /** Rows of the database as they are committed now. */
  query: DatabaseRows['query'] = (sql, ...parameters) => queryOnce(this.database.url, sql, ...parameters);

  /** Stops agents, coordinator and NATS, in the order of `npm start`. */
  async stop(): Promise<void> {
    await Promise.all([...this.agents.values()].map((agent) => agent.end('SIGTERM')));
    await this.coordinator.end('SIGTERM');
    await this.nats.stop();
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.agents.values()].map((agent) => agent.end('SIGKILL')));
    await this.coordinator.end('SIGKILL');
    await this.nats.dispose();
    await this.database.remove();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

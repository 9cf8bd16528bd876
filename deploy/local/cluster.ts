import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Region, RegionText } from '@svc/shared/regions.ts';
import { linksOf } from './links.ts';
import { writeNatsClusterAccess } from './nats-access.ts';
import { choosePort } from './nats-port.ts';
import type { Paint } from './output.ts';
import type { Part } from './part.ts';
import { Parts } from './parts.ts';
import { openDataFolder, postgresUser, preparePostgres } from './postgres.ts';
import { natsServerPart } from './service.ts';
import { streamLeaders, untilStreamsCanBeMade } from './stream-leaders.ts';

export type LocalClusterOptions = {
  /** Root of the repository. */
  project: string;
  dataDir: string;
  regions: readonly Region[];
  regionText: RegionText;
  environment: NodeJS.ProcessEnv;
  /** Path of the binary. */
  natsServer: string;
  /** Paths of the programs. */
  postgres: { postgres: string; initdb: string };
  /** The declared file; null: none. */
  configFile: string | null;
  paint: Paint;
  print(line: string): void;
};

/** A coordinator and the address of its API. */
type Coordinator = { readonly part: Part; readonly url: string };

const NATS_SERVERS = 3;

/**
 * The parts of a large installation on this machine: PostgreSQL, three NATS servers, two coordinators
 * and an agent in each region. Each part that dies is started again, and the others go on meanwhile.
 */
export class LocalCluster {
  readonly #options: LocalClusterOptions;
  readonly #parts: Parts;
  /** The making of the database. It never rejects. */
  #preparing: Promise<void> = Promise.resolve();
  #postgres: Part | null = null;
  #nats: readonly Part[] = [];
  #coordinators: readonly Coordinator[] = [];
  #agents: readonly Part[] = [];
  /** The coordinator that leads each shard, by the shard's number, as the logs say. */
  readonly #shards = new Map<number, Part>();
  #isStarted = false;

  constructor(options: LocalClusterOptions) {
    this.#options = options;
    this.#parts = new Parts({
      ...options,
      onLog: (part, line) => this.#noteLeader(part, line),
      describe: (part) => `   (kill -9 ${part.pid})`,
    });
  }

  get isStopping(): boolean {
    return this.#parts.isStopping;
  }

  /** Calls `listener` when a part cannot be started at all, after the reason was printed. */
  onGiveUp(listener: () => void): void {
    this.#parts.onGiveUp(listener);
  }

  /** Resolves when every part is ready, or when the cluster is stopping; never when a part gives up. */
  async start(): Promise<void> {
    const { print, paint, dataDir, postgres, configFile, regions, regionText } = this.#options;
    print(paint.bold('svc is starting as a cluster'));
    this.#parts.watchDisk(dataDir, () => this.#nats);
    const user = postgresUser();
    if (user !== null) openDataFolder(dataDir);
    const preparing = preparePostgres(postgres, dataDir, user);
    this.#preparing = preparing.then(
      () => {},
      () => {},
    );
    const database = await preparing;
    const nats = await this.#prepareNats();
    this.#postgres = this.#parts.server(database.server);
    this.#nats = nats.configFiles.map((file, index) =>
      this.#parts.server(natsServerPart(`nats-server ${index + 1}`, this.#options.natsServer, file)),
    );
    await this.#parts.start(this.#postgres, ...this.#nats);
    await this.#parts.reportWhile(
      untilStreamsCanBeMade(nats.urlFile, () => this.isStopping),
      () => 'still starting: the NATS servers choose a leader',
    );
    const settings = { SVC_NATS_URL_FILE: nats.urlFile, SVC_NATS_ADDRESS: nats.addresses[0] ?? '' };
    const ofCoordinators = {
      ...settings,
      SVC_DATABASE_URL_FILE: database.urlFile,
      SVC_DATA_DIR: join(dataDir, 'coordinator'),
      SVC_CONFIG: configFile ?? 'none',
    };
    this.#agents = regions.map((region) =>
      this.#parts.service('agent', `agent ${regionText(region)}`, { ...settings, SVC_REGION: region }),
    );
    const [listen, otherListen] = await this.#listens();
    const coordinator = (number: number, SVC_LISTEN: string): Coordinator => {
      const url = `http://${SVC_LISTEN}`;
      const own = { SVC_LISTEN, SVC_PUBLIC_URL: this.#options.environment.SVC_PUBLIC_URL || url };
      return {
        url,
        part: this.#parts.service('coordinator', `coordinator ${number}`, { ...ofCoordinators, ...own }),
      };
    };
    const [first, second] = [coordinator(1, listen), coordinator(2, otherListen)];
    this.#coordinators = [first, second];
    // The first one makes the tables, the secret key and the token.
    await this.#parts.start(first.part, ...this.#agents);
    await this.#parts.start(second.part);
    if (this.isStopping) return;
    for (const line of await this.#summary(nats.urlFile, first.url)) print(line);
    this.#isStarted = true;
  }

  /** Stops the agents first, so that their last results are recorded, and the database last. */
  stop(): Promise<void> {
    return this.#parts.stop(() => [
      this.#agents,
      this.#coordinators.map(({ part }) => part),
      this.#nats,
      // Until the programs that make the database have ended, another start must not use its folder.
      [this.#postgres, { stop: () => this.#preparing }],
    ]);
  }

  kill(): void {
    this.#parts.kill();
  }

  async #prepareNats() {
    const { dataDir } = this.#options;
    const ports = [];
    for (let number = 1; number <= NATS_SERVERS; number += 1) {
      mkdirSync(join(dataDir, `nats-${number}`), { recursive: true, mode: 0o700 });
      ports.push({
        client: await choosePort(join(dataDir, `nats-${number}.port`)),
        route: await choosePort(join(dataDir, `nats-${number}.route-port`)),
      });
    }
    return writeNatsClusterAccess(dataDir, ports);
  }

  /** The addresses of the APIs: the set or usual one, and a free port of loopback that stays the same. */
  async #listens(): Promise<readonly [string, string]> {
    const { dataDir, environment } = this.#options;
    const port = await choosePort(join(dataDir, 'coordinator-2.port'));
    return [environment.SVC_LISTEN || '127.0.0.1:8080', `127.0.0.1:${port}`];
  }

  #noteLeader(part: Part, line: string): void {
    if (!line.includes('"event":"leading"')) return;
    const shard = Number(/"shard":(\d+)/.exec(line)?.[1] ?? 0);
    this.#shards.set(shard, part);
    if (this.#isStarted)
      this.#parts.say(`${this.#options.paint.green('ok   ')} ${part.name} ${this.#leads(part)}`);
  }

  /** What the coordinator leads. */
  #leads(part: Part): string {
    const led = [...this.#shards].flatMap(([shard, leader]) => (leader === part ? [shard] : []));
    if (led.length === 0) return 'waits to lead';
    const several = led.length === 1 ? 'shard' : 'shards';
    return this.#shards.size === 1 ? 'leads' : `leads ${several} ${led.sort((a, b) => a - b).join(', ')}`;
  }

  async #summary(natsUrlFile: string, apiUrl: string): Promise<string[]> {
    const { paint, dataDir, configFile, environment, regionText } = this.#options;
    const tokenFile = environment.SVC_API_TOKEN_FILE || join(dataDir, 'coordinator', 'api-token');
    const token = environment.SVC_API_TOKEN;
    const publicUrl = environment.SVC_PUBLIC_URL || apiUrl;
    const { dashboard, statusPage } = await linksOf({
      apiUrl,
      publicUrl,
      token: token ? { text: token } : { file: tokenFile },
    });
    const leaders = await streamLeaders(natsUrlFile);
    const row = (part: Part | null, does: string) =>
      part === null ? [] : [`  ${part.name.padEnd(20)} ${`kill -9 ${part.pid}`.padEnd(16)} ${does}`];
    return [
      `${paint.green('svc runs as a cluster.')} Ctrl-C stops it.`,
      `  dashboard ${paint.bold(dashboard)}   (logs in once, within 15 minutes)`,
      ...(statusPage === null ? [] : [`  status    ${paint.bold(statusPage)}`]),
      `  API       ${publicUrl}/v1/monitors   (token: ${token ? 'SVC_API_TOKEN' : tokenFile})`,
      `  declared  ${configFile ?? 'nothing: over the API and with Terraform'}`,
      `  data      ${dataDir}`,
      'Each part may be killed; it is started again, and the others go on:',
      ...row(this.#postgres, 'keeps everything; without it nothing is checked'),
      ...this.#nats.flatMap((part, index) =>
        row(part, leadsIn((leaders.get(`nats-${index + 1}`) ?? []).map(regionText))),
      ),
      ...this.#coordinators.flatMap(({ part, url }) => row(part, `${url}, ${this.#leads(part)}`)),
      ...this.#agents.flatMap((part) => row(part, 'checks')),
    ];
  }
}

function leadsIn(regions: readonly string[]): string {
  return regions.length === 0 ? 'follows' : `leads the results of ${regions.join(', ')}`;
}

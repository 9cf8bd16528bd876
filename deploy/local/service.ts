import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseNatsServers, shownServers } from '@svc/shared/nats/servers.ts';
import type { Region, RegionText } from '@svc/shared/regions.ts';
import { linksOf } from './links.ts';
import { writeNatsAccess } from './nats-access.ts';
import { choosePort } from './nats-port.ts';
import type { Paint } from './output.ts';
import type { Part } from './part.ts';
import { Parts, type Server } from './parts.ts';

export type LocalServiceOptions = {
  /** Root of the repository. */
  project: string;
  dataDir: string;
  regions: readonly Region[];
  regionText: RegionText;
  environment: NodeJS.ProcessEnv;
  /**
   * Path of the binary; null when `SVC_NATS_URL`, or the file of `SVC_NATS_URL_FILE`, names a running server.
   */
  natsServer: string | null;
  /** The declared file; null: none. */
  configFile: string | null;
  paint: Paint;
  print(line: string): void;
};

/** The NATS server that the parts use. */
type LocalNats = {
  /** Shown to people, without svc's own credentials. */
  readonly url: string;
  readonly address: string;
  /** Settings for the parts, where the environment does not have them. */
  readonly settings: Readonly<Record<string, string>>;
};

const NATS_STOP_MS = 700;

/** All parts of svc on this machine: NATS, then the coordinator and the agents. */
export class LocalService {
  readonly #options: LocalServiceOptions;
  readonly #parts: Parts;
  #nats: Part | null = null;
  #coordinator: Part | null = null;
  #agents: readonly Part[] = [];

  constructor(options: LocalServiceOptions) {
    this.#options = options;
    this.#parts = new Parts(options);
  }

  get isStopping(): boolean {
    return this.#parts.isStopping;
  }

  /** Calls `listener` when a part cannot be started at all, after the reason was printed. */
  onGiveUp(listener: () => void): void {
    this.#parts.onGiveUp(listener);
  }

  /** Resolves when every part is ready; never when a part gives up. */
  async start(): Promise<void> {
    const { print, paint, regions, regionText, dataDir, environment, configFile } = this.#options;
    print(paint.bold('svc is starting'));
    this.#parts.watchDisk(dataDir, () => (this.#nats === null ? [] : [this.#nats]));
    const nats = await this.#startNats();
    const settings = { ...nats.settings, SVC_NATS_ADDRESS: nats.address };
    const publicUrl = environment.SVC_PUBLIC_URL || listenUrlOf(environment);
    this.#coordinator = this.#parts.service('coordinator', 'coordinator', {
      ...settings,
      SVC_DATA_DIR: dataDir,
      SVC_CONFIG: configFile ?? 'none',
      SVC_PUBLIC_URL: publicUrl,
    });
    this.#agents = regions.map((region) =>
      this.#parts.service('agent', `agent ${regionText(region)}`, { ...settings, SVC_REGION: region }),
    );
    await this.#parts.start(this.#coordinator, ...this.#agents);
    if (this.isStopping) return;
    for (const line of await this.#summary(nats.url, publicUrl)) print(line);
  }

  /** Stops the agents first, so that their last results are recorded, and NATS last. */
  stop(): Promise<void> {
    return this.#parts.stop(() => [this.#agents, [this.#coordinator], [this.#nats]]);
  }

  kill(): void {
    this.#parts.kill();
  }

  async #startNats(): Promise<LocalNats> {
    const { natsServer, environment, dataDir } = this.#options;
    if (natsServer === null) {
      const url =
        environment.SVC_NATS_URL || readFileSync(environment.SVC_NATS_URL_FILE ?? '', 'utf8').trim();
      return { url, address: addressOf(url), settings: {} };
    }
    const store = join(dataDir, 'nats');
    mkdirSync(store, { recursive: true });
    const port = await choosePort(join(dataDir, 'nats.port'));
    const { configFile, urlFile } = writeNatsAccess(dataDir, port, store);
    this.#nats = this.#parts.server(natsServerPart('nats-server', natsServer, configFile));
    await this.#parts.start(this.#nats);
    const address = `127.0.0.1:${port}`;
    return { url: `nats://${address}`, address, settings: { SVC_NATS_URL_FILE: urlFile } };
  }

  async #summary(natsUrl: string, publicUrl: string): Promise<string[]> {
    const { paint, regions, regionText, dataDir, configFile, environment } = this.#options;
    const tokenFile = environment.SVC_API_TOKEN_FILE || join(dataDir, 'api-token');
    const token = environment.SVC_API_TOKEN ? 'SVC_API_TOKEN' : tokenFile;
    const { dashboard, statusPage } = await linksOf({
      apiUrl: listenUrlOf(environment),
      publicUrl,
      token: environment.SVC_API_TOKEN ? { text: environment.SVC_API_TOKEN } : { file: tokenFile },
    });
    return [
      `${paint.green('svc runs.')} Ctrl-C stops it.`,
      `  dashboard ${paint.bold(dashboard)}   (logs in once, within 15 minutes)`,
      ...(statusPage === null ? [] : [`  status    ${paint.bold(statusPage)}`]),
      `  API       ${publicUrl}/v1/monitors   (token: ${token})`,
      `  reference ${publicUrl}/docs`,
      `  declared  ${configFile ?? 'nothing: over the API and with Terraform'}`,
      `  agents    ${regions.map(regionText).join(', ')}`,
      `  NATS      ${shownServers(parseNatsServers(natsUrl))}`,
      `  data      ${dataDir}`,
    ];
  }
}

/** Where this machine reaches the API. */
function listenUrlOf({ SVC_LISTEN, SVC_TLS_CERT }: NodeJS.ProcessEnv): string {
  return `${SVC_TLS_CERT ? 'https' : 'http'}://${SVC_LISTEN || '127.0.0.1:8080'}`;
}

/** An error of a NATS server that only says that another server of the cluster does not run: `rid` is a route to it. */
const OTHER_IS_DOWN = /Error trying to connect to route| - rid:\d+ - Error flushing/;

/** A NATS server as a part. */
export function natsServerPart(name: string, program: string, configFile: string): Server {
  return {
    name,
    command: program,
    args: ['-c', configFile],
    env: { GOMEMLIMIT: '256MiB' },
    isReadyLine: (line) => line.includes('Server is ready'),
    // NATS logs in a format of its own. Only its errors are shown.
    isError: (line) => /\[(ERR|FTL)\]/.test(line) && !OTHER_IS_DOWN.test(line),
    stopWithinMs: NATS_STOP_MS,
  };
}

/** The address of the first server, without credentials. */
function addressOf(url: string): string {
  try {
    return parseNatsServers(url).addresses[0] ?? '';
  } catch {
    return ''; // The coordinator and the agents say what is wrong with it.
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Region } from '@svc/shared/regions.ts';
import {
  type DatabaseRows,
  databaseOfProcess,
  databaseSettings,
  queryOnce,
  type TestDatabase,
} from './database.ts';
import { type NatsAccounts, natsAccounts } from './nats-accounts.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';
import type { Opened } from './opened.ts';
import { Program } from './process.ts';
import { programOf, type Version } from './released-version.ts';

/**
 * A NATS server with the accounts that `svc region` makes today, and coordinators
 * and agents of any version as processes. One region, one data folder.
 */
export class MixedSystem {
  readonly #region: Region;
  readonly #accounts: NatsAccounts;
  readonly #nats: NatsServer;
  readonly #opened: Opened;
  readonly #database: TestDatabase;
  readonly #folder: string;

  private constructor(
    region: Region,
    accounts: NatsAccounts,
    nats: NatsServer,
    opened: Opened,
    database: TestDatabase,
    folder: string,
  ) {
    this.#region = region;
    this.#accounts = accounts;
    this.#nats = nats;
    this.#opened = opened;
    this.#database = database;
    this.#folder = folder;
  }

  /**
   * Starts the NATS server.
   *
   * @param opened list of everything that is started here, to be closed with the test
   */
  static async start(opened: Opened, region: Region): Promise<MixedSystem> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-mixed-'));
    opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
    const database = await databaseOfProcess(folder);
    opened.push({ close: () => database.remove() });
    const accounts = natsAccounts([region]);
    const nats = await startNatsServer(accounts.configuration);
    opened.push({ close: () => nats.dispose() });
    return new MixedSystem(region, accounts, nats, opened, database, folder);
  }

  /** Starts another coordinator with the data folder of its predecessor. */
  async coordinator(version: Version): Promise<Program> {
    return await this.#started(await programOf('coordinator', version), {
      SVC_NATS_NKEY: this.#accounts.seedOf('coordinator'),
      SVC_LISTEN: '127.0.0.1:0',
      SVC_DATA_DIR: this.#folder,
      ...databaseSettings(this.#database),
      SVC_CONFIG: this.#declaredFile,
      SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
    });
  }

  async agent(version: Version, id: string): Promise<Program> {
    return await this.#started(await programOf('agent', version), {
      SVC_NATS_NKEY: this.#accounts.seedOf(this.#region),
      SVC_REGION: this.#region,
      SVC_AGENT_ID: id,
      SVC_DRAIN_MS: '2000',
    });
  }

  async #started(file: string, environment: Record<string, string>): Promise<Program> {
    const common = { SVC_NATS_URL: this.#nats.url, SVC_LOG_LEVEL: 'info' };
    const program = new Program(file, { ...common, ...environment });
    this.#opened.push({ close: async () => void (await program.end('SIGKILL')) });
    await program.start();
    return program;
  }

  get #declaredFile(): string {
    return join(this.#folder, 'svc.json');
  }

  /** Replaces the declared file, which the coordinator applies by itself. */
  async declare(declared: object): Promise<void> {
    await writeFile(this.#declaredFile, JSON.stringify(declared));
  }

  /** Rows of the database as they are committed now. */
  query: DatabaseRows['query'] = (sql, ...parameters) => queryOnce(this.#database.url, sql, ...parameters);
}

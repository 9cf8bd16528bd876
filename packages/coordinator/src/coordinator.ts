import { createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { OwnExport } from '@svc/shared/own-metrics/own-export.ts';
import type { OwnExportSettings } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import {
  type ProcessMemory,
  processMemory,
  returnMemoryAfterStart,
} from '@svc/shared/process/process-memory.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import { type Region, regionsWith, regionTexts } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { OperatorValues } from './alerts/sender.ts';
import type { TlsFiles } from './api/listener-settings.ts';
import type { CoordinatorConfig } from './config.ts';
import { resealWhereDue } from './declaration/reseal.ts';
import type { DeclaredFileParts } from './declaration/yaml/declared-file.ts';
import type { ExportSettings } from './export/export-settings.ts';
import { allConnected } from './leading/all-connected.ts';
import type { LeadershipSettings, NatsConnection } from './leading/build-leadership.ts';
import { Leading } from './leading/leading.ts';
import { StartedParts } from './leading/started-parts.ts';
import { OperatorTokens } from './operator-tokens.ts';
import { Serving } from './serving.ts';
import { loadInstallation } from './store/access/installation.ts';
import { Tokens } from './store/access/tokens.ts';
import { type DatabaseUrl, isShared } from './store/database-url.ts';
import { checkSecretKey, parseSecretKey, Secrets } from './store/declaration/secrets.ts';
import { ensureDefaultWorkspace } from './store/declaration/workspaces.ts';
import { StoreError } from './store/errors.ts';
import { refuseUnfinishedCopy } from './store/facts.ts';
import { refuseNewer } from './store/migrate.ts';
import { openDatabase } from './store/open.ts';
import { admitRegions } from './store/results/region-numbers.ts';
import { countShards } from './store/shards.ts';
import type { Store } from './store/store.ts';

/**
 * Interval at which what other coordinators may change is read again, ms. A token
 * that another coordinator revoked is refused within 1 s.
 */
const FOLLOW_OTHERS_EVERY_MS = 500;
/** Maximum time for the last export of the coordinator's own metrics during the stop, ms. */
const LAST_EXPORT_MS = 2_000;

const OTHER_REGION =
  'agents run in a region that no coordinator has, and get no checks: stop them, or name the region in SVC_EXTRA_REGIONS';

export type CoordinatorParts = {
  config: Pick<CoordinatorConfig, 'listen' | 'metricsToken' | 'trustedProxies' | 'shards' | 'extraRegions'> &
    LeadershipSettings & {
      database: DatabaseUrl;
      tls: TlsFiles | null;
      publicUrl: string;
      /** The key that encrypts secrets, 32 bytes in base64. */
      secretKey: Secret;
      /** The previous key, in base64, while `secretKey` replaces it; null: the key is not being replaced. */
      previousSecretKey: Secret | null;
      /** The operator's API tokens, one or two. */
      apiTokens: Secret<readonly string[]>;
      /** File of the API tokens, read again when it changes; null: the tokens are not in a file. */
      apiTokenFile: string | null;
    };
  /** Values of the settings that kinds of channel read. */
  operator: OperatorValues;
  /** The settings of the export of metrics. */
  exports: ExportSettings;
  /** How the coordinator's own metrics are exported; null: they are not exported. */
  ownExport: OwnExportSettings | null;
  /** The connection to NATS for everything but the shards from 1 on. The coordinator closes it when it stops. */
  nats: NatsConnection;
  /** Connects to NATS once more, for one shard. */
  connectNats: () => Promise<NatsConnection>;
  clock: Clock;
  /**
   * Clock with which the leader measures its lease. It runs
   * at the speed of the database's clock; default: `clock`.
   */
  leaseClock?: Clock;
  log: Logger;
  /**
   * The memory whose unused part is returned to the operating
   * system after the start; default: that of this process.
   */
  memory?: ProcessMemory;
  /** The last errors of `log`; left out: no errors are kept. */
  recentErrors?: () => readonly RecentError[];
  /** Variables that the declared file may insert by `${env.NAME}`. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Reads the declared file; default: `readDeclaration`, on a separate thread. */
  readDeclaration?: DeclaredFileParts['read'];
  /**
   * Called when a newer version of svc has migrated the database, which this version can neither write nor
   * understand any more. Default: nothing is called.
   */
  onNewerDatabase?: (error: StoreError) => void;
};

/**
 * The coordinator consists of two objects. {@link Serving} does the work of every
 * coordinator. {@link Leading} does the work for the shards that this coordinator leads.
 * With SQLite there is only one coordinator, which leads the only shard. Both objects
 * use the store, which is opened before they start and closed after they have stopped.
 */
export class Coordinator {
  readonly #parts: CoordinatorParts;
  readonly #started: StartedParts;
  #leading: Leading | null = null;
  #ownExport: OwnExport | null = null;
  #starting: Promise<{ url: string }> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(parts: CoordinatorParts) {
    this.#parts = parts;
    this.#started = new StartedParts(parts.log);
  }

  /**
   * Resolves when the API listens, and jobs are dispatched for the shards that this
   * coordinator leads. It leads no shard if other coordinators lead all of them.
   *
   * @throws StoreError, SvcError `bad-settings` (monitors name a region that the settings lack),
   *   DeclarationError (an invalid declared file at the first start), LeadershipEnded
   *   ({@link stop} or {@link stopLeading} was called meanwhile), or the error of the
   *   listener. Before it throws, the parts that were started are stopped
   */
  async start(): Promise<{ url: string }> {
    this.#starting = this.#start();
    try {
      return await this.#starting;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Reads and applies the declared file again, if this coordinator leads shard 0. */
  async reload(): Promise<void> {
    await this.#leading?.reload();
  }

  /**
   * Leads again after {@link stopLeading}: the free shards that fall to this coordinator, now or
   * later. Resolves when jobs are dispatched for the shards that it leads at once, if there are
   * any. If the method fails, this coordinator does not lead, and the method may be called again.
   *
   * @throws SvcError (the coordinator is not running), TypeError (leading was not stopped before),
   *   StoreError, DeclarationError, LeadershipEnded (leading was stopped meanwhile)
   */
  async lead(): Promise<void> {
    if (this.#leading === null || this.#stopping !== null)
      throw new SvcError('not-running', 'the coordinator is not running');
    await this.#leading.start();
  }

  /**
   * Stops leading all shards. The API is still served. The method may be called while a leadership starts.
   */
  async stopLeading(): Promise<void> {
    await this.#leading?.stop();
  }

  /** Stops the coordinator. The method may be called during the start, and more than once. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<{ url: string }> {
    const { config, operator, exports, nats, clock, log, environment, readDeclaration } = this.#parts;
    const { bus } = nats;
    this.#started.add('bus', () => bus.close());
    const store = await openDatabase(config.database, log);
    this.#started.add('store', () => store.close());
    await refuseUnfinishedCopy(store);
    const shardCount = await countShards(store, config.shards ?? null);
    await admitRegions(store, config.extraRegions);
    const regions = regionsWith(config.extraRegions);
    const regionText = regionTexts(config.extraRegions);
    const connections = [nats, ...(await this.#connectShards(shardCount - 1))];
    for (const connection of connections) connection.bus.expectRegions(regions.length);
    const allNats = allConnected(connections.map((connection) => connection.bus));
    const previous = config.previousSecretKey;
    const secrets = new Secrets(
      parseSecretKey(config.secretKey).reveal(),
      previous === null ? null : parseSecretKey(previous).reveal(),
    );
    await checkSecretKey(store, secrets);
    await resealWhereDue(store, secrets, log);
    const { ids, jobKey } = await loadInstallation(store, secrets);
    const now = Math.floor(clock.wall());
    const workspaceId = await ensureDefaultWorkspace(store, now);
    const tokens = await Tokens.load(store);
    if (isShared(config.database)) this.#followOthers(store, tokens);
    const operatorTokens = new OperatorTokens({
      tokens,
      workspaceId,
      secrets: config.apiTokens,
      path: config.apiTokenFile,
      clock,
      log,
    });
    this.#started.add('operator tokens', () => operatorTokens.stop());
    await operatorTokens.start();

    const visitorKey = new Secret(keyOfVisitors(jobKey));
    const shared = { config, operator, store, secrets, visitorKey, clock, log };
    const leading = new Leading({
      ...shared,
      regions,
      regionText,
      isAlone: !isShared(config.database),
      shardCount,
      leaseClock: this.#parts.leaseClock ?? clock,
      exports,
      ids,
      jobKey,
      workspaceId,
      bus,
      connectionOf: (shard) => connections[shard] ?? nats,
      nats: allNats,
      declaring: { env: environment, read: readDeclaration },
    });
    this.#leading = leading;
    this.#started.add('leading', () => leading.stop());
    await leading.start();
    const serving = new Serving({
      ...shared,
      recentErrors: this.#parts.recentErrors,
      tokens,
      effects: leading,
      leaders: leading,
      maySend: () => leading.maySend,
      shards: () => leading.shards(),
      nats: allNats,
      database: config.database,
    });
    this.#started.add('serving', () => serving.stop());
    const listening = await serving.start();
    await this.#nameOtherRegions(regions);
    this.#exportOwnMetrics(serving);
    const memory = this.#parts.memory ?? processMemory;
    const cancelReturn = returnMemoryAfterStart({ memory, clock, log });
    this.#started.add('return of memory', cancelReturn);
    return listening;
  }

  /** Shards share no connection, so each reads as far ahead as the only shard of an installation would. */
  #connectShards(count: number): Promise<NatsConnection[]> {
    const connect = async () => {
      const connection = await this.#parts.connectNats();
      this.#started.add('bus of a shard', () => connection.bus.close());
      return connection;
    };
    return Promise.all(Array.from({ length: count }, connect));
  }

  /**
   * Logs the regions with agents that no coordinator has, and lets their agents know. A region of one's own
   * may have been taken out of the settings while its agents run.
   */
  async #nameOtherRegions(regions: readonly Region[]): Promise<void> {
    const { nats, log } = this.#parts;
    try {
      for (const region of await nats.bus.removeOtherHeartbeats(regions)) log.warn({ region }, OTHER_REGION);
    } catch (error) {
      // Only this warning and that of the agents are missing then. The next start tries again.
      log.info({ error: messageOf(error) }, 'cannot look for agents of other regions');
    }
  }

  /**
   * Reads at intervals what other coordinators change: the API tokens, and the version of the tables. While
   * the database cannot be read, the tokens of the last read stay valid.
   */
  #followOthers(store: Store, tokens: Tokens): void {
    const { clock, log, onNewerDatabase } = this.#parts;
    const read = async () => {
      try {
        await refuseNewer(store.work, 'the PostgreSQL database');
        await tokens.reload();
      } catch (error) {
        if (error instanceof StoreError && error.code === 'store-newer') onNewerDatabase?.(error);
        // The next read tries again.
        else log.debug({ error: messageOf(error) }, 'cannot read the API tokens');
      }
    };
    this.#started.add(
      'following of other coordinators',
      clock.every(FOLLOW_OTHERS_EVERY_MS, () => void read()),
    );
  }

  #exportOwnMetrics(serving: Serving): void {
    const { config, ownExport: settings, clock, log } = this.#parts;
    const ownExport = new OwnExport({
      settings,
      resource: {
        'service.name': 'svc-coordinator',
        'service.version': VERSION,
        'service.instance.id': `${hostname()}:${config.listen.port}`,
      },
      measurements: () => serving.measurements(),
      ca: config.probeCa ?? [],
      proxyFor: proxyFor(config.channelProxy?.reveal(), config.noProxy),
      clock,
      log,
    });
    this.#ownExport = ownExport;
    this.#started.add('own metrics', () => void ownExport.stop(LAST_EXPORT_MS));
    ownExport.start();
  }

  async #stop(): Promise<void> {
    await this.#started.stop();
    // Waits for the last export. It began in the first line
    // of this method, and ran while the other parts stopped.
    await this.#ownExport?.stop(LAST_EXPORT_MS);
    // A start in progress fails soon, because its parts are closed now. Parts that it started meanwhile are
    // stopped afterwards.
    await this.#starting?.catch(() => {});
    await this.#started.stop();
  }
}

/**
 * Derives the key of visitors' tokens for status pages from
 * the key of job tokens. The derived key has no other use.
 */
function keyOfVisitors(jobKey: Secret<Uint8Array>): Uint8Array {
  return createHmac('sha256', jobKey.reveal()).update('svc:visitors of status pages').digest();
}

import { basename } from 'node:path';
import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { LoopDelay, processMeasurements } from '@svc/shared/metrics/process-instruments.ts';
import { API_COUNTERS, SERVING_GAUGES } from '@svc/shared/metrics/serving-instruments.ts';
import { type Measurement, measurementsOf } from '@svc/shared/metrics/values.ts';
import type { RecentError } from '@svc/shared/recent-errors.ts';
import { type RegionText, regionTexts } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { VERSION } from '@svc/shared/version.ts';
import { urlRules } from './alerts/declared-urls.ts';
import { channelProblems, type OperatorValues } from './alerts/sender.ts';
import { type ApiParts, createApiCounters, type LedShard } from './api/api-parts.ts';
import type { ApiCalls } from './api/in-process.ts';
import type { TlsFiles } from './api/listener-settings.ts';
import { type Api, createApi } from './api/server.ts';
import type { CoordinatorConfig } from './config.ts';
import { Dashboard } from './dashboard/dashboard.ts';
import { DASHBOARD_ASSETS } from './dashboard/dashboard-assets.ts';
import type { ChangeEffects } from './declaration/configuration.ts';
import { Incidents } from './declaration/notes/incidents.ts';
import { MaintenanceWindows } from './declaration/notes/maintenance.ts';
import { Reading } from './declaration/reading.ts';
import { StoredConfiguration } from './declaration/stored-configuration.ts';
import { WhatIfs } from './history/what-if/what-ifs.ts';
import type { Connectedness } from './leading/all-connected.ts';
import { type LeaderServices, type Leaders, withOrWithoutLeader } from './leading/leader-services.ts';
import { createAskSite, createPageDomains } from './pages/domains/domains.ts';
import { PAGE_ASSETS } from './pages/page-assets.ts';
import { createStatusPages } from './pages/status-page-site.ts';
import { announceRemoval } from './pages/subscribers/window-announcements.ts';
import { createVisitors } from './pages/visitors.ts';
import type { Tokens } from './store/access/tokens.ts';
import type { NewlyQueued } from './store/alerts/delivery-queue.ts';
import { MeasuredSizes } from './store/database-sizes.ts';
import type { DatabaseUrl } from './store/database-url.ts';
import type { Secrets } from './store/declaration/secrets.ts';
import { databaseSizes } from './store/open.ts';
import type { Store } from './store/store.ts';
import { createAssetSite } from './web/assets.ts';
import type { Site } from './web/site.ts';
import { WEB_ASSETS } from './web/web-assets.ts';

export type ServingParts = {
  readonly config: Pick<
    CoordinatorConfig,
    | 'listen'
    | 'metricsToken'
    | 'config'
    | 'channelEgressAllow'
    | 'trustedProxies'
    | 'chatHosts'
    | 'extraRegions'
  > & {
    readonly publicUrl: string;
    readonly tls: TlsFiles | null;
  };
  /** Values of the settings that kinds of channel read. */
  readonly operator: OperatorValues;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  /** Key of the tokens that visitors of status pages get, 32 bytes. */
  readonly visitorKey: Secret<Uint8Array>;
  /** Applies the effects of changes of the declaration, for the shards that this coordinator leads. */
  readonly effects: ChangeEffects;
  readonly leaders: Leaders;
  /** Whether this coordinator may send what only a leader sends; see `Leading.maySend`. */
  readonly maySend: () => boolean;
  /** The shards, and who leads them; empty while the database cannot be read. */
  readonly shards: () => Promise<readonly LedShard[]>;
  readonly nats: Connectedness;
  readonly database: DatabaseUrl;
  /** The last errors of the log; left out: no errors are kept. */
  readonly recentErrors?: (() => readonly RecentError[]) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Interval at which the time of each token's last use is written to the database, ms. */
const SAVE_USES_EVERY_MS = 60_000;

/**
 * Serves the API, the dashboard and status pages. Every
 * coordinator does this work, whether it leads a shard or not.
 */
export class Serving {
  readonly #api: Api;
  readonly #parts: ServingParts;
  readonly #counters = createApiCounters();
  readonly #served: LeaderServices;
  /** When this object was created, epoch ms. */
  readonly #startedAt: number;
  readonly #loopDelay = new LoopDelay();
  readonly #sizes: MeasuredSizes;
  readonly #whatIfs: WhatIfs;
  #cancelSaving: () => void = () => {};
  #stopCounting: () => void = () => {};

  constructor(parts: ServingParts) {
    this.#parts = parts;
    const { config, operator, store, secrets, tokens, effects, leaders, nats, clock, log } = parts;
    this.#startedAt = clock.wall();
    this.#sizes = new MeasuredSizes(() => databaseSizes(parts.database, store), clock);
    this.#whatIfs = new WhatIfs(parts.database);
    const declaredFile = config.config === undefined ? undefined : basename(config.config);
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
    const served = withOrWithoutLeader(leaders, parts);
    this.#served = served;
    const reading = new Reading(store, secrets);
    const domains = createPageDomains({ store, clock, log }, config.publicUrl);
    const channelProblem = channelProblems({ operator, urls: urlRules(config) });
    this.#api = createApi({
      listen: config.listen,
      publicUrl: config.publicUrl,
      trustedProxies: config.trustedProxies,
      ownRegions: config.extraRegions,
      tls: config.tls,
      store,
      secrets,
      reading,
      tokens,
      declaredFile,
      maintenance: new MaintenanceWindows({ store, effects, clock, onRemoval: announceRemoval }),
      incidents: new Incidents({ store, clock }),
      configuration: new StoredConfiguration({ store, secrets, effects, declaredFile, guard, clock }),
      channelProblem,
      guard,
      domains,
      visitorKey: parts.visitorKey,
      ...served,
      shards: parts.shards,
      whatIfs: this.#whatIfs,
      counters: this.#counters,
      measurements: () => this.measurements(),
      readiness: () => ({ nats: nats.isConnected, database: served.isRecording() }),
      recentErrors: parts.recentErrors,
      metricsToken: config.metricsToken ?? null,
      sites: (calls) =>
        createSites(
          {
            ...served,
            store,
            secrets,
            reading,
            tokens,
            domains,
            publicUrl: config.publicUrl,
            regionText: regionTexts(config.extraRegions),
            visitorKey: parts.visitorKey,
            canMail: channelProblem('email', {}) === null,
            clock,
            log,
          },
          calls,
        ),
      clock,
      log,
    });
  }

  /** Starts to listen. Rejects when the API cannot listen at its address. */
  start(): Promise<{ url: string }> {
    const { nats, clock } = this.#parts;
    this.#loopDelay.start();
    this.#sizes.start();
    this.#stopCounting = nats.onConnection((isConnected) => {
      if (!isConnected) this.#counters.disconnects += 1;
    });
    this.#cancelSaving = clock.every(SAVE_USES_EVERY_MS, () => void this.#saveUses());
    return this.#api.start();
  }

  async stop(): Promise<void> {
    this.#cancelSaving();
    this.#stopCounting();
    this.#sizes.stop();
    this.#loopDelay.stop();
    await Promise.all([this.#api.stop(), this.#whatIfs.stop()]);
    await this.#saveUses();
  }

  /** All measurements of this coordinator, for `/metrics` and for the export of its own metrics. */
  measurements(): Measurement[] {
    const { maySend, nats } = this.#parts;
    const { sizes } = this.#sizes;
    const gauges = {
      leading: Number(maySend()),
      databaseBytes: sizes?.file ?? Number.NaN,
      journalBytes: sizes?.journal ?? Number.NaN,
      freeBytes: sizes?.free ?? Number.NaN,
      natsConnected: Number(nats.isConnected),
    };
    return [
      ...this.#served.measurements(),
      ...measurementsOf(API_COUNTERS, this.#counters, this.#startedAt),
      ...measurementsOf(SERVING_GAUGES, gauges, this.#startedAt),
      ...processMeasurements({
        role: 'coordinator',
        version: VERSION,
        loopDelay: this.#loopDelay.values,
        startedAt: this.#startedAt,
      }),
    ];
  }

  /**
   * Writes the times of the last uses of tokens. If that fails, the times stay in memory, and the next call
   * writes them.
   */
  async #saveUses(): Promise<void> {
    const { tokens, log } = this.#parts;
    await tokens.saveUses().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'could not save when API tokens were last used');
    });
  }
}

export type SiteParts = Pick<
  ApiParts,
  | ('store' | 'secrets' | 'reading' | 'tokens' | 'domains' | 'visitorKey')
  | ('publicUrl' | 'slotNow' | 'clock' | 'log')
> & {
  readonly regionText: RegionText;
  /** Whether the operator has set how mails are sent. */
  readonly canMail: boolean;
  /** Called after a mail to a visitor of a status page was queued. */
  readonly pageMailQueued: (queued: NewlyQueued) => void;
};

/**
 * Makes the sites that are served beside the API. A request is offered to the sites in the order of the list.
 *
 * @param calls functions with which the dashboard calls the API within this process
 */
export function createSites(parts: SiteParts, calls: ApiCalls): readonly Site[] {
  const { domains, visitorKey: key, pageMailQueued: onQueued } = parts;
  const visitors = createVisitors({ ...parts, key, onQueued });
  return [
    createAssetSite([...WEB_ASSETS, ...PAGE_ASSETS, ...DASHBOARD_ASSETS]),
    createAskSite(parts),
    visitors.unsubscribing,
    createStatusPages({
      ...parts,
      mayRead: visitors.mayRead,
      slugOfHost: async (host) => (await domains.findPageOf(host))?.slug ?? null,
      routes: visitors.routes,
    }),
    new Dashboard({ ...parts, calls }),
  ];
}

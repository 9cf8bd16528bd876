import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import { RECORDING_COUNTERS } from '@svc/shared/metrics/recording-instruments.ts';
import { Distribution } from '@svc/shared/metrics/values.ts';
import type { Bus, ResultStreams } from '@svc/shared/nats/bus.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { urlRules } from './alerts/declared-urls.ts';
import { Deliverer } from './alerts/deliverer.ts';
import { OverdueAlerts } from './alerts/overdue.ts';
import { closesIncidents } from './alerts/registry.ts';
import { createSender, type OperatorValues } from './alerts/sender.ts';
import { storedChannels } from './alerts/stored-channels.ts';
import { BacklogHold } from './checks/backlog-hold.ts';
import { ResultConsumer } from './checks/consumer.ts';
import { Dispatch } from './checks/dispatch.ts';
import { JobTokens } from './checks/job-tokens.ts';
import { MaintenanceHold } from './checks/maintenance-hold.ts';
import { loadNewestSlots, newestOf } from './checks/newest-slots.ts';
import { ReadingProgress } from './checks/reading-progress.ts';
import { Recorder } from './checks/recorder.ts';
import { RegionPresence } from './checks/region-presence.ts';
import { SlotClock } from './checks/slot-clock.ts';
import { timedStore } from './checks/timed-store.ts';
import type { CoordinatorConfig } from './config.ts';
import { MonitorsInMemory } from './declaration/live-monitors.ts';
import type { DeclaredFileParts } from './declaration/yaml/declared-file.ts';
import type { ExportSettings } from './export/export-settings.ts';
import { MetricsExport } from './export/metrics-export.ts';
import { BelievedClock } from './history/believed-clock.ts';
import { Retention } from './history/retention.ts';
import { DATED_BACK_MS, Rollups } from './history/rollups.ts';
import { createHttpPost } from './outgoing/http-post.ts';
import { createSendMail } from './outgoing/smtp/mail.ts';
import { loadNodemailer } from './outgoing/smtp/nodemailer.ts';
import type { DomainChecks } from './pages/domains/domain-checks.ts';
import { domainChecksOf } from './pages/domains/domains.ts';
import { IconFetches } from './pages/icons/icon-fetches.ts';
import { PageNews } from './pages/subscribers/news.ts';
import { incidentKeys } from './store/access/installation.ts';
import type { Secrets } from './store/declaration/secrets.ts';
import { loadWindows, windowsOfUnknownZones } from './store/incidents/maintenance-windows.ts';
import { createRecordingStore } from './store/results/recording-store.ts';
import type { Store } from './store/store.ts';
import { States } from './verdict/state.ts';
import type { Backlog } from './verdict/thinning.ts';

/** The operator has set these addresses himself: the guard lets all of them pass. */
const OPERATORS_ADDRESSES = { base: 'agent', deny: [], allow: ['0.0.0.0/0', '::/0'] } as const;
/** Of the four threads that the process has for names: alerts and NATS need some too. */
const EXPORT_LOOKUPS = { atOnce: 2, ofSuspects: 1 };

/** Settings that only matter to who leads. */
export type TermSettings = Pick<
  CoordinatorConfig,
  | 'config'
  | 'allowsDelete'
  | 'channelEgressAllow'
  | 'chatHosts'
  | 'probeCa'
  | 'channelProxy'
  | 'noProxy'
  | 'mailHelo'
  | 'retentionDays'
  | 'resultsMaxBytes'
>;

export type TermParts = {
  readonly config: TermSettings & { readonly publicUrl: string };
  /** Values of the settings that kinds of channel read. */
  readonly operator: OperatorValues;
  readonly exports: ExportSettings;
  readonly store: Store;
  readonly secrets: Secrets;
  /** Tells this installation from others: see {@link Installation}. */
  readonly installationId: string;
  /** Signs the tokens of jobs, 32 bytes. */
  readonly jobKey: Secret<Uint8Array>;
  /** Makes the tokens of visitors of status pages, 32 bytes. */
  readonly visitorKey: Secret<Uint8Array>;
  /** The workspace that the declared file declares. */
  readonly workspaceId: number;
  readonly bus: Bus;
  readonly streams: ResultStreams;
  readonly clock: Clock;
  readonly log: Logger;
  /** What the declared file is read with. */
  readonly declaring: Pick<DeclaredFileParts, 'env' | 'read'>;
};

/** The parts of one term, built and not started. */
export type BuiltTerm = Pick<Loaded, 'monitors' | 'newestSlots' | 'slotClock'> & {
  readonly states: States;
  readonly recorder: Recorder;
  /** Durations of the recorder's transactions, seconds. */
  readonly transactionDuration: Distribution;
  readonly backlogHold: BacklogHold;
  readonly maintenanceHold: MaintenanceHold;
  readonly consumer: ResultConsumer;
  readonly dispatch: Dispatch;
  readonly deliverer: Deliverer;
  readonly overdue: OverdueAlerts;
  readonly rollups: Rollups;
  readonly retention: Retention;
  readonly metricsExport: MetricsExport;
  readonly news: PageNews;
  readonly domainChecks: DomainChecks;
  readonly iconFetches: IconFetches;
};

/** Data that is read from the database before the parts can be built. */
type Loaded = {
  readonly monitors: MonitorsInMemory;
  /** Newest believed slot by monitor. Only the beginning of dispatch asks for it. */
  readonly newestSlots: Map<number, number>;
  readonly slotClock: SlotClock;
  readonly believed: BelievedClock;
  readonly presence: RegionPresence;
};

/**
 * Builds all parts of one term anew from the stored data. Nothing runs yet, so nothing must be stopped when
 * it fails.
 *
 * @throws StoreError
 */
export async function buildTerm(parts: TermParts): Promise<BuiltTerm> {
  // The first mail must not hold the thread that schedules.
  if (parts.operator.smtpUrl !== undefined) await loadNodemailer();
  const loaded = await load(parts);
  const { store, clock, log, config } = parts;
  const { monitors, slotClock, believed, presence } = loaded;
  const states = new States();
  const deliverer = createDeliverer(parts);
  // The functions that use `consumer` and `dispatch` are called only after all parts exist.
  const progress = () => consumerProgress;
  const told = () => recorder;
  const rollups = await loadRollups(parts, loaded, () => progress().isCaughtUp());
  const backlogHold = new BacklogHold({ clock, slotClock, onEnd: (ids) => told().announce(ids) });
  const maintenanceHold = await loadMaintenance(parts, slotClock, (ids) => told().announce(ids));
  const transactionDuration = new Distribution(RECORDING_COUNTERS.transactionDuration.bounds);
  const metricsExport = createMetricsExport(parts, monitors);
  const retention = new Retention({ store, clock, believed, log, resultRetentionDays: config.retentionDays });
  const tokens = new JobTokens(parts.jobKey);
  const recorder = createRecorder(parts, loaded, {
    states,
    tokens,
    metricsExport,
    transactionDuration,
    rollups,
    deliverer,
    retention,
    backlogHold,
    maintenanceHold,
    slots: () => dispatch,
  });
  const consumer = new ResultConsumer({
    bus: parts.bus,
    streams: parts.streams,
    recorder,
    hadAgentWithin24h: (region) => presence.hadAgentWithin24h(region),
    clock,
    log,
    maxBytes: config.resultsMaxBytes,
  });
  presence.onCame((region) => consumer.regionCame(region));
  const consumerProgress = new ReadingProgress(consumer, clock);
  const dispatch: Dispatch = createDispatch(parts, loaded, {
    tokens,
    recorder,
    consumer,
    progress: consumerProgress,
  });
  return {
    monitors,
    states,
    slotClock,
    recorder,
    transactionDuration,
    backlogHold,
    maintenanceHold,
    consumer,
    dispatch,
    deliverer,
    overdue: new OverdueAlerts({ ...parts, publicUrl: config.publicUrl, deliverer }),
    rollups,
    retention,
    metricsExport,
    news: createNews(parts, deliverer, (monitorId) => recorder.holds(monitorId)),
    domainChecks: domainChecksOf(parts, config.publicUrl),
    iconFetches: createIconFetches(parts),
    newestSlots: loaded.newestSlots,
  };
}

async function load({ store, secrets, clock, log }: TermParts): Promise<Loaded> {
  const monitors = await MonitorsInMemory.load(store, secrets);
  const given = await loadNewestSlots(store, monitors, Math.floor(clock.wall()));
  const newest = newestOf(given.newest);
  const slotClock = new SlotClock(clock, newest, log, given.ahead);
  const believed = await BelievedClock.load({ store, clock, log }, newest);
  const presence = new RegionPresence({ store, clock, log });
  await presence.load();
  return { monitors, newestSlots: given.newest, slotClock, believed, presence };
}

function loadRollups(
  { store, clock, log }: TermParts,
  { slotClock, believed }: Loaded,
  isCaughtUp: () => boolean,
): Promise<Rollups> {
  return Rollups.load({
    store,
    clock,
    slotNow: () => slotClock.now(),
    believedNow: () => believed.now(),
    isCaughtUp: () => isCaughtUp() && !slotClock.hasJumpedWithin(DATED_BACK_MS),
    log,
  });
}

/** The windows of now, with a warning for each whose time zone is unknown. */
async function loadMaintenance(
  { store, clock, log }: TermParts,
  slotClock: SlotClock,
  onEnd: (monitorIds: readonly number[]) => void,
): Promise<MaintenanceHold> {
  const hold = new MaintenanceHold({ clock, slotClock, onEnd });
  const loadedAt = slotClock.now();
  hold.changed(await loadWindows(store, loadedAt), loadedAt);
  for (const { id, timeZone } of await windowsOfUnknownZones(store))
    log.warn(
      { window: id, timeZone },
      'the time zone of a maintenance window is unknown: it is taken as UTC',
    );
  return hold;
}

function createRecorder(
  { store, secrets, installationId, clock, log }: TermParts,
  { monitors, slotClock, presence }: Loaded,
  parts: {
    readonly states: States;
    readonly tokens: JobTokens;
    readonly rollups: Rollups;
    readonly deliverer: Deliverer;
    readonly retention: Retention;
    readonly backlogHold: BacklogHold;
    readonly maintenanceHold: MaintenanceHold;
    readonly metricsExport: MetricsExport;
    readonly transactionDuration: Distribution;
    /** Dispatch, which itself needs the recorder. */
    readonly slots: () => Dispatch;
  },
): Recorder {
  const { states, rollups, deliverer, retention, slots, backlogHold } = parts;
  return new Recorder({
    store: timedStore(createRecordingStore(store, secrets), clock, parts.transactionDuration),
    states,
    monitors,
    maintenance: parts.maintenanceHold,
    presence,
    rollups,
    tokens: parts.tokens,
    // Without rest parameters, whose arrays would be made for every result.
    slots: {
      isOfferedAgain: (monitor, slot, region, reason) =>
        slots().isOfferedAgain(monitor, slot, region, reason),
      arrived: (monitor, slot, region, tookMs) => slots().arrived(monitor, slot, region, tookMs),
      settled: (outcome) => slots().settled(outcome),
    },
    clock,
    slotClock,
    log,
    newKey: randomUUID,
    newIncidentKey: incidentKeys(installationId),
    closesIncidents,
    exports: parts.metricsExport,
    onRead: (results) => backlogHold.read(results),
    isHeld: (monitorId) => backlogHold.isHeld(monitorId),
    onDeclared: (id, monitor) => monitors.replace(monitors.get(id) ?? null, monitor),
    onChannel: (kind, notificationId) => {
      if (kind === 'channel') return deliverer.channelChanged(notificationId);
      deliverer.channelRemoved(notificationId);
      retention.sweepRemovedChannels();
    },
    onQueued: (_id, delivery) => deliverer.deliverQueued(delivery),
  });
}

function createDispatch(
  { bus, clock, log }: TermParts,
  { monitors, newestSlots, slotClock, presence }: Loaded,
  parts: {
    readonly tokens: JobTokens;
    readonly recorder: Recorder;
    readonly consumer: ResultConsumer;
    readonly progress: ReadingProgress;
  },
): Dispatch {
  const { tokens, recorder, consumer, progress } = parts;
  return new Dispatch({
    bus,
    clock,
    log,
    monitors,
    events: recorder,
    tokens,
    slotClock,
    presence,
    newestSlot: (monitorId) => newestSlots.get(monitorId) ?? null,
    floorSlot: (monitorId) => recorder.floorSlot(monitorId),
    readerCaughtUp: (region) => progress.isCaughtUp(region),
    recovery: recorder,
    backlog: () => backlogOf(recorder, consumer),
  });
}

function createIconFetches(parts: TermParts): IconFetches {
  const { guard } = urlRules(parts.config);
  return new IconFetches({ ...parts, request: createHttpPost({ ...postingOf(parts), guard }) });
}

function postingOf({ config, clock }: TermParts) {
  return {
    clock,
    ca: config.probeCa ?? [],
    proxyFor: proxyFor(config.channelProxy?.reveal(), config.noProxy),
  };
}

function createDeliverer(parts: TermParts): Deliverer {
  const { config, operator, store, secrets, clock, log } = parts;
  const urls = urlRules(config);
  const toOperator = createEgressGuard(OPERATORS_ADDRESSES);
  const posting = postingOf(parts);
  return new Deliverer({
    store,
    secrets,
    clock,
    log,
    send: createSender({
      post: createHttpPost({ ...posting, guard: urls.guard }),
      operatorPost: createHttpPost({ ...posting, guard: toOperator }),
      sendMail: createSendMail({ clock, ca: posting.ca, helo: config.mailHelo }),
      publicUrl: config.publicUrl,
      operator,
      urls,
    }),
    source: storedChannels(store, secrets),
    publicUrl: config.publicUrl,
  });
}

function createNews(
  { config, store, secrets, visitorKey, clock, log }: TermParts,
  deliverer: Deliverer,
  isHeld: (monitorId: number) => boolean,
): PageNews {
  return new PageNews({
    store,
    secrets,
    clock,
    log,
    publicUrl: config.publicUrl,
    key: visitorKey,
    isHeld,
    onQueued: (queued) => deliverer.deliverQueued(queued),
  });
}

function createMetricsExport(parts: TermParts, monitors: MonitorsInMemory): MetricsExport {
  const { config, exports: settings, store, clock, log } = parts;
  const { tls, timeoutMs } = settings;
  const posting = { ...postingOf(parts), timeoutMs, lookups: EXPORT_LOOKUPS };
  return new MetricsExport({
    store,
    monitors,
    settings,
    createPost: (isOperators) =>
      isOperators
        ? createHttpPost({
            ...posting,
            ca: [...posting.ca, ...tls.ca],
            identity: tls.identity ?? undefined,
            guard: createEgressGuard(OPERATORS_ADDRESSES),
          })
        : createHttpPost({
            ...posting,
            guard: createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow }),
          }),
    clock,
    log,
  });
}

/** The results that wait to be recorded, in a stream or in memory. */
function backlogOf(recorder: Recorder, consumer: ResultConsumer): Backlog {
  const { events, oldestMs } = recorder.backlog;
  return { events, oldestMs: Math.max(oldestMs, consumer.lagMs) };
}

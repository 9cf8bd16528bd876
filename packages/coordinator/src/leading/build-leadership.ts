import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { QUEUED_HINT } from '@svc/shared/messages/subjects.ts';
import { RECORDING_COUNTERS } from '@svc/shared/metrics/recording-instruments.ts';
import { Distribution } from '@svc/shared/metrics/values.ts';
import type { Bus, ResultStreams } from '@svc/shared/nats/bus.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import type { Region, RegionText } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { VERSION } from '@svc/shared/version.ts';
import { urlRules } from '../alerts/declared-urls.ts';
import { Deliverer } from '../alerts/deliverer.ts';
import { MonitorNotices } from '../alerts/monitor-notices.ts';
import { OverdueAlerts } from '../alerts/overdue.ts';
import { closesIncidents } from '../alerts/registry.ts';
import { Reminders } from '../alerts/reminders.ts';
import { channelProblems, createSender, type OperatorValues } from '../alerts/sender.ts';
import { storedChannels } from '../alerts/stored-channels.ts';
import { BacklogHold } from '../checks/backlog-hold.ts';
import { electableRegions } from '../checks/batch-evaluation.ts';
import { ResultConsumer } from '../checks/consumer.ts';
import { Dispatch } from '../checks/dispatch.ts';
import { JobTokens } from '../checks/job-tokens.ts';
import { MaintenanceHold } from '../checks/maintenance-hold.ts';
import { type GivenSlots, loadNewestSlots, newestOf } from '../checks/newest-slots.ts';
import { ReadingProgress } from '../checks/reading-progress.ts';
import { Recorder } from '../checks/recorder.ts';
import { RegionPresence } from '../checks/region-presence.ts';
import { SlotClock } from '../checks/slot-clock.ts';
import type { CoordinatorConfig } from '../config.ts';
import { ChangeApplier } from '../declaration/change-applier.ts';
import type { ChangeEffects } from '../declaration/configuration.ts';
import { MonitorsInMemory } from '../declaration/live-monitors.ts';
import { StoredConfiguration } from '../declaration/stored-configuration.ts';
import { DeclaredFile, type DeclaredFileParts } from '../declaration/yaml/declared-file.ts';
import type { ExportSettings } from '../export/export-settings.ts';
import { MetricsExport } from '../export/metrics-export.ts';
import { BelievedClock } from '../history/believed-clock.ts';
import { Retention } from '../history/retention.ts';
import { DATED_BACK_MS, Rollups } from '../history/rollups.ts';
import { createHttpPost } from '../outgoing/http-post.ts';
import { createSendMail } from '../outgoing/smtp/mail.ts';
import { loadNodemailer } from '../outgoing/smtp/session.ts';
import type { DomainChecks } from '../pages/domains/domain-checks.ts';
import { domainChecksOf } from '../pages/domains/domains.ts';
import { IconFetches } from '../pages/icons/icon-fetches.ts';
import { PageNews } from '../pages/subscribers/news.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { notLeading } from '../store/errors.ts';
import { loadWindows, windowsOfUnknownZones } from '../store/incidents/maintenance-windows.ts';
import type { GivenSlot } from '../store/results/recorded-slots.ts';
import { createRecordingStore, type RecordingStore } from '../store/results/recording-store.ts';
import { numbersFor, type RegionNumbers } from '../store/results/region-numbers.ts';
import { shardStates } from '../store/shards.ts';
import { storedStates } from '../store/states/monitor-states.ts';
import type { Store } from '../store/store.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import type { StoredState } from '../verdict/restart.ts';
import { type Shard, shardOf } from '../verdict/shard.ts';
import type { SlotOutcome, SlotOutcomes } from '../verdict/slots.ts';
import { States } from '../verdict/state.ts';
import { hourOf } from '../verdict/summary-range.ts';
import type { Backlog } from '../verdict/thinning.ts';
import { Deadman } from './deadman.ts';

/** Rules of the egress guard for addresses that the operator has set. They allow all addresses. */
const OPERATORS_ADDRESSES = { base: 'agent', deny: [], allow: ['0.0.0.0/0', '::/0'] } as const;

/** The settings that a leader uses. */
export type LeadershipSettings = Pick<
  CoordinatorConfig,
  | 'config'
  | 'allowsDelete'
  | 'channelEgressAllow'
  | 'chatHosts'
  | 'probeCa'
  | 'channelProxy'
  | 'deadmanUrl'
  | 'noProxy'
  | 'mailHelo'
  | 'retentionDays'
  | 'resultsMaxBytes'
  | 'regionNoticeAfterMs'
>;

/** A connection to NATS. */
export type NatsConnection = { readonly bus: Bus; readonly streams: ResultStreams };

export type LeadershipParts = NatsConnection & {
  /** The shard that is led. */
  readonly shard: Shard;
  /** The regions of the installation, in the order in which they are shown. */
  readonly regions: readonly Region[];
  readonly regionText: RegionText;
  readonly config: LeadershipSettings & { readonly publicUrl: string };
  /** Values of the settings that kinds of channel read. */
  readonly operator: OperatorValues;
  readonly exports: ExportSettings;
  /** The database. It refuses the writes of this leadership after another coordinator has taken the lease. */
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: DerivedIds;
  /** Key that signs the tokens of jobs, 32 bytes. */
  readonly jobKey: Secret<Uint8Array>;
  /** Key of the tokens that visitors of status pages get, 32 bytes. */
  readonly visitorKey: Secret<Uint8Array>;
  /** Id of the workspace that the declared file belongs to. */
  readonly workspaceId: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether no other coordinator can use the database. */
  readonly isAlone: boolean;
  /**
   * Whether no other coordinator leads the shard now. Called right before each job, alert or export is sent.
   */
  readonly maySend: () => boolean;
  /** The variables that the declared file may insert, and its reader. */
  readonly declaring: Pick<DeclaredFileParts, 'env' | 'read'>;
};

/** The larger part of the data from which a leadership is built. */
export type ShardData = {
  readonly monitors: MonitorsInMemory;
  readonly given: GivenSlots;
  /** Emptied while the leadership loads its states from them, because it makes copies. */
  readonly states: (readonly StoredState[])[];
};

/**
 * Reads the data of a shard before its lease is taken. A leadership may be built from them only if no leader has
 * written since before this call.
 *
 * @param known monitors that were reloaded before; undefined: there are none
 * @param signal ends the reading of states, which is the longest part
 * @throws StoreError
 */
export async function readShard(
  { shard, store, secrets, clock }: Pick<LeadershipParts, 'shard' | 'store' | 'secrets' | 'clock'>,
  known: MonitorsInMemory | undefined,
  signal?: AbortSignal,
): Promise<ShardData> {
  const now = Math.floor(clock.wall());
  const monitors = await (known?.reload(store, secrets, shard) ??
    MonitorsInMemory.load(store, secrets, shard));
  const states: ShardData['states'] = [];
  for await (const some of storedStates(store, now, shard)) {
    signal?.throwIfAborted();
    states.push(some);
  }
  const given = await loadNewestSlots(store, monitors, now, decidedIn(states));
  return { monitors, given, states };
}

function* decidedIn(states: ShardData['states']): Generator<GivenSlot> {
  for (const some of states) for (const { id, decidedSlot: slot } of some) yield { id, slot };
}

/** The parts of one leadership, built and not started. */
export type BuiltLeadership = Pick<Loaded, 'monitors' | 'newestSlots' | 'slotClock'> & {
  readonly states: States;
  readonly recorder: Recorder;
  /** Durations of the recorder's transactions, seconds. */
  readonly transactionDuration: Distribution;
  readonly backlogHold: BacklogHold;
  readonly maintenanceHold: MaintenanceHold;
  readonly consumer: ResultConsumer;
  readonly dispatch: Dispatch;
  readonly metricsExport: MetricsExport;
  readonly notices: MonitorNotices;
  readonly reminders: Reminders;
  readonly news: PageNews;
  readonly applier: ChangeApplier;
  /** Null: the shard is not 0. */
  readonly installation: InstallationParts | null;
};

/** The parts that work for the whole installation. Only the leadership of shard 0 has them. */
export type InstallationParts = {
  readonly deliverer: Deliverer;
  readonly overdue: OverdueAlerts;
  readonly rollups: Rollups;
  readonly retention: Retention;
  readonly domainChecks: DomainChecks;
  readonly iconFetches: IconFetches;
  /** Null: `SVC_DEADMAN_URL` is not set. */
  readonly deadman: Deadman | null;
  readonly configuration: StoredConfiguration;
};

/** The data and parts from which the other parts of a leadership are built. */
type Loaded = {
  readonly monitors: MonitorsInMemory;
  /**
   * Newest recorded slot of each monitor. Slots whose time is
   * doubted are left out. Only the start of dispatch uses this map.
   */
  readonly newestSlots: Map<number, number>;
  readonly slotClock: SlotClock;
  readonly believed: BelievedClock;
  readonly presence: RegionPresence;
  readonly numbers: RegionNumbers;
};

/**
 * Builds all parts of one leadership from the stored data, in the order in which data
 * passes through them. It starts no part, so when it fails, nothing has to be stopped.
 *
 * @param data the result of {@link readShard}; null: the data are read now
 * @throws StoreError
 */
export async function buildLeadership(
  parts: LeadershipParts,
  data: ShardData | null,
): Promise<BuiltLeadership> {
  // The library is loaded now. If the first mail loaded it, the thread that schedules would be blocked.
  if (parts.operator.smtpUrl !== undefined) await loadNodemailer();
  const loaded = await load(parts, data);
  const { store, clock, log, config, shard } = parts;
  const { monitors, slotClock, presence } = loaded;
  const states = new States();
  const progress = new ReadingProgress(clock);
  const background = shard.id === 0 ? await loadBackground(parts, loaded, progress) : null;
  const backlogHold = new BacklogHold({ clock, slotClock });
  const maintenanceHold = await loadMaintenance(parts, slotClock);
  const transactionDuration = new Distribution(RECORDING_COUNTERS.transactionDuration.bounds);
  const metricsExport = createMetricsExport(parts, monitors);
  const tokens = new JobTokens(parts.jobKey, loaded.numbers);
  const toDispatch = new ToDispatch();
  const recorder = createRecorder(parts, loaded, {
    states,
    tokens,
    metricsExport,
    transactionDuration,
    background,
    backlogHold,
    maintenanceHold,
    slots: toDispatch,
    data,
  });
  const consumer = new ResultConsumer({
    shard,
    bus: parts.bus,
    streams: parts.streams,
    recorder,
    hadAgentWithin24h: (region) => presence.hadAgentWithin24h(region),
    regions: presence.regions,
    clock,
    log,
    maxBytes: config.resultsMaxBytes,
  });
  presence.onCame((region) => consumer.regionCame(region));
  progress.follow(consumer);
  const dispatch = createDispatch(parts, loaded, { tokens, recorder, consumer, progress });
  toDispatch.connect(dispatch);
  const applier = new ChangeApplier({ shard, store, secrets: parts.secrets, sink: recorder, clock, log });
  const isHeld = (monitorId: number) =>
    shardOf(monitorId, shard.count) !== shard.id || recorder.holdsNews(monitorId);
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
    metricsExport,
    notices: new MonitorNotices({
      ...parts,
      states,
      monitors,
      slotClock,
      regionAfterMs: config.regionNoticeAfterMs,
      electable: () => electableRegions(presence),
      isHeld: (monitorId) => recorder.holdsAlerts(monitorId),
      onQueued: (queued) => background?.deliverer.deliverQueued(queued),
    }),
    reminders: new Reminders({
      ...parts,
      states,
      monitors,
      slotClock,
      electable: () => electableRegions(presence),
      isHeld: (monitorId) => recorder.holdsAlerts(monitorId),
      onQueued: (queued) => background?.deliverer.deliverQueued(queued),
    }),
    news: createNews(parts, background?.deliverer ?? null, isHeld),
    newestSlots: loaded.newestSlots,
    applier,
    installation: background && {
      ...background,
      overdue: new OverdueAlerts({ ...parts, ...background, publicUrl: config.publicUrl }),
      domainChecks: domainChecksOf(parts, config.publicUrl),
      iconFetches: createIconFetches(parts),
      deadman: createDeadman(parts, monitors, recorder, consumer, dispatch),
      configuration: createConfiguration(parts, applier),
    },
  };
}

/** The parts among {@link InstallationParts} that the recorder needs. */
type Background = Pick<InstallationParts, 'deliverer' | 'rollups' | 'retention'>;

async function loadBackground(
  parts: LeadershipParts,
  loaded: Loaded,
  progress: ReadingProgress,
): Promise<Background> {
  const { store, clock, log, config } = parts;
  const { believed } = loaded;
  return {
    deliverer: createDeliverer(parts),
    rollups: await loadRollups(parts, loaded, progress),
    retention: new Retention({ store, clock, believed, log, resultRetentionDays: config.retentionDays }),
  };
}

async function load(
  { shard, store, secrets, clock, log, regions }: LeadershipParts,
  data: ShardData | null,
): Promise<Loaded> {
  data?.monitors.forgetVersions();
  const monitors = data?.monitors ?? (await MonitorsInMemory.load(store, secrets, shard));
  const given = data?.given ?? (await loadNewestSlots(store, monitors, Math.floor(clock.wall())));
  const newest = newestOf(given.newest);
  const slotClock = new SlotClock(clock, newest, log, given.ahead);
  const believed = await BelievedClock.load({ store, clock, log }, newest);
  const presence = new RegionPresence({ store, clock, log, regions });
  await presence.load();
  const numbers = await numbersFor(store, regions);
  return { monitors, newestSlots: given.newest, slotClock, believed, presence, numbers };
}

function loadRollups(
  { store, clock, log }: LeadershipParts,
  { slotClock, believed }: Loaded,
  progress: ReadingProgress,
): Promise<Rollups> {
  return Rollups.load({
    store,
    clock,
    slotNow: () => slotClock.now(),
    believedNow: () => believed.now(),
    isCaughtUp: () => progress.isCaughtUp() && !slotClock.hasJumpedWithin(DATED_BACK_MS),
    log,
  });
}

/** Loads the maintenance windows, and warns about each window whose time zone is unknown. */
async function loadMaintenance(
  { store, clock, log }: LeadershipParts,
  slotClock: SlotClock,
): Promise<MaintenanceHold> {
  const hold = new MaintenanceHold({ clock, slotClock });
  const loadedAt = slotClock.now();
  hold.changeWindows(await loadWindows(store, loadedAt), loadedAt);
  for (const { id, timeZone } of await windowsOfUnknownZones(store))
    log.warn(
      { window: id, timeZone },
      'the time zone of a maintenance window is unknown: it is taken as UTC',
    );
  return hold;
}

function createRecorder(
  { shard, store, secrets, ids, bus, clock, log }: LeadershipParts,
  { monitors, slotClock, presence, numbers }: Loaded,
  parts: {
    readonly states: States;
    readonly tokens: JobTokens;
    readonly background: Background | null;
    readonly backlogHold: BacklogHold;
    readonly maintenanceHold: MaintenanceHold;
    readonly metricsExport: MetricsExport;
    readonly transactionDuration: Distribution;
    readonly slots: SlotOutcomes;
    readonly data: ShardData | null;
  },
): Recorder {
  const { states, background, slots, backlogHold, data } = parts;
  const hint = new QueuedHint(bus);
  const recording = createRecordingStore(store, secrets, shard, numbers);
  const stored = data === null ? recording : { ...recording, states: () => removedFrom(data.states) };
  return new Recorder({
    store: timedStore(stored, clock, parts.transactionDuration),
    states,
    monitors,
    maintenance: parts.maintenanceHold,
    presence,
    rollups: background?.rollups ?? endedHours(slotClock),
    tokens: parts.tokens,
    slots,
    clock,
    slotClock,
    log,
    ids,
    closesIncidents,
    exports: parts.metricsExport,
    onResults: (results) => backlogHold.holdBacklog(results),
    isHeld: (monitorId) => backlogHold.isHeld(monitorId),
    onDeclared: (id, monitor) => monitors.replace(monitors.get(id) ?? null, monitor),
    onChannel: (kind, notificationId) => {
      if (kind === 'channel') return background?.deliverer.channelChanged(notificationId);
      background?.deliverer.channelRemoved(notificationId);
      background?.retention.sweepRemovedChannels();
    },
    onQueued: (delivery) =>
      background === null ? hint.sendSoon() : background.deliverer.deliverQueued(delivery),
  });
}

/** Yields the values in their order, and removes each from the array before. */
async function* removedFrom<T>(values: T[]): AsyncGenerator<T> {
  for (let value = values.shift(); value !== undefined; value = values.shift()) yield value;
}

/**
 * Tells the leader of a shard other than 0 which hours count as rolled up. This
 * leader does not know how far the roll-ups are, so all hours that have ended
 * count. The leader of shard 0 rolls an hour up five minutes after its end.
 */
function endedHours(slotClock: Pick<SlotClock, 'now'>): { readonly claimedUntil: number } {
  return {
    get claimedUntil() {
      return hourOf(slotClock.now());
    },
  };
}

/**
 * Tells the leader of shard 0 that another shard has queued alerts, at most once in a turn of the event loop.
 */
class QueuedHint {
  readonly #bus: Pick<Bus, 'publish' | 'isConnected'>;
  #isDue = false;

  constructor(bus: Pick<Bus, 'publish' | 'isConnected'>) {
    this.#bus = bus;
  }

  sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      if (this.#bus.isConnected) this.#bus.publish(QUEUED_HINT, '');
    });
  }
}

function createDispatch(
  { shard, bus, maySend, clock, log }: LeadershipParts,
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
    shard: shard.id,
    bus: busWhile(maySend, bus),
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

/**
 * A bus that publishes only while no other coordinator can lead the shard.
 * Otherwise it behaves towards publishers as if NATS were disconnected.
 */
function busWhile(maySend: () => boolean, bus: Bus): Bus {
  return {
    get isConnected() {
      return bus.isConnected && maySend();
    },
    publish(...message) {
      if (!maySend()) throw notLeading();
      bus.publish(...message);
    },
    subscribe: (...subscription) => bus.subscribe(...subscription),
    expectRegions: (count) => bus.expectRegions(count),
    readHeartbeats: (...reading) => bus.readHeartbeats(...reading),
    removeOtherHeartbeats: (regions) => bus.removeOtherHeartbeats(regions),
    flush: () => bus.flush(),
    inbox: () => bus.inbox(),
    onConnection: (listener) => bus.onConnection(listener),
    close: () => bus.close(),
  };
}

/**
 * Passes the recorder's news about slots to dispatch. Dispatch needs the recorder, so this object is built
 * before the recorder, and is connected to dispatch later. The reading of results begins after that.
 */
class ToDispatch implements SlotOutcomes {
  #dispatch: SlotOutcomes | null = null;

  connect(dispatch: SlotOutcomes): void {
    this.#dispatch = dispatch;
  }

  isOfferedAgain(monitorId: number, slot: number, region: Region, reason: NotRunReason): boolean {
    return this.#dispatch?.isOfferedAgain(monitorId, slot, region, reason) ?? false;
  }

  resultArrived(monitorId: number, slot: number, region: Region, tookMs: number | null): void {
    this.#dispatch?.resultArrived(monitorId, slot, region, tookMs);
  }

  outcomeRecorded(outcome: SlotOutcome): void {
    this.#dispatch?.outcomeRecorded(outcome);
  }
}

function createConfiguration(
  { config, store, secrets, clock }: LeadershipParts,
  effects: ChangeEffects,
): StoredConfiguration {
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
  return new StoredConfiguration({ store, secrets, effects, guard, clock });
}

/**
 * Creates the object that applies and watches the declared file.
 * The caller must stop the object, even if it was never started.
 *
 * @returns null when no file is declared
 */
export function createDeclaredFile(
  { config, operator, store, secrets, workspaceId, regions, declaring, clock, log }: LeadershipParts,
  configuration: StoredConfiguration,
): DeclaredFile | null {
  if (config.config === undefined) return null;
  return new DeclaredFile({
    path: config.config,
    workspaceId,
    configuration,
    store,
    version: VERSION,
    secrets,
    ...declaring,
    channelEgressAllow: config.channelEgressAllow,
    regions,
    allowsDelete: config.allowsDelete,
    channelProblem: channelProblems({ operator, urls: urlRules(config) }),
    clock,
    log,
  });
}

function createIconFetches(parts: LeadershipParts): IconFetches {
  const { guard } = urlRules(parts.config);
  return new IconFetches({ ...parts, request: createHttpPost({ ...postingOf(parts), guard }) });
}

/** Recording counts as stopped if the oldest result that waits to be recorded is at least this old, ms. */
const NOT_RECORDING_MS = 60_000;

function createDeadman(
  parts: LeadershipParts,
  monitors: MonitorsInMemory,
  recorder: Recorder,
  consumer: ResultConsumer,
  dispatch: Dispatch,
): Deadman | null {
  const { config, store, bus, maySend, clock, log } = parts;
  const url = config.deadmanUrl?.reveal();
  if (url === undefined) return null;
  const dispatches = () =>
    maySend() && bus.isConnected && (dispatch.agents.live().length > 0 || !hasActive(monitors));
  const records = () => !recorder.isFailing && backlogOf(recorder, consumer).oldestMs < NOT_RECORDING_MS;
  // While nothing is to be recorded, only a write shows whether the database takes writes. This one renews the lease.
  const canWrite = () => store.commit([]).then(() => true);
  const areShardsLed = async () => (await shardStates(store)).every(({ isFree }) => !isFree);
  return new Deadman({
    url,
    request: createHttpPost({ ...postingOf(parts), guard: createEgressGuard(OPERATORS_ADDRESSES) }),
    isWorking: async () => dispatches() && records() && (await canWrite()) && (await areShardsLed()),
    clock,
    log,
  });
}

function hasActive(monitors: MonitorsInMemory): boolean {
  for (const { active } of monitors.values()) if (active) return true;
  return false;
}

function postingOf({ config, clock, maySend }: LeadershipParts) {
  return {
    clock,
    maySend,
    ca: config.probeCa ?? [],
    proxyFor: proxyFor(config.channelProxy?.reveal(), config.noProxy),
  };
}

function createDeliverer(parts: LeadershipParts): Deliverer {
  const { config, operator, store, secrets, ids, regionText, maySend, clock, log } = parts;
  const urls = urlRules(config);
  const toOperator = createEgressGuard(OPERATORS_ADDRESSES);
  const posting = postingOf(parts);
  return new Deliverer({
    store,
    secrets,
    ids,
    clock,
    log,
    send: createSender({
      post: createHttpPost({ ...posting, guard: urls.guard }),
      operatorPost: createHttpPost({ ...posting, guard: toOperator }),
      sendMail: createSendMail({ clock, maySend, ca: posting.ca, helo: config.mailHelo }),
      publicUrl: config.publicUrl,
      operator,
      urls,
      regionText,
    }),
    source: storedChannels(store, secrets),
    publicUrl: config.publicUrl,
  });
}

function createNews(
  { shard, config, store, secrets, ids, visitorKey, clock, log }: LeadershipParts,
  deliverer: Deliverer | null,
  isHeld: (monitorId: number) => boolean,
): PageNews {
  return new PageNews({
    store,
    secrets,
    ids,
    clock,
    log,
    publicUrl: config.publicUrl,
    key: visitorKey,
    isOfInstallation: shard.id === 0,
    isHeld,
    onQueued: (queued) => deliverer?.deliverQueued(queued),
  });
}

function createMetricsExport(parts: LeadershipParts, monitors: MonitorsInMemory): MetricsExport {
  const { shard, config, exports: settings, store, clock, log } = parts;
  const { tls, timeoutMs } = settings;
  const posting = { ...postingOf(parts), timeoutMs };
  return new MetricsExport({
    shard,
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

/**
 * The number of events that wait in memory to be recorded, and the age
 * of the oldest event or result that waits in memory or in a stream, ms.
 */
function backlogOf(recorder: Recorder, consumer: ResultConsumer): Backlog {
  const { events, oldestMs } = recorder.backlog;
  return { events, oldestMs: Math.max(oldestMs, consumer.lagMs) };
}

/** A store that records in `durations` how long each committed transaction took, seconds. */
function timedStore(
  store: RecordingStore,
  clock: Pick<Clock, 'monotonic'>,
  durations: Distribution,
): RecordingStore {
  return {
    ...store,
    async record(batch) {
      const startedAt = clock.monotonic();
      const isQueued = await store.record(batch);
      durations.record((clock.monotonic() - startedAt) / 1_000);
      return isQueued;
    },
  };
}

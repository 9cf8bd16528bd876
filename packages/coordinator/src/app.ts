import { join } from 'node:path';
import type { Bus, ResultStream } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type Api, createApi } from './api/server.ts';
import type { CoordinatorConfig } from './config.ts';
import { MonitorsInMemory } from './configuration/live-monitors.ts';
import { Reading } from './configuration/reading.ts';
import { StoredConfiguration } from './configuration/transactions.ts';
import { DeclaredFile } from './declare/declared-file.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { loadNewestSlots, newestOf } from './dispatch/newest-slots.ts';
import { RegionPresence } from './dispatch/region-presence.ts';
import { SlotClock } from './dispatch/slot-clock.ts';
import { JobTokens } from './dispatch/tokens.ts';
import { coordinatorMetrics } from './metrics.ts';
import { Deliverer } from './notify/deliverer.ts';
import { createDeliveries } from './notify/deliveries.ts';
import { createHttpPost } from './notify/http-post.ts';
import { createOutbox } from './notify/outbox.ts';
import { createChannels, unavailableReason } from './notify/registry.ts';
import { storedChannels } from './notify/stored-channels.ts';
import { ResultConsumer } from './results/consumer.ts';
import { createDeclarationEffects } from './results/declaration-effects.ts';
import { Evaluator } from './results/evaluator.ts';
import { ReadingProgress } from './results/reading-progress.ts';
import { Recorder } from './results/recorder.ts';
import { States } from './results/states.ts';
import { logTransitions } from './results/transition-log.ts';
import { DATED_BACK_MS, Rollups } from './rollups/rollups.ts';
import { loadInstallation } from './store/facts.ts';
import { openStore } from './store/open.ts';
import { Retention } from './store/retention.ts';
import { checkSecretKey, parseSecretKey, Secrets } from './store/secrets.ts';
import type { Store } from './store/store.ts';
import { Tokens } from './store/tokens.ts';
import { ensureDefaultWorkspace } from './store/workspaces.ts';

export type CoordinatorOptions = {
  config: Pick<
    CoordinatorConfig,
    | 'listen'
    | 'config'
    | 'allowsDelete'
    | 'channelEgressAllow'
    | 'retentionDays'
    | 'resultsMaxBytes'
    | 'metricsToken'
  > & {
    databasePath: string;
    publicUrl: string;
    /** 32 bytes in base64. */
    secretKey: string;
    apiToken: string;
  };
  /** Connected; the coordinator closes it at the end. */
  bus: Bus;
  stream: ResultStream;
  clock: Clock;
  log: Logger;
  /** What `${env.NAME}` in the declared file inserts. */
  environment: Readonly<Record<string, string | undefined>>;
};

/**
 * The coordinator: every part of it is built here and given what it needs.
 *
 * Order matters twice. At the start the states are loaded before anything can change them, and jobs are
 * given out only after results are read and the declaration stands. At the end it is the other way
 * round: no new slots, then no more results, then no more alerts, and the database last.
 */
export class Coordinator {
  readonly #options: CoordinatorOptions;
  /** What has been started, to be stopped in the opposite order. */
  readonly #started: { name: string; stop: () => Promise<void> | void }[] = [];
  #declaredFile: DeclaredFile | null = null;
  #starting: Promise<{ url: string }> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the API listens and jobs are given out.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), or what listening
   *   failed with; what was started is stopped then
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

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#declaredFile?.reload();
  }

  /** May be called twice, and during the start. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<{ url: string }> {
    const { config, bus, stream, clock, log, environment } = this.#options;
    this.#started.push({ name: 'bus', stop: () => bus.close() });

    const store = await openStore({ path: config.databasePath, log });
    this.#started.push({ name: 'store', stop: () => store.close() });
    const secrets = new Secrets(parseSecretKey(config.secretKey));
    await checkSecretKey(store, secrets);
    const installation = await loadInstallation(store, secrets);
    const workspaceId = await ensureDefaultWorkspace(store, clock.wall());
    const tokens = await Tokens.load(store);
    await tokens.setOperatorToken(workspaceId, config.apiToken, clock.wall());

    const monitors = await MonitorsInMemory.load(store, secrets);
    const given = await loadNewestSlots(store, monitors, clock.wall());
    const slotClock = new SlotClock(clock, newestOf(given.newest), log, given.ahead);
    const presence = new RegionPresence({ store, clock, log });
    await presence.load();

    const deliverer = this.#createDeliverer(store, secrets);
    const outbox = createOutbox(clock, (delivery) => deliverer.wake(delivery));
    const states = new States();
    const slotNow = () => Math.floor(slotClock.now());
    const rollups = await Rollups.load({
      store,
      clock,
      slotNow,
      isCaughtUp: () => progress.isCaughtUp() && !slotClock.hasJumpedWithin(DATED_BACK_MS),
      log,
    });
    const evaluator = new Evaluator({
      states,
      monitors,
      presence,
      outbox,
      rollups,
      clock,
      slotClock,
    });
    const jobTokens = new JobTokens(installation.jobKey);
    const recorder = new Recorder({
      store,
      evaluator,
      tokens: jobTokens,
      clock,
      log,
      onNotRun: (...job) => (dispatch.isOfferedAgain(...job) ? 'reoffer' : 'accept'),
    });
    const consumer = new ResultConsumer({
      bus,
      stream,
      recorder,
      clock,
      log,
      maxBytes: config.resultsMaxBytes,
    });
    const progress = new ReadingProgress(consumer, clock);
    const dispatch = new Dispatch({
      bus,
      clock,
      log,
      monitors,
      events: recorder,
      tokens: jobTokens,
      slotClock,
      presence,
      newestSlot: (monitorId) => given.newest.get(monitorId) ?? null,
      readerCaughtUp: () => progress.isCaughtUp(),
      recovery: recorder,
      backlog: () => recorder.backlog,
    });
    recorder.onOutcome((outcome) => dispatch.settled(outcome));
    evaluator.onTransition((change) => logTransitions(log, change));

    await recorder.load();
    this.#started.push({ name: 'recorder', stop: () => recorder.stop() });
    const configuration = new StoredConfiguration({
      store,
      secrets,
      effects: createDeclarationEffects(evaluator),
      monitors,
      clock,
    });
    await deliverer.start();
    this.#started.push({ name: 'deliverer', stop: () => deliverer.stop() });
    consumer.start();
    this.#started.push({ name: 'consumer', stop: () => consumer.stop() });
    rollups.start();
    this.#started.push({ name: 'roll-ups', stop: () => rollups.stop() });
    const retention = new Retention({ store, clock, log, resultRetentionDays: config.retentionDays });
    retention.start();
    this.#started.push({ name: 'retention', stop: () => retention.stop() });

    if (config.config === undefined) await configuration.releaseFileOwnership();
    else {
      this.#declaredFile = new DeclaredFile({
        path: config.config,
        workspaceId,
        configuration,
        secrets,
        env: environment,
        allowsDelete: config.allowsDelete,
        channelProblem: unavailableReason,
        clock,
        log,
      });
      this.#started.push({ name: 'declared file', stop: () => this.#declaredFile?.stop() });
      await this.#declaredFile.start();
    }

    this.#started.push({ name: 'dispatch', stop: () => dispatch.stop() });
    const dispatching = dispatch.start();
    const api: Api = createApi({
      listen: config.listen,
      publicUrl: config.publicUrl,
      store,
      secrets,
      reading: new Reading(store, secrets),
      tokens,
      configuration,
      monitors,
      states,
      agents: dispatch.agents,
      checks: dispatch,
      deliveries: createDeliveries({ store, clock, deliverer, publicUrl: config.publicUrl }),
      readiness: () => ({ nats: bus.isConnected, database: !recorder.isFailing }),
      metrics: () =>
        coordinatorMetrics({ monitors, states, dispatch, recorder, consumer, deliverer, rollups }),
      metricsToken: config.metricsToken ?? null,
      clock,
      slotNow: () => slotClock.now(),
      log,
    });
    this.#started.push({ name: 'API', stop: () => api.stop() });
    const listening = await api.start();
    await dispatching;
    return listening;
  }

  #createDeliverer(store: Store, secrets: Secrets): Deliverer {
    const { config, clock, log } = this.#options;
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
    return new Deliverer({
      store,
      clock,
      log,
      channels: createChannels(createHttpPost({ clock, guard })),
      source: storedChannels(store, secrets),
    });
  }

  async #stop(): Promise<void> {
    await this.#stopStarted();
    // A start that is still under way ends soon on what is closed now; what it began until then follows.
    await this.#starting?.catch(() => {});
    await this.#stopStarted();
  }

  async #stopStarted(): Promise<void> {
    for (let part = this.#started.pop(); part !== undefined; part = this.#started.pop()) {
      const { name, stop } = part;
      try {
        await stop();
      } catch (error) {
        this.#options.log.error({ error, part: name }, 'a part did not stop cleanly');
      }
    }
  }
}

/** Path of the SQLite file: what `SVC_DATABASE_URL` says, or the one in the data folder. */
export function databasePathOf(databaseUrl: string | undefined, dataDir: string): string {
  return databaseUrl === undefined ? join(dataDir, 'svc.db') : databaseUrl.slice('sqlite:'.length);
}

import { randomUUID } from 'node:crypto';
import type { Bus, ResultStream } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { CoordinatorConfig } from './config.ts';
import { ChangeApplier } from './configuration/change-applier.ts';
import type { ChangeEffects } from './configuration/configuration.ts';
import { MonitorsInMemory } from './configuration/live-monitors.ts';
import { StoredConfiguration } from './configuration/transactions.ts';
import { DeclaredFile } from './declare/declared-file.ts';
import { Dispatch } from './dispatch/dispatch.ts';
import { loadNewestSlots, newestOf } from './dispatch/newest-slots.ts';
import { RegionPresence } from './dispatch/region-presence.ts';
import { SlotClock } from './dispatch/slot-clock.ts';
import { JobTokens } from './dispatch/tokens.ts';
import { States } from './evaluation/state.ts';
import type { Live } from './live.ts';
import { coordinatorMetrics } from './metrics.ts';
import { Deliverer } from './notify/deliverer.ts';
import { createDeliveries } from './notify/deliveries.ts';
import { createChannels, unavailableReason } from './notify/registry.ts';
import { storedChannels } from './notify/stored-channels.ts';
import { createHttpPost } from './outgoing/http-post.ts';
import { ResultConsumer } from './recording/consumer.ts';
import { ReadingProgress } from './recording/reading-progress.ts';
import { Recorder } from './recording/recorder.ts';
import { logTransitions } from './recording/transition-log.ts';
import { BelievedClock } from './retention/believed-clock.ts';
import { Retention } from './retention/retention.ts';
import { DATED_BACK_MS, Rollups } from './rollups/rollups.ts';
import { StartedParts } from './started-parts.ts';
import { createRecordingStore } from './store/recording-store.ts';
import type { Secrets } from './store/secrets.ts';
import type { Store } from './store/store.ts';

export type LeadingOptions = {
  readonly config: Pick<
    CoordinatorConfig,
    'config' | 'allowsDelete' | 'channelEgressAllow' | 'retentionDays' | 'resultsMaxBytes'
  > & { readonly publicUrl: string };
  readonly store: Store;
  readonly secrets: Secrets;
  /** Signs the tokens of jobs, 32 bytes. */
  readonly jobKey: Uint8Array;
  /** The workspace that the declared file declares. */
  readonly workspaceId: number;
  readonly bus: Bus;
  readonly stream: ResultStream;
  readonly clock: Clock;
  readonly log: Logger;
  /** What `${env.NAME}` in the declared file inserts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/**
 * What only the coordinator that leads does: it dispatches checks, reads, records and evaluates results,
 * delivers alerts, rolls up, sweeps, and applies changes of the declaration. It can be started and stopped as
 * often as it is asked to; each time everything is built anew from what is stored.
 *
 * Order matters twice. At the start the states are loaded before anything can change them, and jobs are
 * given out only after results are read and the declaration stands. At the end it is the other way
 * round: no new slots, then no more results, then no more alerts.
 */
export class Leading implements ChangeEffects {
  readonly #options: LeadingOptions;
  readonly #started: StartedParts;
  #applier: ChangeApplier | null = null;
  #declaredFile: DeclaredFile | null = null;
  #live: Live | null = null;

  constructor(options: LeadingOptions) {
    this.#options = options;
    this.#started = new StartedParts(options.log);
  }

  /** What is known now, or was known when this led last. */
  get live(): Live | null {
    return this.#live;
  }

  get isLeading(): boolean {
    return this.#applier !== null;
  }

  /**
   * Resolves when the declaration stands and results are read; jobs are given out some seconds later at most.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start); what was started is
   *   to be stopped then
   */
  async start(): Promise<{ dispatching: Promise<void> }> {
    const { store, secrets, clock, log } = this.#options;
    const monitors = await MonitorsInMemory.load(store, secrets);
    const given = await loadNewestSlots(store, monitors, Math.floor(clock.wall()));
    const newestSlots = given.newest;
    const slotClock = new SlotClock(clock, newestOf(newestSlots), log, given.ahead);
    const believed = await BelievedClock.load({ store, clock, log }, newestOf(newestSlots));
    const presence = new RegionPresence({ store, clock, log });
    await presence.load();
    const { deliverer, rollups, recorder, consumer, dispatch, states } = await this.#build(
      monitors,
      newestSlots,
      slotClock,
      believed,
      presence,
    );
    recorder.onTransition((change) => logTransitions(log, change));
    await recorder.load();
    this.#started.add('recorder', () => recorder.stop());
    this.#live = this.#liveOf({
      monitors,
      states,
      dispatch,
      recorder,
      consumer,
      deliverer,
      rollups,
      slotClock,
    });
    const applier = new ChangeApplier({ store, secrets, sink: recorder, log });
    this.#applier = applier;
    this.#started.add('changes', () => this.#stopApplying(applier));
    await deliverer.start();
    this.#started.add('deliverer', () => deliverer.stop());
    await applier.resume();
    recorder.announceAll();
    consumer.start();
    this.#started.add('consumer', () => consumer.stop());
    rollups.start();
    this.#started.add('roll-ups', () => rollups.stop());
    this.#startRetention(believed);
    await this.#startDeclaredFile(applier);
    this.#started.add('dispatch', () => dispatch.stop());
    return { dispatching: dispatch.start() };
  }

  async stop(): Promise<void> {
    await this.#started.stop();
    this.#declaredFile = null;
  }

  /** Where nobody leads the change waits in the log. */
  async applied(lastChangeId: number): Promise<void> {
    await this.#applier?.applied(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#declaredFile?.reload();
  }

  async #build(
    monitors: MonitorsInMemory,
    newestSlots: ReadonlyMap<number, number>,
    slotClock: SlotClock,
    believed: BelievedClock,
    presence: RegionPresence,
  ) {
    const { config, store, jobKey, bus, stream, clock, log } = this.#options;
    const deliverer = this.#createDeliverer();
    const states = new States();
    const tokens = new JobTokens(jobKey);
    const rollups = await Rollups.load({
      store,
      clock,
      slotNow: () => slotClock.now(),
      believedNow: () => believed.now(),
      isCaughtUp: () => progress.isCaughtUp() && !slotClock.hasJumpedWithin(DATED_BACK_MS),
      log,
    });
    const recorder = new Recorder({
      store: createRecordingStore(store),
      states,
      monitors,
      presence,
      rollups,
      tokens,
      slots: {
        isOfferedAgain: (...job) => dispatch.isOfferedAgain(...job),
        settled: (outcome) => dispatch.settled(outcome),
      },
      clock,
      slotClock,
      log,
      newKey: randomUUID,
      isHeld: () => false,
      onDeclared: (id, monitor) => monitors.replace(monitors.get(id) ?? null, monitor),
      onQueued: (id, { uid, notificationId, monitorId, alert, queuedAt }) =>
        deliverer.wake({ id, uid, notificationId, monitorId, alert, attempts: 0, tries: 0, queuedAt }),
    });
    const maxBytes = config.resultsMaxBytes;
    const consumer = new ResultConsumer({ bus, stream, recorder, clock, log, maxBytes });
    const progress = new ReadingProgress(consumer, clock);
    const dispatch = new Dispatch({
      bus,
      clock,
      log,
      monitors,
      events: recorder,
      tokens,
      slotClock,
      presence,
      newestSlot: (monitorId) => newestSlots.get(monitorId) ?? null,
      readerCaughtUp: () => progress.isCaughtUp(),
      recovery: recorder,
      backlog: () => recorder.backlog,
    });
    return { deliverer, rollups, recorder, consumer, dispatch, states };
  }

  #createDeliverer(): Deliverer {
    const { config, store, secrets, clock, log } = this.#options;
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
    return new Deliverer({
      store,
      clock,
      log,
      channels: createChannels(createHttpPost({ clock, guard })),
      source: storedChannels(store, secrets),
    });
  }

  #liveOf(parts: Parameters<typeof coordinatorMetrics>[0] & { slotClock: SlotClock }): Live {
    const { store, clock, config } = this.#options;
    const { monitors, states, dispatch, recorder, deliverer, slotClock } = parts;
    return {
      monitors,
      states,
      agents: dispatch.agents,
      checks: dispatch,
      deliveries: createDeliveries({ store, clock, deliverer, publicUrl: config.publicUrl }),
      slotNow: () => slotClock.now(),
      isRecording: () => !recorder.isFailing,
      metrics: () => coordinatorMetrics(parts),
    };
  }

  #startRetention(believed: BelievedClock): void {
    const { config, store, clock, log } = this.#options;
    const retention = new Retention({
      store,
      clock,
      believed,
      log,
      resultRetentionDays: config.retentionDays,
    });
    retention.start();
    this.#started.add('retention', () => retention.stop());
  }

  async #startDeclaredFile(effects: ChangeEffects): Promise<void> {
    const { config, store, secrets, workspaceId, environment, clock, log } = this.#options;
    const configuration = new StoredConfiguration({ store, secrets, effects, clock });
    if (config.config === undefined) {
      await configuration.releaseFileOwnership();
      return;
    }
    const declaredFile = new DeclaredFile({
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
    this.#declaredFile = declaredFile;
    this.#started.add('declared file', () => declaredFile.stop());
    await declaredFile.start();
  }

  #stopApplying(applier: ChangeApplier): Promise<void> {
    this.#applier = null;
    return applier.stop();
  }
}

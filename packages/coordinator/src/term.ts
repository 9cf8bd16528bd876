import { createEgressGuard } from '@svc/shared/egress.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { VERSION } from '@svc/shared/version.ts';
import { urlRules } from './alerts/declared-urls.ts';
import { createManualDeliveries } from './alerts/manual-deliveries.ts';
import { channelProblems } from './alerts/sender.ts';
import { logTransitions } from './checks/transition-log.ts';
import { ChangeApplier } from './declaration/change-applier.ts';
import type { ChangeEffects } from './declaration/configuration.ts';
import { StoredConfiguration } from './declaration/stored-configuration.ts';
import { DeclaredFile } from './declaration/yaml/declared-file.ts';
import type { Live } from './live.ts';
import { leadingMeasurements } from './metrics.ts';
import { StartedParts } from './started-parts.ts';
import { type BuiltTerm, buildTerm, type TermParts } from './term-parts.ts';

/** The term was stopped before its start had ended. */
class TermEnded extends SvcError {
  constructor() {
    super('term-ended', 'leading was stopped while it was starting');
  }
}

/**
 * One period of leading, from its start to its stop. It cannot be started again.
 *
 *     new ── start ──▶ loading ──▶ leading ── stop ──▶ ended
 *                         └──── stop, or a failure ─────▲
 *
 * The order matters twice. At the start, the states are loaded before anything can change them, and jobs are
 * given out only after results are read, agents are heard and the declaration is applied. At the end the
 * order is reversed: no new slots, then no more results, then no more alerts.
 */
export class Term {
  readonly #parts: TermParts;
  readonly #started: StartedParts;
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | null = null;
  #applier: ChangeApplier | null = null;
  #declaredFile: DeclaredFile | null = null;
  #live: Live | null = null;
  #isLeading = false;

  constructor(parts: TermParts) {
    this.#parts = parts;
    this.#started = new StartedParts(parts.log);
  }

  /** The live state; null until it is loaded. */
  get live(): Live | null {
    return this.#live;
  }

  /** Whether it has started and is not being stopped. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves when the declaration is applied and results are read. Jobs are given out a few seconds later at
   * most.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), TermEnded. Nothing
   *   runs any more then
   */
  async start(): Promise<{ dispatching: Promise<void> }> {
    const starting = this.#start();
    this.#starting = starting;
    try {
      return await starting;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Stops the term. It may be called during the start, which then fails. It waits for the writes that the parts still
   * have: a database that accepts none refuses each of them after 5 s.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Resolves when the changes up to this one in the log are applied, or when the term is stopped. */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#applier?.applyUntil(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#declaredFile?.reload();
  }

  async #start(): Promise<{ dispatching: Promise<void> }> {
    const built = await buildTerm(this.#parts);
    const {
      recorder,
      backlogHold,
      maintenanceHold,
      deliverer,
      overdue,
      consumer,
      rollups,
      retention,
      dispatch,
      metricsExport,
      news,
      domainChecks,
      iconFetches,
    } = built;
    await this.#begin('export of metrics', metricsExport, () => metricsExport.load());
    await this.#begin('recorder', recorder, () => recorder.load());
    recorder.onTransition((change) => logTransitions(this.#parts.log, change));
    metricsExport.start();
    this.#live = this.#liveOf(built);
    await this.#begin('deliverer', deliverer, () => deliverer.start());
    await this.#begin('watch on overdue alerts', overdue, () => overdue.start());
    await this.#begin('news of status pages', news, () => news.start());
    await this.#begin('checks of custom domains', domainChecks, () => domainChecks.start());
    await this.#begin('icons of status pages', iconFetches, () => iconFetches.start());
    const applier = this.#createApplier(built);
    this.#applier = applier;
    await this.#begin('changes', applier, () => applier.applyRemaining());
    await this.#begin('hold of a backlog', backlogHold, () => backlogHold.start());
    await this.#begin('maintenance windows', maintenanceHold, () => maintenanceHold.start());
    await this.#begin('consumer', consumer, () => consumer.start());
    await this.#begin('roll-ups', rollups, () => rollups.start());
    await this.#begin('retention', retention, () => retention.start());
    // Agents report their jobs while the declared file is read and applied, so a start takes only the longer
    // of the two.
    await this.#begin('dispatch', dispatch, () => dispatch.listen());
    await this.#declare(applier);
    this.#isLeading = true;
    return { dispatching: dispatch.start().then(() => built.newestSlots.clear()) };
  }

  /** Starts a part, unless the term is being stopped. The part is stopped even when its start fails. */
  async #begin(
    name: string,
    part: { stop(): Promise<void> | void },
    start: () => Promise<void> | void,
  ): Promise<void> {
    this.#mustGoOn();
    this.#started.add(name, () => part.stop());
    await start();
    this.#mustGoOn();
  }

  #mustGoOn(): void {
    if (this.#stopping !== null) throw new TermEnded();
  }

  async #stop(): Promise<void> {
    this.#isLeading = false;
    // This comes first: callers that wait for effects (a request, the declared file) would delay the stop of
    // the parts that they wait in.
    this.#applier?.stop();
    await this.#started.stop();
    // A start in progress ends at its next part. The parts that it started until then are stopped afterwards.
    await this.#starting.catch(() => {});
    await this.#started.stop();
  }

  #createApplier({ recorder }: BuiltTerm): ChangeApplier {
    const { store, secrets, clock, log } = this.#parts;
    return new ChangeApplier({ store, secrets, sink: recorder, clock, log });
  }

  /** Applies and watches the declared file. Without a file, the resources of an earlier file are released. */
  async #declare(effects: ChangeEffects): Promise<void> {
    const { config, store, secrets, workspaceId, declaring, clock, log } = this.#parts;
    this.#mustGoOn();
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
    const configuration = new StoredConfiguration({ store, secrets, effects, guard, clock });
    if (config.config === undefined) {
      await configuration.releaseFileOwnership();
      this.#mustGoOn();
      return;
    }
    const declaredFile = new DeclaredFile({
      path: config.config,
      workspaceId,
      configuration,
      store,
      version: VERSION,
      secrets,
      ...declaring,
      channelEgressAllow: config.channelEgressAllow,
      allowsDelete: config.allowsDelete,
      channelProblem: channelProblems({ operator: this.#parts.operator, urls: urlRules(config) }),
      clock,
      log,
    });
    this.#declaredFile = declaredFile;
    await this.#begin('declared file', declaredFile, () => declaredFile.start());
  }

  #liveOf(built: BuiltTerm): Live {
    const { store, clock, config } = this.#parts;
    const startedAt = clock.wall();
    const { monitors, states, dispatch, recorder, deliverer, overdue, slotClock, metricsExport } = built;
    return {
      monitors,
      states,
      agents: {
        agentsOf: (region) => dispatch.agents.agentsOf(region),
        live: () => dispatch.agents.live(),
      },
      checks: dispatch,
      deliveries: createManualDeliveries({ store, clock, deliverer, publicUrl: config.publicUrl }),
      overdue: () => overdue.channels,
      exports: {
        endpoints: () => metricsExport.endpoints,
        test: (monitorId) => metricsExport.testEndpoint(monitorId),
      },
      declaration: () => {
        const status = this.#declaredFile?.status();
        return status === undefined ? null : { ...status, workspaceId: this.#parts.workspaceId };
      },
      pageMailQueued: (queued) => {
        // Whoever asks for a mail has an address that works by now.
        deliverer.channelChanged(queued.notificationId);
        deliverer.deliverQueued(queued);
      },
      slotNow: () => slotClock.now(),
      isRecording: () => !recorder.isFailing,
      measurements: () => leadingMeasurements(built, startedAt),
    };
  }
}

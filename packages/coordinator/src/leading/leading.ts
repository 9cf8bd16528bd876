import { SvcError } from '@svc/shared/errors.ts';
import { logTransitions } from '../checks/transition-log.ts';
import type { ChangeApplier } from '../declaration/change-applier.ts';
import type { ChangeEffects } from '../declaration/configuration.ts';
import type { DeclaredFile } from '../declaration/yaml/declared-file.ts';
import { type LeaderServices, leaderServices } from './leader-services.ts';
import {
  type BuiltLeadership,
  buildLeadership,
  createDeclaredFile,
  type LeadershipParts,
} from './leadership.ts';
import { StartedParts } from './started-parts.ts';

/**
 * The work of the coordinator that leads: it dispatches checks, reads, records and evaluates results,
 * delivers alerts, rolls up, sweeps, and applies changes of the declaration. It can be started and stopped as
 * often as needed. Each start makes a new {@link Leadership}.
 */
export class Leading implements ChangeEffects {
  readonly #parts: LeadershipParts;
  #leadership: Leadership | null = null;
  /** Services of the last leadership that has ended, until the next one has its own. */
  #lastServices: LeaderServices | null = null;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
  }

  /** The services of the present leadership, or of the last one; null: it has not led yet. */
  get services(): LeaderServices | null {
    return this.#leadership?.services ?? this.#lastServices;
  }

  /** Whether all parts are started and none is being stopped. */
  get isLeading(): boolean {
    return this.#leadership?.isLeading ?? false;
  }

  /**
   * Resolves when the declaration is applied and results are read. Jobs are given out a few seconds later at
   * most. After a failure nothing runs, and it may be called again.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), LeadershipEnded
   *   ({@link stop} was called meanwhile)
   */
  async start(): Promise<{ dispatching: Promise<void> }> {
    if (this.#leadership !== null) throw new TypeError('it leads already');
    const leadership = new Leadership(this.#parts);
    this.#leadership = leadership;
    try {
      const started = await leadership.start();
      // The services keep the whole former leadership in memory.
      this.#lastServices = null;
      return started;
    } catch (error) {
      await this.#end(leadership);
      throw error;
    }
  }

  /** Stops leading. It may be called at any time, also during the start, and twice. */
  async stop(): Promise<void> {
    if (this.#leadership !== null) await this.#end(this.#leadership);
  }

  /** Resolves when the change is applied. Without a leader the change waits in the log. */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#leadership?.applyUntil(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#leadership?.reload();
  }

  async #end(leadership: Leadership): Promise<void> {
    await leadership.stop();
    if (this.#leadership !== leadership) return;
    this.#lastServices = leadership.services ?? this.#lastServices;
    this.#leadership = null;
  }
}

/** The leadership was stopped before its start had ended. */
class LeadershipEnded extends SvcError {
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
class Leadership {
  readonly #parts: LeadershipParts;
  readonly #started: StartedParts;
  #starting: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | null = null;
  #applier: ChangeApplier | null = null;
  #declaredFile: DeclaredFile | null = null;
  #services: LeaderServices | null = null;
  #isLeading = false;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    this.#started = new StartedParts(parts.log);
  }

  /** The part that the API uses; null until the states are loaded. */
  get services(): LeaderServices | null {
    return this.#services;
  }

  /** Whether it has started and is not being stopped. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves when the declaration is applied and results are read. Jobs are given out a few seconds later at
   * most.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), LeadershipEnded.
   *   Nothing runs any more then
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
   * Stops the leadership. It may be called during the start, which then fails. It waits for the writes that
   * the parts still have: a database that accepts none refuses each of them after 5 s.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Resolves when the changes up to this one in the log are applied, or when the leadership is stopped. */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#applier?.applyUntil(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#declaredFile?.reload();
  }

  async #start(): Promise<{ dispatching: Promise<void> }> {
    const parts = await buildLeadership(this.#parts);
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
      applier,
      newestSlots,
    } = parts;
    await this.#begin('export of metrics', metricsExport, () => metricsExport.load());
    await this.#begin('recorder', recorder, () => recorder.load());
    recorder.onTransition((change) => logTransitions(this.#parts.log, change));
    metricsExport.start();
    this.#services = leaderServices(this.#parts, parts, () => this.#declaredFile);
    await this.#begin('deliverer', deliverer, () => deliverer.start());
    await this.#begin('watch on overdue alerts', overdue, () => overdue.start());
    await this.#begin('news of status pages', news, () => news.start());
    await this.#begin('checks of custom domains', domainChecks, () => domainChecks.start());
    await this.#begin('icons of status pages', iconFetches, () => iconFetches.start());
    this.#applier = applier;
    await this.#begin('changes', applier, () => applier.applyRemaining());
    const announce = (monitorIds: readonly number[]) => recorder.announceStatuses(monitorIds);
    await this.#begin('hold of a backlog', backlogHold, () => backlogHold.start(announce));
    await this.#begin('maintenance windows', maintenanceHold, () => maintenanceHold.start(announce));
    await this.#begin('consumer', consumer, () => consumer.start());
    await this.#begin('roll-ups', rollups, () => rollups.start());
    await this.#begin('retention', retention, () => retention.start());
    // Agents report their jobs while the declared file is read and applied, so a start takes only the longer
    // of the two.
    await this.#begin('dispatch', dispatch, () => dispatch.listen());
    await this.#declare(parts);
    this.#isLeading = true;
    return { dispatching: dispatch.start().then(() => newestSlots.clear()) };
  }

  /** Starts a part, unless the leadership is being stopped. The part is stopped even when its start fails. */
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
    if (this.#stopping !== null) throw new LeadershipEnded();
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

  /** Applies and watches the declared file. Without a file, the resources of an earlier file are released. */
  async #declare({ configuration }: BuiltLeadership): Promise<void> {
    this.#mustGoOn();
    const declaredFile = createDeclaredFile(this.#parts, configuration);
    if (declaredFile === null) {
      await configuration.releaseFileOwnership();
      this.#mustGoOn();
      return;
    }
    this.#declaredFile = declaredFile;
    await this.#begin('declared file', declaredFile, () => declaredFile.start());
  }
}

import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { pause } from '@svc/shared/waiting.ts';
import { logTransitions } from '../checks/transition-log.ts';
import type { ChangeApplier } from '../declaration/change-applier.ts';
import type { ChangeEffects } from '../declaration/configuration.ts';
import type { DeclaredFile } from '../declaration/yaml/declared-file.ts';
import { isShardFree } from '../store/shard-lease.ts';
import { type LeaderServices, leaderServices } from './leader-services.ts';
import {
  type BuiltLeadership,
  buildLeadership,
  createDeclaredFile,
  type LeadershipParts,
} from './leadership.ts';
import { Lease } from './lease.ts';
import { StartedParts } from './started-parts.ts';

/** Interval at which a coordinator that does not lead looks whether it may, ms. */
const LOOK_EVERY_MS = 250;
/** Interval at which a leader looks for changes that other coordinators have logged, ms. */
const FOLLOW_EVERY_MS = 500;
/** Wait after a leadership that could not begin, ms. */
const TRY_AGAIN_MS = 2_000;

type LeadingParts = Omit<LeadershipParts, 'maySend'> & {
  /** As fast as the database's clock. */
  readonly leaseClock: Clock;
};

/** A leadership under the lease that it needs. */
type Led = { readonly leadership: Leadership; readonly lease: Lease };

/**
 * Whether this coordinator leads: it takes the lease of the shard when it can, and then does the work of a
 * leader. It can be started and stopped as often as needed. Each time it leads it makes a new
 * {@link Leadership}.
 *
 *               ┌──────── lost to another coordinator, or a failure ────────┐
 *               ▼                                                          │
 *     off ─▶ looking ── the lease is free: taken ──▶ a leadership starts ──▶ leads
 *      ▲        │                                          │                 │
 *      └────────┴────────────────── stop ──────────────────┴─────────────────┘
 */
export class Leading implements ChangeEffects {
  readonly #parts: LeadingParts;
  /** Ends the looking; null: it is off. */
  #looking: { readonly stopping: AbortController; ended: Promise<void> } | null = null;
  #led: Led | null = null;
  /** Services of the last leadership that has ended, until the next one has its own. */
  #lastServices: LeaderServices | null = null;

  constructor(parts: LeadingParts) {
    this.#parts = parts;
  }

  /** The services of the present leadership, or of the last one; null: it has not led yet. */
  get services(): LeaderServices | null {
    return this.#led?.leadership.services ?? this.#lastServices;
  }

  /** Whether all parts are started and none is being stopped. */
  get isLeading(): boolean {
    return this.#led?.leadership.isLeading ?? false;
  }

  /**
   * Resolves when this coordinator leads, or when another one does. In the first case the declaration is
   * applied and results are read, and jobs are given out a few seconds later at most. From then on it leads
   * whenever it can. After a failure nothing runs, and it may be called again.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start), LeadershipEnded
   *   ({@link stop} was called meanwhile)
   */
  async start(): Promise<{ dispatching: Promise<void> }> {
    if (this.#looking !== null) throw new TypeError('it leads already, or tries to');
    const stopping = new AbortController();
    const looking = { stopping, ended: Promise.resolve() };
    this.#looking = looking;
    try {
      const leading = this.#lead(stopping.signal);
      looking.ended = leading.then(
        () => {},
        () => {},
      );
      const started = await leading;
      if (started === null) this.#parts.log.info('another coordinator leads: this one serves the API');
      if (!this.#parts.isAlone) looking.ended = this.#lookOn(stopping.signal);
      return started ?? { dispatching: Promise.resolve() };
    } catch (error) {
      if (this.#looking === looking) this.#looking = null;
      throw error;
    }
  }

  /** Stops leading, and gives the lease up. It may be called at any time, also during the start, and twice. */
  async stop(): Promise<void> {
    const looking = this.#looking;
    looking?.stopping.abort();
    if (this.#led !== null) await this.#end(this.#led);
    await looking?.ended;
    if (this.#looking === looking) this.#looking = null;
  }

  /** Resolves when the change is applied. Without a leader the change waits in the log. */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#led?.leadership.applyUntil(lastChangeId);
  }

  /** Applies the declared file again. */
  async reload(): Promise<void> {
    await this.#led?.leadership.reload();
  }

  /**
   * Takes the lease and starts a leadership; null: another coordinator leads.
   *
   * @throws StoreError, DeclarationError, LeadershipEnded. Nothing runs then
   */
  async #lead(signal: AbortSignal): Promise<{ dispatching: Promise<void> } | null> {
    const { store, isAlone, leaseClock: clock, log } = this.#parts;
    const ended = Promise.withResolvers<void>();
    const lease = await Lease.take({ store, isAlone, clock, log, onLost: () => ended.resolve() });
    if (lease === null) return null;
    const maySend = () => lease.isTrusted();
    const leadership = new Leadership({ ...this.#parts, store: lease.store, maySend });
    const led = { leadership, lease };
    this.#led = led;
    void ended.promise.then(() => {
      log.warn('another coordinator has taken the lease: this one stops leading');
      return this.#end(led);
    });
    try {
      if (signal.aborted) throw new LeadershipEnded();
      const started = await leadership.start();
      // The services keep the whole former leadership in memory.
      this.#lastServices = null;
      return started;
    } catch (error) {
      const isLost = lease.isOver && !signal.aborted;
      await this.#end(led);
      if (isLost) return null;
      throw error;
    }
  }

  /** Leads again whenever the lease is free, until it is stopped. Never rejects. */
  async #lookOn(signal: AbortSignal): Promise<void> {
    const { store, leaseClock: clock, log } = this.#parts;
    let waitMs = LOOK_EVERY_MS;
    while (!signal.aborted) {
      await pause(clock, waitMs, signal);
      waitMs = LOOK_EVERY_MS;
      if (signal.aborted || this.#led !== null) continue;
      try {
        if (!(await isShardFree(store))) continue;
        const started = await this.#lead(signal);
        if (started === null) continue;
        log.info('this coordinator leads');
        await started.dispatching;
      } catch (error) {
        if (signal.aborted) return;
        log.error({ error: messageOf(error) }, 'this coordinator could not lead: svc tries again');
        waitMs = TRY_AGAIN_MS;
      }
    }
  }

  async #end({ leadership, lease }: Led): Promise<void> {
    await leadership.stop();
    await lease.resign();
    if (this.#led?.leadership !== leadership) return;
    // Once another coordinator leads, they are old.
    this.#lastServices = this.#parts.isAlone ? (leadership.services ?? this.#lastServices) : null;
    this.#led = null;
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
    if (!this.#parts.isAlone) this.#followChanges(applier);
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

  /** Applies the changes that other coordinators log. */
  #followChanges(applier: ChangeApplier): void {
    const cancel = this.#parts.clock.every(FOLLOW_EVERY_MS, () => void applier.applyRemaining());
    this.#started.add('following of changes', cancel);
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

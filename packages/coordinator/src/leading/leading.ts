import type { Clock } from '@svc/shared/clock.ts';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { onAbort, pause } from '@svc/shared/waiting.ts';
import type { Deliverer } from '../alerts/deliverer.ts';
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

/** Interval at which a coordinator that does not lead checks whether the lease is free, ms. */
const LOOK_EVERY_MS = 250;
/** Interval at which a leader reads what other coordinators have changed and queued, ms. */
const FOLLOW_EVERY_MS = 500;
/**
 * Time without NATS after which a leader gives up the lease, because another coordinator may have NATS, ms.
 * NATS servers restart in less time.
 */
const WITHOUT_NATS_MS = 10_000;
/** Time for which a coordinator without NATS leaves a free lease to the others, ms. */
const GIVE_WAY_MS = 5_000;
/** Time after a failed start of a leadership until the next try, ms. */
const TRY_AGAIN_MS = 2_000;

type LeadingParts = Omit<LeadershipParts, 'maySend'> & {
  /** Clock for the lease. It runs at the speed of the database's clock. */
  readonly leaseClock: Clock;
};

/** A leadership, and the lease that allows it to lead. */
type Led = { readonly leadership: Leadership; readonly lease: Lease };

/**
 * Lets this coordinator lead. When the lease of the shard is free, this object takes the
 * lease, and then does the work of a leader. The object can be started and stopped any
 * number of times. Each time it has taken the lease, it makes a new {@link Leadership}.
 *
 *               ┌──────── lost to another coordinator, or a failure ────────┐
 *               ▼                                                          │
 *     off ─▶ looking ── the lease is free: taken ──▶ a leadership starts ──▶ leads
 *      ▲        │                                          │                 │
 *      └────────┴────────────────── stop ──────────────────┴─────────────────┘
 */
export class Leading implements ChangeEffects {
  readonly #parts: LeadingParts;
  /** The loop that waits for the lease, and its abort controller; null: this object is stopped. */
  #looking: { readonly stopping: AbortController; ended: Promise<void> } | null = null;
  #led: Led | null = null;
  /**
   * Services of the last leadership that has ended, until the next one has started. Null if
   * another coordinator may have led since, because the data of these services would be old.
   */
  #lastServices: LeaderServices | null = null;

  constructor(parts: LeadingParts) {
    this.#parts = parts;
  }

  /**
   * The services of the present leadership, or those of the last one. Null: this
   * coordinator has not led yet, or another coordinator may have led since.
   */
  get services(): LeaderServices | null {
    return this.#led?.leadership.services ?? this.#lastServices;
  }

  /**
   * Whether a leadership has started and is not being stopped. The first jobs may follow a few seconds later.
   */
  get isLeading(): boolean {
    return this.#led?.leadership.isLeading ?? false;
  }

  /** Whether jobs, alerts and exports are sent: this coordinator leads, and no other one can lead now. */
  get maySend(): boolean {
    return this.#led !== null && this.isLeading && this.#led.lease.isTrusted();
  }

  /** Whether another coordinator holds the lease; false while the database cannot be read. */
  async anotherLeads(): Promise<boolean> {
    if (this.#led !== null) return false;
    return isShardFree(this.#parts.store).then(
      (isFree) => !isFree,
      () => false,
    );
  }

  /**
   * Resolves when this coordinator leads, or when another coordinator does. If this coordinator
   * leads, the declaration is applied and results are read by then. `dispatching` resolves when
   * jobs are given out, a few seconds later at most. After the start, this coordinator leads
   * whenever the lease is free. After a failure nothing runs, and `start` may be called again.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the
   *   first start), LeadershipEnded ({@link stop} was called meanwhile)
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

  /**
   * Stops leading, and gives up the lease. The method may be
   * called at any time, even during the start, and more than once.
   */
  async stop(): Promise<void> {
    const looking = this.#looking;
    looking?.stopping.abort();
    if (this.#led !== null) await this.#end(this.#led);
    await looking?.ended;
    if (this.#looking === looking) this.#looking = null;
  }

  /**
   * Resolves when the changes up to this one in the log are applied, or cannot be applied now. If this
   * coordinator does not lead, the promise resolves at once, and the changes wait in the log for the leader.
   */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#led?.leadership.applyUntil(lastChangeId);
  }

  /** Reads and applies the declared file again, if this coordinator leads. */
  async reload(): Promise<void> {
    await this.#led?.leadership.reload();
  }

  /**
   * Takes the lease and starts a leadership; null: another coordinator leads.
   *
   * @throws StoreError, DeclarationError, LeadershipEnded. After an error nothing runs
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
      log.warn(
        'another coordinator has taken the lease, or the database has lost writes: this one stops leading',
      );
      return this.#end(led);
    });
    try {
      if (signal.aborted) throw new LeadershipEnded();
      const started = await leadership.start();
      // The old services would keep the whole former leadership in memory.
      this.#lastServices = null;
      log.info({ event: 'leading' }, 'this coordinator leads');
      return started;
    } catch (error) {
      const isLost = lease.isOver && !signal.aborted;
      await this.#end(led);
      if (isLost) return null;
      throw error;
    }
  }

  /**
   * Leads whenever the lease is free, until `signal` is aborted. Never rejects.
   *
   * A coordinator without NATS gives way to the others: as a leader once after each loss of NATS, and
   * otherwise for a few seconds. So when none of them has NATS, one of them leads all the same and delivers alerts.
   */
  async #lookOn(signal: AbortSignal): Promise<void> {
    const { store, bus, leaseClock: clock, log } = this.#parts;
    /** When NATS was lost, if this coordinator has not given way since; monotonic ms. */
    let lostAt = bus.isConnected ? Number.POSITIVE_INFINITY : clock.monotonic();
    const stopWatching = bus.onConnection((isConnected) => {
      lostAt = isConnected ? Number.POSITIVE_INFINITY : clock.monotonic();
    });
    onAbort(signal, stopWatching);
    /** Since when the lease is free; null: another coordinator held it at the last look. */
    let freeSince: number | null = null;
    let waitMs = LOOK_EVERY_MS;
    while (!signal.aborted) {
      await pause(clock, waitMs, signal);
      waitMs = LOOK_EVERY_MS;
      if (signal.aborted) return;
      const now = clock.monotonic();
      if (this.#led !== null) {
        if (now - lostAt < WITHOUT_NATS_MS) continue;
        lostAt = Number.POSITIVE_INFINITY;
        log.warn('NATS is away for this coordinator: it stops leading, so that another one can lead');
        await this.#end(this.#led);
        continue;
      }
      try {
        if (!(await isShardFree(store))) {
          freeSince = null;
          continue;
        }
        freeSince ??= now;
        if (!bus.isConnected && now - freeSince < GIVE_WAY_MS) continue;
        freeSince = null;
        const started = await this.#lead(signal);
        if (started === null) continue;
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
    // If another coordinator may lead next, the data of these services would soon be old.
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
 * One period of leading, from its start to its stop. An ended leadership cannot be started again.
 *
 *     new ── start ──▶ loading ──▶ leading ── stop ──▶ ended
 *                         └──── stop, or a failure ─────▲
 *
 * The order of the start and the order of the stop matter. At the start, the states
 * are loaded before anything can change them, and jobs are given out only after
 * results are read, agents are heard and the declaration is applied. At the stop
 * the order is reversed: no new slots, then no more results, then no more alerts.
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

  /** The services that the API uses; null: the states are not loaded yet. */
  get services(): LeaderServices | null {
    return this.#services;
  }

  /** Whether the leadership has started and is not being stopped. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /**
   * Resolves when the declaration is applied and results are read. `dispatching`
   * resolves when jobs are given out, a few seconds later at most.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at
   *   the first start), LeadershipEnded. After an error nothing runs
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
   * Stops the leadership. If the method is called during the start, the start fails. The method waits for
   * the unfinished writes of the parts. A database that cannot accept writes refuses each write after 5 s.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /**
   * Resolves when the changes up to this one in the log are applied,
   * when they cannot be applied now, or when the leadership is stopped.
   */
  async applyUntil(lastChangeId: number): Promise<void> {
    await this.#applier?.applyUntil(lastChangeId);
  }

  /** Reads and applies the declared file again, if this coordinator leads. */
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
      deadman,
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
    if (!this.#parts.isAlone) this.#followOthers(applier, deliverer);
    const announce = (monitorIds: readonly number[]) => recorder.announceStatuses(monitorIds);
    await this.#begin('hold of a backlog', backlogHold, () => backlogHold.start(announce));
    await this.#begin('maintenance windows', maintenanceHold, () => maintenanceHold.start(announce));
    await this.#begin('consumer', consumer, () => consumer.start());
    await this.#begin('roll-ups', rollups, () => rollups.start());
    await this.#begin('retention', retention, () => retention.start());
    // Agents report their jobs while the declared file is read and applied. So the
    // start takes as long as the slower of the two, not as long as both together.
    await this.#begin('dispatch', dispatch, () => dispatch.listen());
    await this.#declare(parts);
    if (deadman !== null) this.#started.add("dead man's switch", () => deadman.stop());
    this.#isLeading = true;
    const dispatching = dispatch.start().then(() => {
      newestSlots.clear();
      deadman?.start();
    });
    return { dispatching };
  }

  /** Applies the changes that other coordinators log, and sends the mails that they queue. */
  #followOthers(applier: ChangeApplier, deliverer: Deliverer): void {
    const { clock, log } = this.#parts;
    const cancel = clock.every(FOLLOW_EVERY_MS, () => {
      void applier.applyRemaining();
      deliverer.findQueuedElsewhere().catch((error: unknown) => {
        // The next look tries again.
        log.debug({ error: messageOf(error) }, 'cannot read what other coordinators have queued');
      });
    });
    this.#started.add('following of other coordinators', cancel);
  }

  /**
   * Starts a part, unless the leadership is being stopped. The part is stopped even if its start fails.
   *
   * @throws LeadershipEnded, or the error of the start
   */
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
    // The applier stops first, because it releases callers that wait for effects (requests,
    // the declared file). A waiting caller would delay the stop of its own part.
    this.#applier?.stop();
    await this.#started.stop();
    // A start in progress fails before its next part. Parts
    // that it started after the stop above are stopped below.
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

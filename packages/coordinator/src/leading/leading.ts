import { randomUUID } from 'node:crypto';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { RESIGNED_HINT } from '@svc/shared/messages/subjects.ts';
import { onAbort, pause } from '@svc/shared/waiting.ts';
import type { LedShard } from '../api/api-parts.ts';
import type { ChangeEffects } from '../declaration/configuration.ts';
import { MonitorsInMemory } from '../declaration/live-monitors.ts';
import type { WriteCount } from '../store/shard-lease.ts';
import {
  announceCoordinator,
  livingCoordinators,
  type ShardState,
  shardStates,
  withdrawCoordinator,
  wrongShards,
} from '../store/shards.ts';
import type { Connectedness } from './all-connected.ts';
import { nextShardStep, type ShardStep } from './balance.ts';
import { type LeadershipParts, type NatsConnection, readShard, type ShardData } from './build-leadership.ts';
import type { LeaderServices, Leaders } from './leader-services.ts';
import { Leadership, LeadershipEnded } from './leadership.ts';
import { Lease, Renewals } from './lease.ts';

/**
 * Interval at which a coordinator checks whether the lease of a
 * shard is free, ms. The leader of an only shard does not check.
 */
const LOOK_EVERY_MS = 250;
/**
 * Time without NATS after which a leader gives up its leases, if another
 * coordinator has NATS, ms. NATS servers restart in less time.
 */
const WITHOUT_NATS_MS = 10_000;
/** Time for which a coordinator without NATS leaves a free lease to other coordinators, ms. */
const GIVE_WAY_MS = 5_000;
/** Wait after a failed attempt to lead, or to read the monitors ahead, until the next attempt, ms. */
const TRY_AGAIN_MS = 2_000;

/** Interval at which a coordinator that looks for shards announces that it can lead, ms. */
const ANNOUNCE_EVERY_MS = 1_000;
/** Time after a failed start of a leadership for which a coordinator does not announce itself, ms. */
const SILENT_AFTER_FAILURE_MS = 30_000;

/**
 * Time after the data of a shard were read ahead in vain until they may be read ahead again, ms. On a busy machine, a
 * leader may often be late, and the reading is work for the database.
 */
const AHEAD_AGAIN_MS = 30_000;

type LeadingParts = Omit<LeadershipParts, 'maySend' | 'shard' | 'streams'> & {
  /** The connection for the leadership of a shard. `bus` is for the hints of this object. */
  readonly connectionOf: (shard: number) => NatsConnection;
  /** Whether all connections to NATS are up, those of {@link connectionOf} too. */
  readonly nats: Connectedness;
  /** Number of shards. */
  readonly shardCount: number;
  /** Clock for the leases. It runs at the speed of the database's clock. */
  readonly leaseClock: Clock;
};

/** A leadership, and the lease that allows it to lead. */
type Led = { readonly leadership: Leadership; readonly lease: Lease };

/**
 * The data of a shard, which are read while its leader is late and before its lease expires.
 */
type Ahead = {
  /** What the leader had written when the reading began. The data are of use only if it has written no more. */
  readonly written: WriteCount;
  /** Null: the reading has failed, or was ended. */
  readonly data: Promise<ShardData | null>;
  /** Ends the reading when its data are of no use. It would take CPU time from a take-over. */
  readonly end: () => void;
};

/**
 * Lets this coordinator lead. When the lease of a shard is free, and the shard falls to this coordinator
 * ({@link nextShardStep}), this object takes the lease, and then does the work of a leader. The object can be
 * started and stopped any number of times. Each time it has taken a lease, it makes a new {@link Leadership}.
 *
 *               ┌── lost to another coordinator, given up, or a failure ────┐
 *               ▼                                                          │
 *     off ─▶ looking ── the lease is free: taken ──▶ a leadership starts ──▶ leads
 *      ▲        │                                          │                 │
 *      └────────┴────────────────── stop ──────────────────┴─────────────────┘
 *
 * Each shard goes through these states separately. A coordinator
 * that leads one shard still looks for other shards.
 *
 * A coordinator that leads nothing keeps monitors in memory. When the leader of a shard that would fall to it is late
 * with a renewal, it reads the rest of the shard's data, while the lease expires. If the leader had only been
 * slow, its next write makes these data worthless.
 */
export class Leading implements ChangeEffects, Leaders {
  readonly #parts: LeadingParts;
  /** The id of this coordinator, drawn at random. */
  readonly #coordinator = randomUUID();
  readonly #renewals: Renewals;
  /** The loop that waits for leases, and its abort controller; null: this object is stopped. */
  #looking: { readonly stopping: AbortController; ended: Promise<void> } | null = null;
  /** What is led, or starts to lead, by the id of the shard. */
  readonly #led = new Map<number, Led>();
  /**
   * Services of the last leadership of shard 0 that has ended, until the next one has started. Null if
   * another coordinator may have led since, because the data of these services would be old.
   */
  #lastServices: LeaderServices | null = null;
  /** The data that were read ahead, by the id of the shard. */
  readonly #ahead = new Map<number, Ahead>();
  /** Monotonic instant from which data may be read ahead, ms. */
  #aheadFrom = Number.NEGATIVE_INFINITY;
  /** The monitors of each shard as this coordinator has last read them while it waited. */
  readonly #known = new Map<number, MonitorsInMemory>();
  /** Monotonic instant from which {@link #known} may be read, ms; infinite while it is being read. */
  #readMonitorsFrom = Number.NEGATIVE_INFINITY;
  /** The reading of {@link #known}. It never rejects. */
  #readingMonitors: Promise<void> = Promise.resolve();
  /** Monotonic instant from which this coordinator may announce itself, ms. */
  #announceFrom = Number.NEGATIVE_INFINITY;

  constructor(parts: LeadingParts) {
    this.#parts = parts;
    this.#renewals = new Renewals({ clock: parts.leaseClock, log: parts.log });
  }

  get shardCount(): number {
    return this.#parts.shardCount;
  }

  servicesOf(shard: number): LeaderServices | null {
    return this.#led.get(shard)?.leadership.services ?? (shard === 0 ? this.#lastServices : null);
  }

  leads(shard: number): boolean {
    return this.#led.get(shard)?.leadership.isLeading ?? false;
  }

  /**
   * Whether jobs, alerts and exports are sent: this coordinator
   * leads a shard, and no other coordinator can lead that shard now.
   */
  get maySend(): boolean {
    return [...this.#led.values()].some(({ leadership, lease }) => leadership.isLeading && lease.isTrusted());
  }

  /** The shards, and who leads them; empty while the database cannot be read. */
  async shards(): Promise<readonly LedShard[]> {
    const shards = await shardStates(this.#parts.store).catch(() => []);
    return shards.map(({ id, holder, coordinator, isFree }) => ({
      id,
      holder: isFree ? null : holder,
      isHere: !isFree && coordinator === this.#coordinator,
    }));
  }

  /**
   * Resolves when this coordinator leads, or when other coordinators do. If this coordinator leads
   * a shard, jobs are given out, results are read and the declaration is applied by then. After the
   * start, this coordinator leads each free shard that falls to it. After a failure nothing runs, and
   * `start` may be called again.
   *
   * @throws StoreError, DeclarationError (an invalid declared file at the first start),
   *   LeadershipEnded ({@link stop} was called meanwhile), TypeError (it was started before)
   */
  async start(): Promise<void> {
    if (this.#looking !== null) throw new TypeError('it leads already, or tries to');
    const stopping = new AbortController();
    const looking = { stopping, ended: Promise.resolve() };
    this.#looking = looking;
    try {
      const leading = this.#nextStep().then(({ take }) => this.#take(take, stopping.signal));
      looking.ended = leading.then(
        () => {},
        () => {},
      );
      await leading;
      if (this.#led.size === 0) this.#parts.log.info('other coordinators lead: this one serves the API');
      if (!this.#parts.isAlone) looking.ended = this.#lookOn(stopping.signal);
    } catch (error) {
      await this.#endAll();
      if (this.#looking === looking) this.#looking = null;
      throw error;
    }
  }

  /**
   * Stops leading, and gives up the leases. The method may be
   * called at any time, even during the start, and more than once.
   */
  async stop(): Promise<void> {
    const looking = this.#looking;
    looking?.stopping.abort();
    await this.#endAll();
    await looking?.ended;
    await this.#endAll();
    if (this.#looking === looking) this.#looking = null;
  }

  /**
   * Resolves when the log of changes is applied up to this change, or cannot be applied now.
   * Changes of a shard that this coordinator does not lead wait in the log for the shard's leader.
   */
  async applyUntil(lastChangeId: number): Promise<void> {
    await Promise.all([...this.#led.values()].map(({ leadership }) => leadership.applyUntil(lastChangeId)));
  }

  /** Reads and applies the declared file again, if this coordinator leads shard 0. */
  async reload(): Promise<void> {
    await this.#led.get(0)?.leadership.reload();
  }

  async #giveUp(shard: number): Promise<void> {
    const led = this.#led.get(shard);
    if (led === undefined) return;
    this.#parts.log.info({ shard }, 'another coordinator leads fewer shards: this one gives one up');
    await this.#end(shard, led);
  }

  /**
   * Takes these shards, and starts to lead them.
   *
   * @throws StoreError, DeclarationError, LeadershipEnded
   */
  async #take(shards: readonly number[], signal: AbortSignal): Promise<void> {
    const starts = await Promise.allSettled(shards.map((shard) => this.#lead(shard, signal)));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed !== undefined) {
      this.#announceFrom = this.#parts.leaseClock.monotonic() + SILENT_AFTER_FAILURE_MS;
      throw failed.reason;
    }
  }

  async #nextStep(): Promise<ShardStep> {
    const { store, isAlone, shardCount } = this.#parts;
    if (isAlone) return { take: [0], resign: null };
    await this.#announce();
    const shards = await shardStates(store);
    if (shards.length !== shardCount) throw wrongShards(shards.length, shardCount);
    const living = shardCount === 1 ? [] : await livingCoordinators(store);
    const stepIf = (isFree: (shard: ShardState) => boolean) =>
      nextShardStep(
        // A shard whose leadership is still being stopped in this process does not count as free.
        shards.map((shard) => ({ ...shard, isFree: isFree(shard) && !this.#led.has(shard.id) })),
        living,
        this.#coordinator,
      );
    const falling = stepIf(({ isLapsing }) => isLapsing).take;
    for (const shard of shards) if (!shard.isFree) this.#readAhead(shard, falling.includes(shard.id));
    return stepIf(({ isFree }) => isFree);
  }

  /** Reads the data of a shard that will probably fall to this coordinator, unless they are being read. */
  #readAhead({ id, written }: ShardState, isFalling: boolean): void {
    const { leaseClock, shardCount, log } = this.#parts;
    const ahead = this.#ahead.get(id);
    const isWorthless = ahead?.written.term !== written.term || ahead.written.writes !== written.writes;
    if (ahead !== undefined && isWorthless) {
      ahead.end();
      this.#ahead.delete(id);
      this.#aheadFrom = leaseClock.monotonic() + AHEAD_AGAIN_MS;
    }
    if (!isFalling || !isWorthless || leaseClock.monotonic() < this.#aheadFrom) return;
    // The monitors are being read, and would be read twice.
    const known = this.#known.get(id);
    if (known === undefined && this.#led.size === 0) return;
    log.info({ shard: id }, 'the leader of a shard is late: this coordinator reads its data');
    const shard = { id, count: shardCount };
    const ending = new AbortController();
    const data = readShard({ ...this.#parts, shard }, known, ending.signal).catch((error: unknown) => {
      log.debug({ error: messageOf(error) }, 'the data of a shard were not read ahead');
      return null;
    });
    this.#ahead.set(id, { written, data, end: () => ending.abort() });
  }

  /** Reads the monitors of each shard, once, for a coordinator that leads none. */
  async #readMonitors(): Promise<void> {
    const { store, secrets, shardCount, leaseClock, log } = this.#parts;
    this.#readMonitorsFrom = Number.POSITIVE_INFINITY;
    let waitMs = 0;
    try {
      for (let id = 0; id < shardCount; id += 1) {
        if (this.#known.has(id)) continue;
        const monitors = await new MonitorsInMemory().reload(store, secrets, { id, count: shardCount });
        this.#known.set(id, monitors);
        if (this.#led.size > 0) break;
      }
    } catch (error) {
      waitMs = TRY_AGAIN_MS;
      log.debug({ error: messageOf(error) }, 'cannot read the monitors ahead: svc tries again');
    }
    this.#readMonitorsFrom = leaseClock.monotonic() + waitMs;
  }

  /** Whether another coordinator has NATS, and can lead. */
  async #canAnotherLead(): Promise<boolean> {
    try {
      return (await livingCoordinators(this.#parts.store)).some((id) => id !== this.#coordinator);
    } catch (error) {
      // The next look tries again.
      this.#parts.log.debug({ error: messageOf(error) }, 'cannot read which coordinators can lead');
      return false;
    }
  }

  /**
   * Announces to the other coordinators, at most once a second, that shards may fall to this coordinator.
   * Without NATS this coordinator does not announce itself, so that shards fall to the other coordinators.
   */
  async #announce(): Promise<void> {
    const { store, nats, leaseClock } = this.#parts;
    const now = leaseClock.monotonic();
    if (now < this.#announceFrom || !nats.isConnected) return;
    this.#announceFrom = now + ANNOUNCE_EVERY_MS;
    await announceCoordinator(store, this.#coordinator);
  }

  /**
   * Takes the lease of the shard and starts a leadership, unless another coordinator holds the lease.
   *
   * @throws StoreError, DeclarationError, LeadershipEnded. After an error nothing runs
   */
  async #lead(shard: number, signal: AbortSignal): Promise<void> {
    const { store, isAlone, shardCount, leaseClock: clock } = this.#parts;
    const log = shardCount === 1 ? this.#parts.log : this.#parts.log.child({ shard });
    const ended = Promise.withResolvers<void>();
    const ahead = this.#ahead.get(shard);
    this.#ahead.delete(shard);
    const taken = {
      shard,
      coordinator: this.#coordinator,
      store,
      isAlone,
      renewals: this.#renewals,
      clock,
      log,
      onLost: () => ended.resolve(),
    };
    const unchanged = ahead === undefined ? null : await Lease.take(taken, ahead.written);
    if (unchanged === null) ahead?.end();
    const lease = unchanged ?? (await Lease.take(taken));
    if (lease === null) return;
    const maySend = () => lease.isTrusted();
    const leadership = new Leadership({
      ...this.#parts,
      ...this.#parts.connectionOf(shard),
      shard: { id: shard, count: shardCount },
      store: lease.store,
      maySend,
      log,
    });
    const led = { leadership, lease };
    this.#led.set(shard, led);
    void ended.promise.then(() => {
      log.warn(
        'another coordinator has taken the lease, or the database has lost writes: this one stops leading',
      );
      return this.#end(shard, led);
    });
    try {
      if (signal.aborted) throw new LeadershipEnded();
      if (unchanged === null) await this.#readingMonitors;
      const data = unchanged === null ? await this.#readTaken(shard) : await ahead?.data;
      await leadership.start(data ?? null);
      // The old services would keep the whole former leadership in memory.
      if (shard === 0) this.#lastServices = null;
      log.info({ event: 'leading' }, 'this coordinator leads');
    } catch (error) {
      const isLost = lease.isOver && !signal.aborted;
      await this.#end(shard, led);
      if (!isLost) throw error;
    }
  }

  /**
   * Reads the data of a shard whose lease was taken; null: the leadership reads them itself, part by part. It does so
   * for an only shard without known monitors, because that takes less memory. For one of several shards it would
   * read the newest slots of the monitors of all shards.
   *
   * @throws StoreError
   */
  async #readTaken(id: number): Promise<ShardData | null> {
    const { shardCount: count } = this.#parts;
    const known = this.#known.get(id);
    if (known === undefined && count === 1) return null;
    return readShard({ ...this.#parts, shard: { id, count } }, known);
  }

  /**
   * Leads each free shard that falls to this coordinator, until `signal` is aborted. Never rejects.
   *
   * A coordinator without NATS gives way to the other coordinators: as a leader
   * when one of them has NATS, and otherwise for a few seconds. So if no
   * coordinator has NATS, one of them leads all the same and delivers alerts.
   */
  async #lookOn(signal: AbortSignal): Promise<void> {
    const { store, bus, nats, shardCount, leaseClock: clock, log } = this.#parts;
    /** When NATS was lost, monotonic ms; infinite: NATS is connected. */
    let lostAt = nats.isConnected ? Number.POSITIVE_INFINITY : clock.monotonic();
    const stopWatching = nats.onConnection((isConnected) => {
      lostAt = isConnected ? Number.POSITIVE_INFINITY : clock.monotonic();
    });
    onAbort(signal, stopWatching);
    /**
     * Since when a shard that falls to this coordinator is free,
     * monotonic ms; null: the last look found no such shard.
     */
    let freeSince: number | null = null;
    /** Monotonic instant from which shards are looked at, ms. */
    let lookFrom = Number.NEGATIVE_INFINITY;
    const failed = (error: unknown) => {
      // After a fail-over, what was read before may be ahead of the database.
      for (const ahead of this.#ahead.values()) ahead.end();
      this.#ahead.clear();
      if (signal.aborted) return;
      this.#logFailure(error);
      lookFrom = clock.monotonic() + TRY_AGAIN_MS;
    };
    const starting = new Set<Promise<void>>();
    /** Its abort ends the wait until the next look. */
    let waiting = new AbortController();
    const lookNow = () => waiting.abort();
    const hints = bus.subscribe(RESIGNED_HINT, lookNow);
    onAbort(signal, () => {
      hints.close();
      lookNow();
    });
    while (!signal.aborted) {
      await pause(clock, LOOK_EVERY_MS, waiting.signal);
      waiting = new AbortController();
      if (signal.aborted) break;
      const now = clock.monotonic();
      if (this.#led.size > 0 && now - lostAt >= WITHOUT_NATS_MS && (await this.#canAnotherLead())) {
        log.warn('NATS is away for this coordinator: it stops leading, so that another one can lead');
        await this.#endAll();
        continue;
      }
      if (this.#led.size > 0) this.#known.clear();
      else if (now >= this.#readMonitorsFrom) this.#readingMonitors = this.#readMonitors();
      if (now < lookFrom || (shardCount === 1 && this.#led.size > 0)) continue;
      try {
        const step = await this.#nextStep();
        if (step.take.length === 0) freeSince = null;
        else freeSince ??= now;
        if (freeSince !== null && !nats.isConnected && now - freeSince < GIVE_WAY_MS) continue;
        freeSince = null;
        if (step.resign !== null) await this.#giveUp(step.resign);
        if (step.take.length === 0) continue;
        // Shards that become free a moment later do not wait until these leaderships have started.
        const start = this.#take(step.take, signal).catch(failed);
        starting.add(start);
        void start.then(() => starting.delete(start));
      } catch (error) {
        failed(error);
      }
    }
    await Promise.all(starting);
    // Without this, the other coordinators would leave shards to this one until its announcement has expired.
    await withdrawCoordinator(store, this.#coordinator).catch(() => {});
  }

  readonly #logFailure = (error: unknown): void => {
    this.#parts.log.error({ error: messageOf(error) }, 'this coordinator could not lead: svc tries again');
  };

  async #endAll(): Promise<void> {
    await Promise.all([...this.#led].map(([shard, led]) => this.#end(shard, led)));
  }

  async #end(shard: number, { leadership, lease }: Led): Promise<void> {
    const { isAlone, bus } = this.#parts;
    await leadership.stop();
    await lease.resign();
    if (!isAlone && bus.isConnected) bus.publish(RESIGNED_HINT, '');
    if (this.#led.get(shard)?.leadership !== leadership) return;
    // If another coordinator may lead next, the data of these services would soon be old.
    if (shard === 0) this.#lastServices = isAlone ? (leadership.services ?? this.#lastServices) : null;
    this.#led.delete(shard);
  }
}

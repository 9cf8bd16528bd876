import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  FencedStore,
  LEASE_MS,
  resignShard,
  type ShardTerm,
  takeShard,
  type WriteCount,
} from '../store/shard-lease.ts';
import type { Store } from '../store/store.ts';

/** Interval between two renewals of a lease, ms. Each transaction of the leader renews the lease too. */
export const RENEW_EVERY_MS = 1_000;
/**
 * Time for which the holder of a lease relies on a renewal, ms. It is shorter than the
 * lease, because the holder's jobs, alerts and exports must leave the process before the
 * lease ends, and because the holder's clock may be a little slower than the database's.
 */
const TRUST_MS = LEASE_MS - 500;

/**
 * Knows how long the holder of a lease may assume that no other coordinator leads the shard. The time
 * counts from the beginning of a renewal, because the database may renew the lease at once and answer
 * much later.
 *
 *     begun            renewed by the database    answered
 *       ├──────────────────────┼──────────────────────┤
 *       └── trusted for 3 s ───────────▶|
 *                              └── leased for 3.5 s ───────────▶|
 *
 * All instants are on the monotonic clock, which nobody sets. The monotonic clock stops while the
 * machine is suspended. So a message right after the suspension may be sent twice, under one id.
 * Writes to the database are safe even then, because the database compares the term of the lease.
 */
export class Trust {
  #until = Number.NEGATIVE_INFINITY;

  /**
   * Extends the trust after a renewal.
   *
   * @param begunAt when the renewal began, monotonic ms;
   *   infinite: no other coordinator can ever lead the shard
   */
  renewed(begunAt: number): void {
    this.#until = Math.max(this.#until, begunAt + TRUST_MS);
  }

  isTrusted(now: number): boolean {
    return now < this.#until;
  }
}

/**
 * Renews the leases of a coordinator in one transaction. With a transaction for each lease, 64 shards lost
 * their leaders while a commit took 30 ms, because only one transaction of all coordinators runs at a time.
 */
export class Renewals {
  readonly #parts: { readonly clock: Clock; readonly log: Logger };
  readonly #stores = new Set<FencedStore>();
  #cancel: () => void = () => {};
  #isRenewing = false;

  constructor(parts: { readonly clock: Clock; readonly log: Logger }) {
    this.#parts = parts;
  }

  /**
   * Renews the lease of this store at intervals, until the returned function is called. All stores must be of
   * one database.
   */
  add(store: FencedStore): () => void {
    if (this.#stores.size === 0)
      this.#cancel = this.#parts.clock.every(RENEW_EVERY_MS, () => void this.#renew());
    this.#stores.add(store);
    return () => {
      this.#stores.delete(store);
      if (this.#stores.size === 0) this.#cancel();
    };
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      await FencedStore.renewAll([...this.#stores]);
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, 'could not renew the lease');
    }
    this.#isRenewing = false;
  }
}

export type LeaseParts = {
  /** The id of the shard. */
  readonly shard: number;
  /** The id of this coordinator. */
  readonly coordinator: string;
  readonly store: Store;
  /** Whether no other coordinator can use the database. */
  readonly isAlone: boolean;
  /** Renews the leases of this coordinator. */
  readonly renewals: Renewals;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called once, when a write was refused: see {@link FencedStore}. */
  readonly onLost: () => void;
};

/**
 * A lease that this coordinator has taken. The lease is
 * renewed until the coordinator gives it up or loses it.
 */
export class Lease {
  /** Each transaction of this store renews the lease, or writes nothing when the lease is lost. */
  readonly store: FencedStore;
  readonly #parts: LeaseParts;
  readonly #term: ShardTerm;
  readonly #trust = new Trust();
  #cancelRenewing: () => void = () => {};
  #isOver = false;

  private constructor(parts: LeaseParts) {
    const { shard, store, clock } = parts;
    this.#parts = parts;
    this.#term = { shard, term: randomUUID() };
    this.store = new FencedStore(store, {
      ...this.#term,
      now: () => clock.monotonic(),
      onRenewed: (begunAt) => this.#trust.renewed(begunAt),
      onLost: () => this.#lost(),
    });
  }

  /**
   * Takes the lease; null: another coordinator holds it.
   *
   * @param written see {@link takeShard}
   * @throws StoreError
   */
  static async take(parts: LeaseParts, written?: WriteCount): Promise<Lease | null> {
    const lease = new Lease(parts);
    return (await lease.#take(written)) ? lease : null;
  }

  /** Whether the lease was given up, or lost to another coordinator. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Whether no other coordinator leads the shard now, so that this coordinator may
   * send. Call it after the last wait, right before a job, alert or export is sent.
   */
  isTrusted(): boolean {
    return !this.#isOver && this.#trust.isTrusted(this.#parts.clock.monotonic());
  }

  /**
   * Gives up the lease, so that another coordinator can take it at once. If the database
   * cannot be reached, another coordinator can take it only when the lease has expired.
   */
  async resign(): Promise<void> {
    this.#cancelRenewing();
    if (this.#isOver) return;
    this.#isOver = true;
    const { store, log } = this.#parts;
    await resignShard(store, this.#term).catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'could not give up the lease: it expires by itself'),
    );
  }

  async #take(written?: WriteCount): Promise<boolean> {
    const { store, isAlone, coordinator, renewals, clock } = this.#parts;
    const begunAt = clock.monotonic();
    const holder = `${hostname()}, process ${process.pid}`;
    if (!(await takeShard(store, { ...this.#term, holder, coordinator }, isAlone, written))) return false;
    this.#trust.renewed(isAlone ? Number.POSITIVE_INFINITY : begunAt);
    if (!isAlone) this.#cancelRenewing = renewals.add(this.store);
    return true;
  }

  #lost(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelRenewing();
    this.#parts.onLost();
  }
}

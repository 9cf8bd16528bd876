import { Lease, Renewals } from '@svc/coordinator/leading/lease.ts';
import { StoreError } from '@svc/coordinator/store/errors.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { Commit } from './batches.ts';
import { commitTimes } from './commit-times.ts';
import type { Declared, Logged } from './declared.ts';
import type { Held, Process } from './life.ts';
import { MortalClock } from './mortal-clock.ts';
import { Leaders } from './oracle/leaders.ts';
import type { RewindableOracle } from './oracle/rewindable-oracle.ts';
import { noise } from './random.ts';
import type { RewindableStore } from './rewindable-store.ts';
import { Shard, type ShardRow, ShardStore } from './shard.ts';
import type { CommitTime } from './slow-store.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { World } from './world.ts';

/** Interval at which a coordinator that does not lead tries to take the lease, ms. */
const LOOK_EVERY_MS = 250;
/** If the lease lasts longer than this, its leader renews it each second, ms. */
const LIVELY_MS = 1_500;
/**
 * Time for which results stay in the stream after they
 * were recorded, ms. The database loses no older commits.
 */
const KEPT_MS = 5 * 60_000;
/** Part of the renewals that take as long as a batch. The others take no time. */
const SLOW_RENEWALS = 0.1;
/** Numbers of the dice: what each die decides. */
const [RENEWAL, CUT, RATE, LOOK] = [111, 112, 113, 114] as const;
const NO_TIME: CommitTime = { writeMs: 0, answerMs: 0 };

const log = createLogger('simulation', 'silent');

/** The state right before a batch was written or the lease was taken. The database can be set back to it. */
type Mark = {
  readonly at: number;
  readonly writer: ShardStore;
  readonly isTake: boolean;
  /** The batch; null: the lease was taken, or a start wrote. */
  readonly commit: Commit | null;
  readonly transaction: number;
  readonly writes: number;
  readonly row: ShardRow | null;
  readonly logged: Logged;
};

export type PairParts = {
  readonly world: World;
  readonly clock: VirtualClock;
  readonly processes: readonly Process[];
  readonly store: RewindableStore;
  readonly declared: Declared;
  readonly oracle: RewindableOracle;
  /** Returns the batch that is being written through this store; null: there is no batch. */
  readonly batchOf: (writer: ShardStore) => Commit | null;
  readonly leads: (process: Process) => boolean;
  /** Whether some leader runs and can reach the database. */
  readonly isLed: () => boolean;
  /**
   * Called when a process has taken the lease. The process
   * leads, unless another one has taken the lease since.
   */
  readonly onTaken: (process: Process, held: Held) => void;
  readonly onLost: (store: ShardStore) => void;
};

/**
 * The parts that two coordinators of a world share: the lease
 * of the shard, and a database that may lose its last commits.
 */
export class Pair {
  readonly leaders: Leaders;
  readonly shard: Shard;
  readonly #parts: PairParts;
  readonly #commitTime: (commit: number) => CommitTime;
  #marks: Mark[] = [];
  #isLooking = false;
  #takes = 0;
  #looks = 0;

  constructor(parts: PairParts) {
    const { world, clock, oracle } = parts;
    this.#parts = parts;
    this.shard = new Shard(clock);
    this.leaders = new Leaders(
      (text, at) => oracle.leaders(text, at),
      () => clock.monotonic(),
    );
    this.#commitTime = commitTimes(world);
  }

  /** Lets a process try once to take the lease. */
  async take(process: Process): Promise<void> {
    if (process.up === null || process.isTaking) return;
    process.isTaking = true;
    const clock = new MortalClock(process.up);
    const store = this.#storeFor(process);
    const leaseClock = this.#driftingClock(process.number, clock);
    const lease = await Lease.take({
      store,
      isAlone: false,
      shard: 0,
      coordinator: String(process.number),
      renewals: new Renewals({ clock: leaseClock, log }),
      clock: leaseClock,
      log,
      onLost: () => {
        clock.die();
        this.#parts.onLost(store);
      },
    }).catch((error: unknown) => {
      if (error instanceof StoreError) return null;
      throw error;
    });
    process.isTaking = false;
    if (lease !== null && clock.isAlive) this.#parts.onTaken(process, { lease, store });
  }

  /**
   * Lets coordinators that do not lead try to take the
   * lease, again and again, until a leader renews its lease.
   */
  lookOn(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#parts.clock.after(LOOK_EVERY_MS, () => {
      this.#isLooking = false;
      const { world, processes } = this.#parts;
      this.#looks += 1;
      const isTurned = noise(world.seed, LOOK, 0, this.#looks) < 0.5;
      for (const process of isTurned ? processes.toReversed() : processes)
        if (!process.clock.isFrozen && !this.#parts.leads(process)) void this.take(process);
      const isLively = this.shard.expiresAt > this.#parts.clock.monotonic() + LIVELY_MS;
      if (!isLively || !this.#parts.isLed()) this.lookOn();
    });
  }

  expireLease(): void {
    this.shard.expire();
    this.leaders.mayBeTrusted();
    this.lookOn();
  }

  /**
   * Called when people have changed rows. These rows are not lost:
   * from here on, the database is not set back to an earlier state.
   */
  rowsChanged(): void {
    this.#marks = [];
  }

  /**
   * Lets the database lose the last batches and takes of the lease, `commits` together at most. Returns them.
   */
  setBack(commits: number): {
    readonly batches: ReadonlySet<Commit>;
    readonly takes: ReadonlySet<ShardStore>;
  } {
    const { clock, store, declared } = this.#parts;
    const recent = this.#marks.filter(({ at }) => at > clock.monotonic() - KEPT_MS);
    const lost = recent.slice(-commits);
    const [first] = lost;
    if (first === undefined) return { batches: new Set(), takes: new Set() };
    this.#marks.length -= lost.length;
    this.shard.setBack(first.row, first.transaction);
    store.setBack(first.writes);
    declared.setBack(first.logged);
    this.leaders.setBack(first.row?.term ?? null);
    return {
      batches: new Set(lost.flatMap(({ commit }) => (commit === null ? [] : [commit]))),
      takes: new Set(lost.flatMap(({ isTake, writer }) => (isTake ? [writer] : []))),
    };
  }

  #storeFor(process: Process): ShardStore {
    const { world, clock } = this.#parts;
    this.#takes += 1;
    const take = this.#takes;
    return new ShardStore({
      shard: this.shard,
      network: clock,
      clock: process.clock,
      cutUntil: () => process.cutUntil,
      isLostInCut: (request) => noise(world.seed, CUT, take, request) < 0.5,
      timeOf: (request) => this.#timeOf(take, request),
      onWrite: (writer, isTake) => this.#writes(writer, isTake),
    });
  }

  #timeOf(take: number, request: number): CommitTime {
    if (take === 1 && request === 0) return NO_TIME;
    if (noise(this.#parts.world.seed, RENEWAL, take, request) >= SLOW_RENEWALS) return NO_TIME;
    // If a renewal takes long, the lease may expire.
    this.lookOn();
    return this.#commitTime(1_000_000 + 1_000 * take + request);
  }

  #writes(writer: ShardStore, isTake: boolean): () => void {
    const { clock, store, declared } = this.#parts;
    const before = {
      writer,
      isTake,
      at: clock.monotonic(),
      transaction: this.shard.transactions,
      writes: store.writes,
      row: this.shard.row,
      logged: declared.logged,
    };
    return () => {
      if (isTake) this.leaders.taken(writer);
      else this.leaders.written(writer);
      this.#marks.push({ ...before, commit: isTake ? null : this.#parts.batchOf(writer) });
    };
  }

  /**
   * Makes the clock by which a process measures its lease. The clock runs up to
   * 5 % faster or slower than the database's clock, and begins at a random instant.
   */
  #driftingClock(number: number, clock: Clock): Clock {
    const { seed } = this.#parts.world;
    const rate = 0.95 + 0.1 * noise(seed, RATE, number, 0);
    const offset = 1e9 * noise(seed, RATE, number, 1);
    return {
      wall: () => clock.wall(),
      monotonic: () => offset + rate * clock.monotonic(),
      after: (...timer) => clock.after(...timer),
      every: (...timer) => clock.every(...timer),
    };
  }
}

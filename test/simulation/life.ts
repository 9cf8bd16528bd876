import type { Lease } from '@svc/coordinator/leading/lease.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Report } from './agents.ts';
import type { FreezableClock } from './freezable-clock.ts';
import type { MortalClock } from './mortal-clock.ts';
import type { JudgeOfSlots, Slots } from './oracle/slots.ts';
import type { Service } from './service.ts';
import type { ShardStore } from './shard.ts';

/** Time after a start in which the coordinator waits for one heartbeat of each agent, ms. */
const ROUND_MS = 2_500;
/** Interval at which a start checks whether all earlier reports are recorded, ms. */
const RECORDED_MS = 100;
/** Longest duration of a start, ms. The recorder waits for its end for 30 s, and dispatch ends it earlier. */
const LONGEST_START_MS = 27_000;
/** Maximum number of reports that wait to be recorded. One batch takes all waiting reports. */
const MOST_WAITING = 300;

/** The process of one coordinator. */
export type Process = {
  /** The clock of the process, which stands still together with the process. */
  readonly clock: FreezableClock;
  readonly number: number;
  /**
   * The clock of the running process. It dies with the process, and
   * the next start makes another one. Null: the process is down.
   */
  up: MortalClock | null;
  /** Instant until which nothing passes between the process and the database, monotonic ms. */
  cutUntil: number;
  isTaking: boolean;
};

/** The lease of a life, if there are two coordinators. */
export type Held = { readonly lease: Lease; readonly store: ShardStore };

export type LifeParts = {
  readonly process: Process;
  readonly held: Held | null;
  readonly service: Service;
  /** All reports, in the order in which they reached the stream. */
  readonly stream: readonly Report[];
  readonly slots: SlotsOfLife;
  /** Called when the service reads a report, which it will evaluate. */
  readonly onRead: (report: Report) => void;
  /** Called at each turn of dispatch in which the life may send. */
  readonly onTrust: () => void;
  /** Called when dispatch can begin. The caller must call `resume` before the next commit. */
  readonly onResume: (resume: () => void) => void;
};

/** One life of a coordinator: it reads the stream and dispatches, from its start to its end. */
export class Life {
  readonly service: Service;
  readonly process: Process;
  readonly held: Held | null;
  readonly #parts: LifeParts;
  /** Number of reports that this life has read. */
  #read: number;
  #tickAt = Number.POSITIVE_INFINITY;
  isResumed = false;
  isOver = false;

  constructor(parts: LifeParts) {
    this.#parts = parts;
    this.service = parts.service;
    this.process = parts.process;
    this.held = parts.held;
    this.#read = this.service.position;
    const { clock } = this.process;
    const [before, latestAt] = [parts.stream.length, clock.monotonic() + LONGEST_START_MS];
    clock.after(ROUND_MS, () => this.#resume(before, latestAt));
  }

  /** Whether the process stands still. */
  get isFrozen(): boolean {
    return this.process.clock.isFrozen;
  }

  get hasUnread(): boolean {
    return this.service.isReading && this.#read < this.#parts.stream.length;
  }

  get needsSettling(): boolean {
    return !this.isFrozen && (this.hasUnread || !this.service.isIdle);
  }

  /** Reads reports from the stream, as long as the recorder has room. */
  readMore(): void {
    const { service } = this;
    const { stream, onRead } = this.#parts;
    if (!service.isReading || this.isFrozen) return;
    while (this.#read < stream.length && service.waiting < MOST_WAITING) {
      const report = stream[this.#read] as Report;
      onRead(report);
      this.#read += 1;
      service.record(report, this.#read);
    }
  }

  tickSoon(delayMs: number): void {
    const { clock } = this.process;
    const at = clock.monotonic() + delayMs;
    if (at === this.#tickAt || (at > this.#tickAt && this.#tickAt > clock.monotonic())) return;
    this.#tickAt = at;
    clock.after(delayMs, () => {
      if (this.#tickAt !== at) return;
      this.#tickAt = Number.POSITIVE_INFINITY;
      if (!this.isResumed || this.isOver) return;
      const maySend = this.held?.lease.isTrusted() ?? true;
      if (maySend) this.#parts.onTrust();
      this.#parts.slots.judge(maySend);
      this.tickSoon(Math.max(1, this.service.dispatching.tick()));
    });
  }

  /** Runs the task in the process, if dispatch has begun. */
  dispatch(task: (dispatching: Service['dispatching']) => void): void {
    this.process.clock.run(() => {
      if (this.isResumed && !this.isOver) task(this.service.dispatching);
    });
  }

  regionCame(region: Region): void {
    this.dispatch((dispatching) => dispatching.regionCame(region));
    this.tickSoon(0);
  }

  applyChanges(): void {
    this.process.clock.run(() => {
      if (!this.isOver) void this.service.applyChanges();
    });
  }

  /** Lets the process stand still. */
  freeze(): void {
    this.#parts.slots.judge(false);
    this.process.clock.freeze();
  }

  /** Called when the process continues. */
  wokeUp(): void {
    this.service.wokeUp();
    this.tickSoon(0);
  }

  /**
   * Begins dispatch when the log of changes is applied and the first `before` reports
   * of the stream, which are from before the start, are recorded; or at `latestAt`.
   */
  #resume(before: number, latestAt: number): void {
    const { service } = this;
    const { clock } = this.process;
    if (this.isOver) return;
    if (!(service.isReading && service.position >= before) && clock.monotonic() < latestAt) {
      clock.after(RECORDED_MS, () => this.#resume(before, latestAt));
      return;
    }
    this.#parts.onResume(() => {
      if (this.isOver) return;
      service.resume();
      this.isResumed = true;
      this.tickSoon(0);
    });
  }
}

/**
 * The judge of slots for one life of a coordinator. If there are two
 * coordinators, the life is judged only while it leads and may send.
 */
export class SlotsOfLife implements JudgeOfSlots {
  readonly #slots: Slots;
  readonly #isCurrent: () => boolean;
  /** Returns the declared monitor. Null: there is no other coordinator, so the life is always judged. */
  readonly #monitor: (() => Parameters<Slots['resumed']>[0]) | null;
  #isJudged: boolean;
  #isResumed = false;

  constructor(
    slots: Slots,
    isCurrent: () => boolean,
    monitor: (() => Parameters<Slots['resumed']>[0]) | null,
  ) {
    this.#slots = slots;
    this.#isCurrent = isCurrent;
    this.#monitor = monitor;
    this.#isJudged = monitor === null;
  }

  /** Sets whether the life is judged from now on. */
  judge(isJudged: boolean): void {
    if (this.#monitor === null) return;
    const is = isJudged && this.#isResumed && this.#isCurrent();
    if (is === this.#isJudged) return;
    this.#isJudged = is;
    if (is) this.#slots.resumed(this.#monitor(), true);
    else if (this.#isCurrent()) this.#slots.ended();
  }

  resumed(...of: Parameters<Slots['resumed']>): void {
    this.#isResumed = true;
    if (this.#monitor === null) this.#slots.resumed(...of);
    else this.judge(true);
  }

  opened(...of: Parameters<Slots['opened']>): void {
    if (this.#is) this.#slots.opened(...of);
  }

  offered(...of: Parameters<Slots['offered']>): void {
    if (this.#isCurrent()) this.#slots.offered(...of);
  }

  read(...of: Parameters<Slots['read']>): void {
    if (this.#isCurrent()) this.#slots.read(...of);
  }

  answered(...of: Parameters<Slots['answered']>): void {
    if (this.#isCurrent()) this.#slots.answered(...of);
  }

  skipped(...of: Parameters<Slots['skipped']>): void {
    if (this.#is) this.#slots.skipped(...of);
  }

  declared(...of: Parameters<Slots['declared']>): void {
    if (this.#is) this.#slots.declared(...of);
  }

  get #is(): boolean {
    return this.#isJudged && this.#isCurrent();
  }
}

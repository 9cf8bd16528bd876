import type { Clock } from '@svc/shared/clock.ts';
import { isDue, nextInstant } from '../verdict/next-instant.ts';
import type { MonitorState } from '../verdict/state.ts';
import type { RecorderParts } from './recorder-parts.ts';

/** Shortest delay of the timer, ms. Instants that come within one delay are handled together. */
const COARSENESS_MS = 100;
/**
 * Maximum number of calls of `onDue` each time that the timer fires. The
 * bound is needed because after an outage all ids may be due at once.
 */
const ALARMS_PER_TURN = 2_000;
/** Instant of an id while `onDue` runs for it: no new instant is armed yet. */
const NONE_YET = Number.POSITIVE_INFINITY;

/**
 * A deadline for each id, all on one shared timer. `onDue` may be called early: if an id is armed again for a
 * later instant, its earlier deadline stays. It is called at most `COARSENESS_MS` late, or later if more than
 * `ALARMS_PER_TURN` ids are due at once. `onDue` checks what is really due, and arms the id again.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #onDue: (id: number) => void;
  readonly #heap = new InstantHeap();
  /** The instant for which each id is armed: its earliest entry in the heap. */
  readonly #armed = new Map<number, number>();
  #cancel: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #isRunning = false;

  constructor(clock: Clock, onDue: (id: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Starts the timer. `onDue` is not called before this call. */
  start(): void {
    this.#isRunning = true;
    this.#schedule();
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancel?.();
    this.#cancel = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** @param at monotonic ms */
  arm(id: number, at: number): void {
    const armed = this.#armed.get(id);
    if (armed !== undefined && armed <= at) return;
    this.#armed.set(id, at);
    this.#heap.push(at, id);
    if (this.#isRunning && at < this.#timerAt) this.#schedule();
  }

  #schedule(): void {
    const now = this.#clock.monotonic();
    // No earlier than a delay from now. So an id that is armed for the past does not postpone a timer that is set.
    const at = Math.max(now + COARSENESS_MS, this.#heap.first);
    if (at >= this.#timerAt) return;
    this.#cancel?.();
    this.#timerAt = at;
    this.#cancel = this.#clock.after(at - now, () => this.#fire());
  }

  #fire(): void {
    this.#cancel = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let served = 0; served < ALARMS_PER_TURN; served += 1) {
      const at = this.#heap.first;
      if (at > now) break;
      const id = this.#heap.pop();
      // This entry is obsolete, because the id is no longer armed for this instant.
      if (id === undefined || this.#armed.get(id) !== at) continue;
      this.#alarm(id);
    }
    this.#schedule();
  }

  /**
   * `onDue` usually arms the id again. So the id is not deleted first: deleting
   * and adding it would make the map rebuild its table again and again.
   */
  #alarm(id: number): void {
    this.#armed.set(id, NONE_YET);
    this.#onDue(id);
    if (this.#armed.get(id) === NONE_YET) this.#armed.delete(id);
  }
}

/** Number of places in a new heap. A heap never has fewer places. */
const LEAST_PLACES = 64;

/**
 * Instants with their ids, the earliest first: a binary heap in two arrays of numbers. An entry takes
 * 16 bytes, while an object with two members would take 64 bytes. There may be one or more entries for
 * every monitor.
 */
export class InstantHeap {
  #instants = new Float64Array(LEAST_PLACES);
  #ids = new Float64Array(LEAST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Number of places in memory, used and free. */
  get places(): number {
    return this.#ids.length;
  }

  /** The earliest instant; infinite when the heap is empty. */
  get first(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#instants[0] as number);
  }

  push(instant: number, id: number): void {
    if (this.#size === this.#ids.length) this.#resize(2 * this.#size);
    this.#size += 1;
    this.#rise(this.#size - 1, instant, id);
  }

  /** Removes the earliest entry, and returns its id; undefined: the heap is empty. */
  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const first = this.#ids[0];
    this.#size -= 1;
    this.#sink(this.#instants[this.#size] as number, this.#ids[this.#size] as number);
    // Shrinks when less than a quarter of the places is used, not half. Otherwise adding and removing one
    // entry in turn could copy the arrays each time.
    if (this.#ids.length > LEAST_PLACES && this.#size < this.#ids.length / 4)
      this.#resize(this.#ids.length / 2);
    return first;
  }

  #rise(from: number, instant: number, id: number): void {
    const [instants, ids] = [this.#instants, this.#ids];
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((instants[parent] as number) <= instant) break;
      instants[index] = instants[parent] as number;
      ids[index] = ids[parent] as number;
      index = parent;
    }
    instants[index] = instant;
    ids[index] = id;
  }

  #sink(instant: number, id: number): void {
    const [instants, ids, size] = [this.#instants, this.#ids, this.#size];
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && (instants[child + 1] as number) < (instants[child] as number)) child += 1;
      if (instant <= (instants[child] as number)) break;
      instants[index] = instants[child] as number;
      ids[index] = ids[child] as number;
      index = child;
    }
    instants[index] = instant;
    ids[index] = id;
  }

  #resize(places: number): void {
    const [instants, ids] = [this.#instants, this.#ids];
    this.#instants = new Float64Array(places);
    this.#ids = new Float64Array(places);
    this.#instants.set(instants.subarray(0, this.#size));
    this.#ids.set(ids.subarray(0, this.#size));
  }
}

/**
 * Causes a monitor to be evaluated when the deadline of a slot has passed or votes
 * have expired, even if no report arrives.
 */
export class MonitorDeadlines {
  readonly #parts: Pick<RecorderParts, 'clock' | 'states' | 'slotClock'>;
  readonly #onDue: (monitorId: number) => void;
  readonly #deadlines: Deadlines;
  readonly #ignoreJumps: () => void;

  /**
   * @param onDue called when evaluating the monitor now may change something; at most once each time that the
   *   monitor is armed
   */
  constructor(
    parts: Pick<RecorderParts, 'clock' | 'states' | 'slotClock'>,
    onDue: (monitorId: number) => void,
  ) {
    this.#parts = parts;
    this.#onDue = onDue;
    this.#deadlines = new Deadlines(parts.clock, (id) => this.#lookAt(id));
    this.#ignoreJumps = parts.slotClock.onJump(() => this.armAll());
  }

  /** Starts the deadlines. `onDue` is not called before this call. */
  start(): void {
    this.#deadlines.start();
  }

  stop(): void {
    this.#ignoreJumps();
    this.#deadlines.stop();
  }

  /**
   * Arms all monitors: at the start, at the end of the resumption, and when a jump of the clock has aged
   * votes.
   */
  armAll(): void {
    for (const state of this.#parts.states.values()) this.arm(state, Number.NEGATIVE_INFINITY);
  }

  /**
   * Arms a monitor after its state has changed.
   *
   * @param now the present, ms on the clock of `Vote.expiresAt`;
   *   a vote that expired earlier sets no deadline
   */
  arm(state: Readonly<MonitorState>, now: number): void {
    const at = nextInstant(state, now, this.#parts.slotClock.jumpedMs);
    if (at !== null) this.#deadlines.arm(state.id, at);
  }

  #lookAt(monitorId: number): void {
    const { clock, states, slotClock } = this.#parts;
    const state = states.get(monitorId);
    if (state === undefined) return;
    const monotonic = clock.monotonic();
    const { jumpedMs } = slotClock;
    if (isDue(state, monotonic, jumpedMs)) this.#onDue(monitorId);
    else this.arm(state, monotonic + jumpedMs);
  }
}

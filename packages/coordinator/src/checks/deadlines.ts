import type { Clock } from '@svc/shared/clock.ts';
import { InstantHeap } from './instant-heap.ts';

/** Instants closer together than this share one timer, ms. */
const COARSENESS_MS = 100;
/** Most alarms in one turn of the event loop, because all of them may be due at once after an outage. */
const ALARMS_PER_TURN = 2_000;
/** The instant of an id whose alarm is under way. */
const NONE_YET = Number.POSITIVE_INFINITY;

/**
 * One alarm for each id on one shared timer: a heap of the instants at which something must be looked at. An
 * alarm may come early, because it is not removed when the id's instant moves on. It never comes late.
 * `onDue` looks at what is due and arms the id anew.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #onDue: (id: number) => void;
  readonly #heap = new InstantHeap();
  /** Earliest entry of each id in the heap. */
  readonly #armed = new Map<number, number>();
  #cancel: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #isRunning = false;

  constructor(clock: Clock, onDue: (id: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Alarms wait until this is called. */
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
    const { first } = this.#heap;
    if (first >= this.#timerAt) return;
    this.#cancel?.();
    const delay = Math.max(COARSENESS_MS, first - this.#clock.monotonic());
    this.#timerAt = this.#clock.monotonic() + delay;
    this.#cancel = this.#clock.after(delay, () => this.#fire());
  }

  #fire(): void {
    this.#cancel = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    for (let served = 0; served < ALARMS_PER_TURN; served += 1) {
      const at = this.#heap.first;
      if (at > now) break;
      const id = this.#heap.pop();
      // An entry that an earlier one of the same id replaced says nothing.
      if (id === undefined || this.#armed.get(id) !== at) continue;
      this.#alarm(id);
    }
    this.#schedule();
  }

  /** Mostly the alarm arms the id anew. To remove each id first would make the map's table grow again and again. */
  #alarm(id: number): void {
    this.#armed.set(id, NONE_YET);
    this.#onDue(id);
    if (this.#armed.get(id) === NONE_YET) this.#armed.delete(id);
  }
}

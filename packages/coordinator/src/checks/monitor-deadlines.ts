import { isDue, nextInstant } from '../verdict/next-instant.ts';
import type { MonitorState } from '../verdict/state.ts';
import { Deadlines } from './deadlines.ts';
import type { RecorderParts } from './recorder-parts.ts';

/**
 * Makes sure that each monitor is looked at when its slots are over and its votes have aged, although nothing
 * arrives.
 */
export class MonitorDeadlines {
  readonly #parts: Pick<RecorderParts, 'clock' | 'states' | 'slotClock'>;
  readonly #onDue: (monitorId: number) => void;
  readonly #deadlines: Deadlines;
  readonly #ignoreJumps: () => void;

  /**
   * @param onDue called when looking at the monitor now may change something; once for each time that it is
   *   armed
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

  /** Deadlines wait until this is called. */
  start(): void {
    this.#deadlines.start();
  }

  stop(): void {
    this.#ignoreJumps();
    this.#deadlines.stop();
  }

  /** Arms all monitors: at the start, and when a jump has aged votes. */
  armAll(): void {
    for (const state of this.#parts.states.values()) this.arm(state, Number.NEGATIVE_INFINITY);
  }

  /**
   * Arms a monitor after its state changed. `now`: votes that expired before it are not looked at again, ms
   * on the clock of their `expiresAt`.
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

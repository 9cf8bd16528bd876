/** Work that must end by some time. */
export interface Bounded {
  /** Called when the time is up, after everything that had arrived by then was read. */
  onDeadline(): void;
}

/**
 * The time-out of one attempt. It lets go of the attempt when it is ended: Node's timers may live on until the next full
 * collection of garbage (decision 0020).
 */
export class Deadline {
  #bounded: Bounded | undefined;
  readonly #timer: NodeJS.Timeout;

  /** @param ms from now, > 0 */
  constructor(bounded: Bounded, ms: number) {
    this.#bounded = bounded;
    this.#timer = setTimeout(Deadline.#due, ms, this);
  }

  /** May be called twice. */
  end(): void {
    this.#bounded = undefined;
    clearTimeout(this.#timer);
  }

  static #due(deadline: Deadline): void {
    afterReading(() => deadline.#bounded?.onDeadline());
  }
}

/**
 * Runs `task` after everything that has arrived by now was read. Timers of time-outs use it.
 *
 * After a stall, the event loop runs due timers before it reads its sockets, so an answer that came in time
 * may still lie there. `task` runs in the check phase, which follows the poll phase that reads it
 * (https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick). `task` itself must find out
 * when it is not needed any more.
 */
export function afterReading(task: () => void): void {
  setImmediate(task);
}

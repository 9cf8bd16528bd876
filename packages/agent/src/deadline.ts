/** Work with a time limit. */
export interface Bounded {
  /** Called when the time is up, after everything that had arrived by then was read. */
  onDeadline(): void;
}

/**
 * The time limit of an attempt, of dialling or of a DNS question. `end` drops the reference to the
 * work, because Node's timers may live until the next full garbage collection (decision 0020).
 */
export class Deadline {
  #bounded: Bounded | undefined;
  readonly #timer: NodeJS.Timeout;

  /** @param ms time from now, > 0 */
  constructor(bounded: Bounded, ms: number) {
    this.#bounded = bounded;
    this.#timer = setTimeout(Deadline.#due, ms, this);
  }

  /** Ends the time limit. It may be called twice. */
  end(): void {
    this.#bounded = undefined;
    clearTimeout(this.#timer);
  }

  static #due(deadline: Deadline): void {
    afterReading(() => deadline.#bounded?.onDeadline());
  }
}

/**
 * Runs `task` after the event loop has read everything that has arrived
 * by now. A timer that decides that no answer came runs its task through this function.
 *
 * After a stall, the event loop runs due timers before it reads its sockets, so an answer that
 * came in time may still be unread. `task` runs in the check phase, after the poll phase has read
 * the answer (https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick). The
 * answer may have made `task` unnecessary, so `task` itself must check this.
 */
export function afterReading(task: () => void): void {
  setImmediate(task);
}

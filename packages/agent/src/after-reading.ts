/**
 * For the timer of a time-out: runs `task` once what had arrived by then has been read.
 *
 * After a stall the event loop runs timers that are due before it reads its sockets, so an answer that came in time may
 * still lie there. The check phase, where `task` runs, comes after the poll phase that reads it
 * (https://nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick). `task` finds out for itself that it is not
 * needed any more.
 */
export function afterReading(task: () => void): void {
  setImmediate(task);
}

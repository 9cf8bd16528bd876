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

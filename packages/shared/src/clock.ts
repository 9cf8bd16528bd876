/**
 * Time and timers, injected so that tests decide when time passes.
 *
 * `wall` may jump when the system clock is set; `monotonic` never goes back and has an arbitrary
 * origin, so it serves only for durations.
 */
export interface Clock {
  /** Epoch milliseconds. */
  wall(): number;
  /** Milliseconds since an arbitrary origin, fractional. */
  monotonic(): number;
  /** Runs `task` once after `delayMs`. The returned function cancels the task and may be called twice. */
  after(delayMs: number, task: () => void): () => void;
  /** Runs `task` every `intervalMs`, until the returned function is called. */
  every(intervalMs: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
  every(intervalMs, task) {
    const timer = setInterval(task, intervalMs);
    return () => clearInterval(timer);
  },
};

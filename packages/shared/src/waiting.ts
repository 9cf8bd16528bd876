import type { Clock } from './clock.ts';

/**
 * Calls `task` when `signal` aborts, or at once when it is already aborted. The returned function unregisters
 * the task and may be called twice.
 *
 * Thousands of attempts listen to one signal, and an `EventTarget` walks its whole list of listeners to
 * remove one listener. So each signal gets a single listener, and the tasks are in a list of this module.
 */
export function onAbort(signal: AbortSignal | undefined, task: () => void): () => void {
  if (signal === undefined) return nothing;
  if (signal.aborted) {
    task();
    return nothing;
  }
  let registrations = registrationsOf.get(signal);
  if (registrations === undefined) {
    registrations = [];
    registrationsOf.set(signal, registrations);
    const all = registrations;
    signal.addEventListener('abort', () => runAll(all), { once: true });
  }
  const all = registrations;
  const registration: Registration = { task, index: all.length };
  all.push(registration);
  return () => unregister(all, registration);
}

/** Resolves when `signal` aborts, or at once when it is already aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  onAbort(signal, resolve);
  return promise;
}

type Registration = {
  task: () => void;
  /** Index of the registration in the list; -1 when it has left the list. */
  index: number;
};

/**
 * The registrations of each signal. They are an array and not a `Set`: a set under constant change leaves its
 * outgrown tables behind, which keep thousands of finished attempts alive until the next full collection
 * (measured: 50 MiB at 10,000 a second, and a tenth of the CPU for copying them).
 */
const registrationsOf = new WeakMap<AbortSignal, Registration[]>();

const nothing = (): void => {};

/** Removes a registration. The last registration takes its place, because the order does not matter. */
function unregister(all: Registration[], registration: Registration): void {
  const { index } = registration;
  if (index === -1) return;
  registration.index = -1;
  const last = all.pop();
  if (last === undefined || last === registration) return;
  last.index = index;
  all[index] = last;
}

function runAll(all: Registration[]): void {
  for (let next = all.pop(); next !== undefined; next = all.pop()) {
    next.index = -1;
    next.task();
  }
}

/**
 * Resolves after `ms`, or when `signal` aborts, or at once when it is already aborted. Neither
 * a timer nor a listener remains.
 */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const unregister = onAbort(signal, resolve);
  await promise;
  cancel();
  unregister();
}

const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/**
 * The waits between the tries of one task. The first wait is 1 s. Each further wait is twice as long, up to
 * 60 s.
 */
export class GrowingWaits {
  readonly #clock: Clock;
  #tries = 0;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of tries that failed since the last {@link endWait}. */
  get tries(): number {
    return this.#tries;
  }

  /** Whether a task waits for its next try. */
  get isWaiting(): boolean {
    return this.#cancel !== null;
  }

  /** Runs `task` after the next wait, and returns the length of that wait, ms. Call it after a failed try. */
  scheduleRetry(task: () => void): number {
    this.#cancel?.();
    const waitMs = Math.min(SHORTEST_MS * 2 ** this.#tries, LONGEST_MS);
    this.#tries += 1;
    this.#cancel = this.#clock.after(waitMs, () => {
      this.#cancel = null;
      task();
    });
    return waitMs;
  }

  /** Ends the wait. The next wait is the shortest again. */
  endWait(): void {
    this.#tries = 0;
    this.#cancel?.();
    this.#cancel = null;
  }
}

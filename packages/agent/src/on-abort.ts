/**
 * Calls `task` when `signal` aborts; at once when it already has. The returned function unregisters
 * and may be called twice.
 *
 * Thousands of attempts hang on one signal, and an `EventTarget` walks its list of listeners to remove
 * one. So each signal gets a single listener of ours and a set beside it.
 */
export function onAbort(signal: AbortSignal | undefined, task: () => void): () => void {
  if (signal === undefined) return nothing;
  if (signal.aborted) {
    task();
    return nothing;
  }
  let tasks = tasksOf.get(signal);
  if (tasks === undefined) {
    tasks = new Set();
    tasksOf.set(signal, tasks);
    const all = tasks;
    signal.addEventListener('abort', () => runAll(all), { once: true });
  }
  const registered = tasks;
  // A set holds each function once; the wrapper keeps two registrations of one function apart.
  const entry = () => task();
  registered.add(entry);
  return () => registered.delete(entry);
}

const tasksOf = new WeakMap<AbortSignal, Set<() => void>>();

const nothing = (): void => {};

function runAll(tasks: Set<() => void>): void {
  for (const task of tasks) {
    tasks.delete(task);
    task();
  }
}

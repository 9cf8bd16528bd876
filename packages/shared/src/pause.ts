import type { Clock } from './clock.ts';
import { onAbort } from './on-abort.ts';

/**
 * Resolves after `ms` or when `signal` aborts; at once when it already has. It leaves neither a timer nor a
 * listener.
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

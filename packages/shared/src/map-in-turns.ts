import { setImmediate } from 'node:timers/promises';

/** Longest time that one piece of work holds the event loop, ms. */
const TURN_MS = 5;

/** Like `map`, but lets the event loop turn after each few milliseconds of work. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => R,
): Promise<R[]> {
  const mapped: R[] = [];
  let began = performance.now();
  for (const [index, item] of items.entries()) {
    if (performance.now() - began >= TURN_MS) {
      await setImmediate();
      began = performance.now();
    }
    mapped.push(map(item, index));
  }
  return mapped;
}

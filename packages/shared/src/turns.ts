import { setImmediate } from 'node:timers/promises';

/** How long one piece of work may hold the event loop before it lets it turn, ms. */
const TURN_MS = 5;

/** As `map`, but lets the event loop turn whenever it was held for some milliseconds. */
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

import { setImmediate } from 'node:timers/promises';

/** Appends the value to the list of its key. */
export function appendTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** Time for which work may hold the thread before the event loop gets a turn, ms. */
const TURN_MS = 5;

/** Like `map`, but gives the event loop a turn after every {@link TURN_MS} of work. */
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

/** Lets long work give the event loop turns. */
export class Turns {
  #began = performance.now();

  /** Gives a turn when {@link TURN_MS} have passed since the last turn. */
  async giveTurn(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}

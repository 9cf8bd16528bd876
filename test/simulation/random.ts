/**
 * Random numbers from a seed: the same seed gives the same world on every machine. It is a linear congruence
 * mixed by the finalizer of MurmurHash3, which is good enough for dice.
 */
export class Random {
  #state: number;

  /** @param seed integer */
  constructor(seed: number) {
    this.#state = mix(seed | 0) ^ Math.trunc(seed / 2 ** 32);
  }

  /** Returns a number from 0 up to, not including, 1. */
  next(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) | 0;
    return (mix(this.#state) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** Returns an integer from `least` to `most`, both included, spread evenly over the orders of magnitude. */
  logarithmic(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.next());
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @param list not empty */
  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)] as T;
  }

  /** Returns `count` different members, in the order of the list. */
  sample<T>(list: readonly T[], count: number): T[] {
    const rest = list.map((_, index) => index);
    const taken: number[] = [];
    while (taken.length < count && rest.length > 0) {
      taken.push(rest.splice(this.between(0, rest.length - 1), 1)[0] as number);
    }
    return taken.sort((a, b) => a - b).map((index) => list[index] as T);
  }
}

/**
 * A die that shows the same number for the same question, from 0 up to, not including, 1. A region's
 * behaviour in a slot does not change when another part is removed from the world, so a story can be
 * shortened.
 */
export function noise(seed: number, kind: number, region: number, slot: number): number {
  const high = Math.floor(slot / 2 ** 24) | 0;
  const low = (slot % 2 ** 24) | 0;
  return (mix(mix(mix(mix(seed | 0) + kind) + region) + Math.imul(high, 31) + low) >>> 0) / 2 ** 32;
}

function mix(value: number): number {
  let hash = (value + 0x9e3779b9) | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

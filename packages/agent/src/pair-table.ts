/** Places for pairs in the first table; a power of two. */
const FIRST_PLACES = 1_024;
/** Part of the places that may be taken. */
const MOST_TAKEN = 0.75;

/** Numbers of a pair are whole, at least 0, and below this. */
export const PAIR_LIMIT = 2 ** 32;

/**
 * Pairs of numbers, in 8 bytes each and some free places: an agent that many monitors share remembers hundreds of
 * thousands. An open-addressed table, in which nothing is removed. A place whose first number is 0 is free.
 */
export class PairTable {
  readonly #isMap: boolean;
  #places = new Uint32Array(2 * FIRST_PLACES);
  #size = 0;

  /** @param kind `map`: there is one pair for each first number; `set`: there may be several */
  constructor(kind: 'map' | 'set') {
    this.#isMap = kind === 'map';
  }

  get size(): number {
    return this.#size;
  }

  has(first: number, second: number): boolean {
    const at = this.#placeOf(first, second);
    return this.#places[at] === first && this.#places[at + 1] === second;
  }

  /** The second number of the pair in a map; undefined: there is none. */
  get(first: number): number | undefined {
    const at = this.#placeOf(first, 0);
    return this.#places[at] === first ? this.#places[at + 1] : undefined;
  }

  /**
   * Adds the pair. In a map it replaces the one with the same first number.
   *
   * @param first >= 1
   */
  put(first: number, second: number): void {
    const at = this.#placeOf(first, second);
    const isNew = this.#places[at] === 0;
    this.#places[at] = first;
    this.#places[at + 1] = second;
    if (!isNew) return;
    this.#size += 1;
    if (2 * this.#size > this.#places.length * MOST_TAKEN) this.#grow();
  }

  /** Index of the pair, or of the free place where it belongs. */
  #placeOf(first: number, second: number): number {
    const places = this.#places;
    const isMap = this.#isMap;
    const last = places.length - 1;
    let at = (2 * hashOf(first, isMap ? 0 : second)) & last;
    while (places[at] !== 0 && (places[at] !== first || !(isMap || places[at + 1] === second)))
      at = (at + 2) & last;
    return at;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Uint32Array(2 * before.length);
    for (let from = 0; from < before.length; from += 2) {
      const [first = 0, second = 0] = [before[from], before[from + 1]];
      if (first === 0) continue;
      const at = this.#placeOf(first, second);
      this.#places[at] = first;
      this.#places[at + 1] = second;
    }
  }
}

/** 32 bits, each of which every bit of both numbers changes (the last steps of MurmurHash3). */
function hashOf(first: number, second: number): number {
  let hash = Math.imul(first, 0x9e37_79b1) ^ second;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

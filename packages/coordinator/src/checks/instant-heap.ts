/** Places at first. */
const LEAST_PLACES = 64;

/**
 * Instants with an id each, the earliest first: a binary heap in two columns of numbers. It takes 16 bytes for each, where
 * objects with two members take 64: there is one for every monitor.
 */
export class InstantHeap {
  #instants = new Float64Array(LEAST_PLACES);
  #ids = new Float64Array(LEAST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Places in memory, used and free. */
  get places(): number {
    return this.#ids.length;
  }

  /** The earliest instant; infinite when there is none. */
  get first(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#instants[0] as number);
  }

  push(instant: number, id: number): void {
    if (this.#size === this.#ids.length) this.#resize(2 * this.#size);
    this.#size += 1;
    this.#rise(this.#size - 1, instant, id);
  }

  /** Takes the earliest out. @returns its id; undefined: there is none */
  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const first = this.#ids[0];
    this.#size -= 1;
    this.#sink(this.#instants[this.#size] as number, this.#ids[this.#size] as number);
    // Far fewer than half, so that one more or less does not copy all of them each time.
    if (this.#ids.length > LEAST_PLACES && this.#size < this.#ids.length / 4)
      this.#resize(this.#ids.length / 2);
    return first;
  }

  #rise(from: number, instant: number, id: number): void {
    const [instants, ids] = [this.#instants, this.#ids];
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((instants[parent] as number) <= instant) break;
      instants[index] = instants[parent] as number;
      ids[index] = ids[parent] as number;
      index = parent;
    }
    instants[index] = instant;
    ids[index] = id;
  }

  #sink(instant: number, id: number): void {
    const [instants, ids, size] = [this.#instants, this.#ids, this.#size];
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && (instants[child + 1] as number) < (instants[child] as number)) child += 1;
      if (instant <= (instants[child] as number)) break;
      instants[index] = instants[child] as number;
      ids[index] = ids[child] as number;
      index = child;
    }
    instants[index] = instant;
    ids[index] = id;
  }

  #resize(places: number): void {
    const [instants, ids] = [this.#instants, this.#ids];
    this.#instants = new Float64Array(places);
    this.#ids = new Float64Array(places);
    this.#instants.set(instants.subarray(0, this.#size));
    this.#ids.set(ids.subarray(0, this.#size));
  }
}

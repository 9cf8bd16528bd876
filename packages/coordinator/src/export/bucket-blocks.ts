import { withRoom } from './columns.ts';

const SMALLEST = 8;
const FIRST_ROOM = 1_024;

/**
 * Buckets of many histograms in one array: each has a block of 8, 16, 32… buckets, of which it uses those at the beginning.
 * The size of a block follows from its length, so it is kept nowhere.
 */
export class BucketBlocks {
  /** A bucket holds 4 thousand million values: at a value every 30 s, that takes 4,000 years. */
  buckets = new Uint32Array(FIRST_ROOM);
  readonly #largest: number;
  /** Starts of blocks that nobody uses, by size. */
  readonly #unused = new Map<number, number[]>();
  #end = 0;

  /** @param largest length of any block */
  constructor(largest: number) {
    this.#largest = largest;
  }

  /**
   * Makes a block longer: `before` empty buckets go before those that it has, the others after them.
   *
   * @param start means nothing where `length` is 0: there is no block yet
   * @returns the new start
   */
  widened(start: number, length: number, to: { readonly before: number; readonly length: number }): number {
    const size = this.#sizeOf(length);
    const isKept = size === this.#sizeOf(to.length);
    const made = isKept ? start : this.#take(this.#sizeOf(to.length));
    const moved = made + to.before;
    if (moved !== start) this.buckets.copyWithin(moved, start, start + length);
    this.buckets.fill(0, made, moved);
    this.buckets.fill(0, moved + length, made + to.length);
    if (!isKept) this.free(start, length);
    return made;
  }

  /** @returns the new start */
  shortened(start: number, length: number, shorter: number): number {
    const size = this.#sizeOf(shorter);
    if (size === this.#sizeOf(length)) return start;
    const made = this.#take(size);
    this.buckets.copyWithin(made, start, start + shorter);
    this.free(start, length);
    return made;
  }

  free(start: number, length: number): void {
    const size = this.#sizeOf(length);
    if (size === 0) return;
    const unused = this.#unused.get(size);
    if (unused === undefined) this.#unused.set(size, [start]);
    else unused.push(start);
  }

  #take(size: number): number {
    const unused = this.#unused.get(size)?.pop();
    if (unused !== undefined) return unused;
    const start = this.#end;
    this.#end += size;
    this.buckets = withRoom(this.buckets, this.#end);
    return start;
  }

  /** Of the block of so many buckets; 0: there is none. */
  #sizeOf(length: number): number {
    if (length === 0) return 0;
    let size = SMALLEST;
    while (size < length) size *= 2;
    return Math.min(size, this.#largest);
  }
}

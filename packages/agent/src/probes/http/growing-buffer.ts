/**
 * Bytes that are collected piece by piece in a buffer that doubles. However small the pieces are, it holds at
 * most about twice the collected bytes; a list of pieces would cost some hundred bytes for each.
 */
export class GrowingBuffer {
  readonly #limit: number;
  #bytes = EMPTY;
  #length = 0;

  /** @param limit bytes that the caller will not exceed; the last doubling stops there */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** How much the next {@link append} of `size` bytes would make the buffer grow. */
  growthFor(size: number): number {
    const needed = this.#length + size;
    return needed <= this.#bytes.length ? 0 : this.#capacityFor(needed) - this.#bytes.length;
  }

  append(source: Buffer, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(this.#capacityFor(needed));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    if (end - start > FEW) {
      source.copy(this.#bytes, this.#length, start, end);
    } else {
      // A call into C++ costs more than copying a few bytes.
      for (let index = start; index < end; index += 1) {
        this.#bytes[this.#length + index - start] = source[index] ?? 0;
      }
    }
    this.#length = needed;
  }

  /** The bytes so far, not copied: valid until the next {@link append}. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#bytes = EMPTY;
    this.#length = 0;
  }

  #capacityFor(size: number): number {
    if (size <= SMALLEST) return SMALLEST;
    return Math.min(2 ** Math.ceil(Math.log2(size)), Math.max(size, this.#limit));
  }
}

const EMPTY = Buffer.alloc(0);
const SMALLEST = 1_024;
const FEW = 16;

import { SvcError } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';

/** The memory of {@link KeptBodies} is used up. This is the agent's fault, not the target's. */
export class NoRoomError extends SvcError {
  constructor() {
    super('ENOROOM', 'the memory for kept response bodies is used up');
  }
}

/**
 * A budget of memory, in bytes, for all response bodies that are
 * kept for assertions, and for all heads that come in pieces.
 */
export class KeptBodies {
  #free: number;

  constructor(limitBytes: number = LIMITS.keptBodiesBytes) {
    this.#free = limitBytes;
  }

  get freeBytes(): number {
    return this.#free;
  }

  /** Takes `bytes` from the budget and returns true. If less is left, takes nothing and returns false. */
  tryTake(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** The bytes of one body or head. Their memory is taken from the shared budget. */
export class KeptBytes {
  readonly #budget: KeptBodies;
  readonly #bytes: GrowingBuffer;
  #taken = 0;

  /** @param limit maximum number of bytes that the caller appends */
  constructor(budget: KeptBodies, limit: number) {
    this.#budget = budget;
    this.#bytes = new GrowingBuffer(limit);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /**
   * Appends a copy of `source[start, end)` and returns true. If
   * the budget is too small, copies nothing and returns false.
   */
  tryAppend(source: Buffer, start: number, end: number): boolean {
    const growth = this.#bytes.growthFor(end - start);
    if (!this.#budget.tryTake(growth)) return false;
    this.#taken += growth;
    this.#bytes.append(source, start, end);
    return true;
  }

  /** The bytes, not copied. They are valid until the next {@link tryAppend}. */
  view(): Buffer {
    return this.#bytes.view();
  }

  release(): void {
    this.#bytes.clear();
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }
}

/**
 * Collects bytes piece by piece in a buffer that doubles. However small the pieces are, the buffer has 1 KiB
 * or at most about twice the size of the collected bytes. A list would take some hundred bytes for each piece.
 */
export class GrowingBuffer {
  readonly #limit: number;
  #bytes = EMPTY;
  #length = 0;

  /** @param limit maximum number of bytes that the caller appends; the buffer does not double beyond this */
  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** Number of bytes by which the buffer would grow if `size` bytes were appended next. */
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

  /** The bytes that were appended so far, not copied. They are valid until the next {@link append}. */
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

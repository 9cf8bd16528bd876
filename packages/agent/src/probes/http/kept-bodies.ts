import { SvcError } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { GrowingBuffer } from './growing-buffer.ts';

/** The memory of {@link KeptBodies} is used up. The agent lacks it, not the target. */
export class NoRoomError extends SvcError {
  constructor() {
    super('ENOROOM', 'the memory for kept response bodies is used up');
  }
}

/** The memory, in bytes, that all response bodies kept for assertions share with heads that come in pieces. */
export class KeptBodies {
  #free: number;

  constructor(limitBytes: number = LIMITS.keptBodiesBytes) {
    this.#free = limitBytes;
  }

  get freeBytes(): number {
    return this.#free;
  }

  /** Takes `bytes`, or nothing when less is left. */
  tryTake(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** The bytes of one body, which are charged to the shared memory. */
export class KeptBytes {
  readonly #budget: KeptBodies;
  readonly #bytes: GrowingBuffer;
  #taken = 0;

  /** @param limit bytes that the caller will not exceed */
  constructor(budget: KeptBodies, limit: number) {
    this.#budget = budget;
    this.#bytes = new GrowingBuffer(limit);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Copies `source[start, end)`, or nothing when no memory is left for it. */
  tryAppend(source: Buffer, start: number, end: number): boolean {
    const growth = this.#bytes.growthFor(end - start);
    if (!this.#budget.tryTake(growth)) return false;
    this.#taken += growth;
    this.#bytes.append(source, start, end);
    return true;
  }

  /** The bytes without a copy, valid until the next {@link tryAppend}. */
  view(): Buffer {
    return this.#bytes.view();
  }

  release(): void {
    this.#bytes.clear();
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }
}

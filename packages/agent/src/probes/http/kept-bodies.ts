import { SvcError } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { GrowingBuffer } from './growing-buffer.ts';

/** The memory that {@link KeptBodies} has is used up: our lack, not the target's. */
export class NoRoomError extends SvcError {
  constructor() {
    super('ENOROOM', 'the memory for kept response bodies is used up');
  }
}

/** The memory that all response bodies kept for assertions, and heads that come in pieces, share; in bytes. */
export class KeptBodies {
  #free: number;

  constructor(limitBytes: number = LIMITS.keptBodiesBytes) {
    this.#free = limitBytes;
  }

  get freeBytes(): number {
    return this.#free;
  }

  /** Takes `bytes` of it, or nothing when that much is not left. */
  tryTake(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

/** Bytes of one body, paid for from the memory that all share. */
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

  /** Copies `source[start, end)`, or nothing when there is no memory left for it. */
  tryAppend(source: Buffer, start: number, end: number): boolean {
    const growth = this.#bytes.growthFor(end - start);
    if (!this.#budget.tryTake(growth)) return false;
    this.#taken += growth;
    this.#bytes.append(source, start, end);
    return true;
  }

  /** Not copied: valid until the next {@link tryAppend}. */
  view(): Buffer {
    return this.#bytes.view();
  }

  /** As UTF-8, without byte order mark. */
  text(): string {
    const text = this.view().toString('utf8');
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  release(): void {
    this.#bytes.clear();
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }
}

const BYTE_ORDER_MARK = 0xfeff;

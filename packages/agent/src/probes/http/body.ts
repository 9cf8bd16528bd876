import { LIMITS } from '@svc/shared/limits.ts';
import { type KeptBodies, KeptBytes } from './kept-bodies.ts';

/** How a body ended, or why the rest of it is not needed. */
export type BodyEnd =
  | { kind: 'complete' }
  /** The body has more than 2 MiB, and the rest is not kept. */
  | { kind: 'truncated' }
  /** The memory that all kept bodies share is used up. */
  | { kind: 'no-room' }
  | { kind: 'undecodable'; message: string };

export interface BodyListener {
  /**
   * Called when the body needs no more bytes, although more come. The
   * listener must write no more. A call of {@link onBodyEnd} follows.
   */
  onBodyFull(): void;
  /** Called once, when the body has ended, possibly from within `write` or `end`. */
  onBodyEnd(end: BodyEnd): void;
}

/** Receives a response's body as it comes from the connection. */
export interface BodySink {
  /** Handles the bytes `[start, end)` of `bytes`. It copies those that it needs. */
  write(bytes: Buffer, start: number, end: number): void;
  /** Handles the end of the body. */
  end(): void;
  /** The kept bytes, not copied. They are valid until {@link release}. */
  bytes(): Buffer;
  /** Frees the memory. The body calls no listener after this. */
  release(): void;
}

/**
 * Counts the bytes of a body and keeps none of them. It is for checks without an assertion about the body.
 */
export class CountedBody implements BodySink {
  readonly #listener: BodyListener;
  #count = 0;

  constructor(listener: BodyListener) {
    this.#listener = listener;
  }

  write(_bytes: Buffer, start: number, end: number): void {
    this.#count += end - start;
    if (this.#count > LIMITS.responseBodyBytes) truncate(this.#listener);
  }

  end(): void {
    this.#listener.onBodyEnd(COMPLETE);
  }

  bytes(): Buffer {
    return NO_BYTES;
  }

  release(): void {}
}

/** Keeps the first 2 MiB of a body. */
export class KeptBody implements BodySink {
  readonly #listener: BodyListener;
  readonly #bytes: KeptBytes;

  constructor(listener: BodyListener, budget: KeptBodies) {
    this.#listener = listener;
    this.#bytes = new KeptBytes(budget, LIMITS.responseBodyBytes);
  }

  write(bytes: Buffer, start: number, end: number): void {
    const stop = Math.min(end, start + LIMITS.responseBodyBytes - this.#bytes.length);
    if (!this.#bytes.tryAppend(bytes, start, stop)) this.#listener.onBodyEnd(NO_ROOM);
    else if (stop < end) truncate(this.#listener);
  }

  end(): void {
    this.#listener.onBodyEnd(COMPLETE);
  }

  bytes(): Buffer {
    return this.#bytes.view();
  }

  release(): void {
    this.#bytes.release();
  }
}

function truncate(listener: BodyListener): void {
  listener.onBodyFull();
  listener.onBodyEnd(TRUNCATED);
}

const NO_BYTES = Buffer.alloc(0);
export const COMPLETE: BodyEnd = { kind: 'complete' };
export const TRUNCATED: BodyEnd = { kind: 'truncated' };
export const NO_ROOM: BodyEnd = { kind: 'no-room' };

import { LIMITS } from '@svc/shared/limits.ts';
import { GrowingBuffer } from './growing-buffer.ts';
import type { KeptBodies } from './kept-bodies.ts';

export type BodyEnd =
  | { kind: 'complete' }
  /** More than 2 MiB: nothing beyond is taken. */
  | { kind: 'truncated' }
  /** The memory that kept bodies share is used up. */
  | { kind: 'no-room' }
  | { kind: 'undecodable'; message: string };

export interface BodyListener {
  /** After a `write` that returned false: more is welcome. */
  onBodyDrained(): void;
  /** Called once, possibly from within `write` or `end`; the body takes nothing more. */
  onBodyEnd(end: BodyEnd): void;
}

/** Takes a response's body as it comes from the connection. */
export interface BodySink {
  /** Takes a copy of what it needs of `bytes[start, end)`. @returns false when the sender should pause. */
  write(bytes: Buffer, start: number, end: number): boolean;
  /** No more will come. */
  end(): void;
  /** What was kept, as UTF-8 text without byte order mark. */
  text(): string;
  /** Gives the memory back; no listener is called any more. */
  release(): void;
}

/** For checks that assert nothing about the body: counts what the connection brought, keeps nothing. */
export class CountedBody implements BodySink {
  readonly #listener: BodyListener;
  #count = 0;

  constructor(listener: BodyListener) {
    this.#listener = listener;
  }

  write(_bytes: Buffer, start: number, end: number): boolean {
    this.#count += end - start;
    if (this.#count > LIMITS.responseBodyBytes) this.#listener.onBodyEnd(TRUNCATED);
    return true;
  }

  end(): void {
    this.#listener.onBodyEnd(COMPLETE);
  }

  text(): string {
    return '';
  }

  release(): void {}
}

/** Keeps the first 2 MiB. */
export class KeptBody implements BodySink {
  readonly #listener: BodyListener;
  readonly #budget: KeptBodies;
  readonly #bytes = new GrowingBuffer();
  #taken = 0;

  constructor(listener: BodyListener, budget: KeptBodies) {
    this.#listener = listener;
    this.#budget = budget;
  }

  write(bytes: Buffer, start: number, end: number): boolean {
    const room = LIMITS.responseBodyBytes - this.#bytes.length;
    const stop = Math.min(end, start + room);
    const growth = this.#bytes.growthFor(stop - start);
    if (!this.#budget.tryTake(growth)) {
      this.#listener.onBodyEnd(NO_ROOM);
      return true;
    }
    this.#taken += growth;
    this.#bytes.append(bytes, start, stop);
    if (stop < end) this.#listener.onBodyEnd(TRUNCATED);
    return true;
  }

  end(): void {
    this.#listener.onBodyEnd(COMPLETE);
  }

  text(): string {
    const text = this.#bytes.view().toString('utf8');
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  release(): void {
    this.#bytes.clear();
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }
}

export const COMPLETE: BodyEnd = { kind: 'complete' };
const TRUNCATED: BodyEnd = { kind: 'truncated' };
const NO_ROOM: BodyEnd = { kind: 'no-room' };
const BYTE_ORDER_MARK = 0xfeff;

import { write, writeSync } from 'node:fs';

/** Lines that wait for a slow reader, in UTF-16 units; what comes beyond them is dropped. */
const MOST_WAITING = 4 * 1_024 ** 2;
/** Once lines were dropped, none is taken before so little waits: then one line can say how many are missing there. */
const ROOM_AGAIN = MOST_WAITING / 2;
/** Written at once, bytes: a pipe takes so many whole or not at all (PIPE_BUF), so that no line is cut. A longer line goes alone. */
const CHUNK_BYTES = 4_096;
/** A reader that takes nothing is asked again after this time, ms. */
const RETRY_MS = 20;
/** At the exit of the process it may take nothing for this long, and all of it may take so long, ms. */
const LAST_WAIT_MS = 200;
const LAST_WAIT_IN_ALL_MS = 1_000;

/**
 * Writes lines to a file descriptor and never makes its caller wait: a terminal that is held, a collector of
 * logs that hangs or a full disk stops no check. What waits is bounded; lines beyond that, and those that
 * cannot be written, are dropped and counted. At the exit of the process what waits is written at once.
 *
 *     write ──▶ lines ──▶ chunk being written ──▶ reader
 *                 │              │    ▲
 *       too many  ▼       failed ▼    └─ the reader takes nothing, or a part of it: the rest again
 *              dropped ──────────┴────▶ said among the lines, as soon as there is room for it
 */
export class LogSink {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  #lines: string[] = [];
  /** Of `#lines`, in UTF-16 units. */
  #waiting = 0;
  /** Taken from the lines, and not taken by the reader yet. */
  #refused: Chunk | null = null;
  #isWriting = false;
  #endsWithProcess = false;
  /** Too many wait: lines are dropped until there is room again. */
  #isFull = false;
  #dropped = 0;
  /** The last line that was written is not whole: what comes next begins on a line of its own. */
  #isLineCut = false;

  /**
   * @param onDropped so many lines were lost. It may write a line about it, which then stands where they are missing
   */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = fd;
    this.#onDropped = onDropped;
  }

  /** @param line with its line feed */
  write(line: string): void {
    if (this.#isFull || this.#waiting + line.length > MOST_WAITING) {
      this.#isFull = true;
      this.#dropped += 1;
      return;
    }
    if (!this.#endsWithProcess) process.once('exit', () => this.flushSync());
    this.#endsWithProcess = true;
    this.#lines.push(line);
    this.#waiting += line.length;
    if (!this.#isWriting) this.#writeNext();
  }

  /** Writes what waits before it returns, as far as it is taken. For the last lines of a process. */
  flushSync(): void {
    const endsAt = performance.now() + LAST_WAIT_IN_ALL_MS;
    // What is said meanwhile waits here, and not in the thread pool.
    const wasWriting = this.#isWriting;
    this.#isWriting = true;
    for (let chunk = this.#next(); chunk !== null; chunk = this.#next()) {
      const rest = this.#writeSync(chunk, endsAt);
      if (rest !== null) {
        this.#lose(rest);
        break;
      }
      this.#tellDropped();
    }
    this.#isWriting = wasWriting;
  }

  /** @returns what was not taken in time, or cannot be written; null: nothing */
  #writeSync(chunk: Chunk, endsAt: number): Chunk | null {
    let rest = chunk;
    let until = Math.min(endsAt, performance.now() + LAST_WAIT_MS);
    while (rest.bytes.length > 0) {
      try {
        rest = this.#restOf(rest, writeSync(this.#fd, rest.bytes));
        until = Math.min(endsAt, performance.now() + LAST_WAIT_MS);
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) return rest;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
    return null;
  }

  #writeNext(): void {
    const chunk = this.#next();
    this.#isWriting = chunk !== null;
    if (chunk !== null) write(this.#fd, chunk.bytes, (error, bytes) => this.#written(chunk, error, bytes));
  }

  #written(chunk: Chunk, error: NodeJS.ErrnoException | null, bytes: number): void {
    if (error !== null && isBusy(error)) {
      this.#refused = chunk;
      setTimeout(() => this.#writeNext(), RETRY_MS).unref();
      return;
    }
    if (error !== null) {
      this.#lose(chunk);
    } else {
      const rest = this.#restOf(chunk, bytes);
      if (rest.bytes.length > 0) this.#refused = rest;
      else this.#tellDropped();
    }
    this.#writeNext();
  }

  /** What is to be written next: what was refused, or whole lines. */
  #next(): Chunk | null {
    const refused = this.#refused;
    this.#refused = null;
    if (refused !== null) return refused;
    if (this.#lines.length === 0) return null;
    const text = this.#takeLines();
    return { bytes: Buffer.from(this.#isLineCut ? `\n${text}` : text), isBegun: false };
  }

  #takeLines(): string {
    let bytes = 0;
    let count = 0;
    for (const line of this.#lines) {
      bytes += Buffer.byteLength(line);
      if (count > 0 && bytes > CHUNK_BYTES) break;
      this.#waiting -= line.length;
      count += 1;
    }
    if (this.#waiting <= ROOM_AGAIN) this.#isFull = false;
    return this.#lines.splice(0, count).join('');
  }

  #restOf({ bytes, isBegun }: Chunk, written: number): Chunk {
    if (written === 0) return { bytes, isBegun };
    this.#isLineCut = false;
    return { bytes: bytes.subarray(written), isBegun: bytes[written - 1] !== LINE_FEED };
  }

  #lose({ bytes, isBegun }: Chunk): void {
    if (isBegun) this.#isLineCut = true;
    // A line feed at the beginning ends a line that was cut, or one of which it alone was missing.
    for (const byte of bytes.subarray(1)) if (byte === LINE_FEED) this.#dropped += 1;
  }

  #tellDropped(): void {
    if (this.#dropped === 0 || this.#isFull) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#onDropped(lines);
  }
}

/** `isBegun`: a part of its first line is written already. */
type Chunk = { readonly bytes: Buffer; readonly isBegun: boolean };

const LINE_FEED = 0x0a;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}

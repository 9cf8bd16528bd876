import { write, writeSync } from 'node:fs';

/** Lines that wait for a slow reader, in UTF-16 units; what comes beyond them is dropped. */
const MOST_WAITING = 4 * 1_024 ** 2;
/** Written at once, in UTF-16 units. */
const CHUNK = 64 * 1_024;
/** A reader that takes nothing is asked again after this time, ms. */
const RETRY_MS = 20;
/** At the exit of the process it may take nothing for this long, ms. */
const LAST_WAIT_MS = 200;

/**
 * Writes lines to a file descriptor and never makes its caller wait: a terminal that is held, a collector of
 * logs that hangs or a full disk stops no check. What waits is bounded; lines beyond that, and those that
 * cannot be written, are dropped and counted. At the exit of the process what waits is written at once.
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
  #dropped = 0;

  /** @param onDropped so many lines were lost; called when all that waited is written */
  constructor(fd: number, onDropped: (lines: number) => void) {
    this.#fd = fd;
    this.#onDropped = onDropped;
  }

  /** @param line with its line feed */
  write(line: string): void {
    if (this.#waiting + line.length > MOST_WAITING) {
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
    const lines = Buffer.from(this.#lines.join(''));
    let rest = this.#refused === null ? lines : Buffer.concat([this.#refused.bytes, lines]);
    this.#refused = null;
    this.#lines = [];
    this.#waiting = 0;
    const until = performance.now() + LAST_WAIT_MS;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #writeNext(): void {
    const chunk = this.#refused ?? this.#take();
    this.#refused = null;
    this.#isWriting = chunk !== null;
    if (chunk !== null) write(this.#fd, chunk.bytes, (error, bytes) => this.#written(chunk, error, bytes));
  }

  #take(): Chunk | null {
    let size = 0;
    let count = 0;
    while (count < this.#lines.length && size < CHUNK) {
      size += this.#lines[count]?.length ?? 0;
      count += 1;
    }
    if (count === 0) return null;
    this.#waiting -= size;
    return { bytes: Buffer.from(this.#lines.splice(0, count).join('')), lines: count };
  }

  #written(chunk: Chunk, error: NodeJS.ErrnoException | null, bytes: number): void {
    if (error !== null && isBusy(error)) {
      this.#refused = chunk;
      setTimeout(() => this.#writeNext(), RETRY_MS).unref();
      return;
    }
    if (error !== null) this.#dropped += chunk.lines;
    else if (bytes < chunk.bytes.length) this.#refused = { ...chunk, bytes: chunk.bytes.subarray(bytes) };
    else if (this.#dropped > 0 && this.#lines.length === 0) this.#tellDropped();
    this.#writeNext();
  }

  #tellDropped(): void {
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#onDropped(lines);
  }
}

type Chunk = { readonly bytes: Buffer; readonly lines: number };

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}

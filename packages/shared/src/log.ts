import { write, writeSync } from 'node:fs';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { isCode } from './errors.ts';
import type { RecentErrors } from './recent-errors.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Creates the logger of one process: JSON lines on stderr, so that stdout stays free for output that people
 * read.
 *
 * `part` names the process in every line (`coordinator`, `agent`). Logging does not wait before the process
 * exits: lines that are not read in time are dropped, and a line says how many.
 *
 * @param errors records the logged lines of level `error` and above
 */
export function createLogger(part: string, level: string, errors: RecentErrors | null = null): Logger {
  const log = pino(
    {
      level,
      base: { part },
      timestamp: () => `,"time":${Date.now()}`,
      errorKey: 'error',
      ...(errors === null ? {} : { hooks: { logMethod: recording(errors) } }),
    },
    new LogSink(process.stderr.fd, (lines) => log.warn({ lines }, LINES_DROPPED)),
  );
  return log;
}

const LINES_DROPPED =
  'log lines were lost: the reader of standard error is too slow, or the disk that it writes to is full';

const ERROR = 50;

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

function recording(errors: RecentErrors): LogMethod {
  return function note(args, method, level) {
    if (level >= ERROR) {
      const [members, message] = args as readonly unknown[];
      if (typeof members === 'string') errors.addError(null, members, Date.now());
      else errors.addError(members, String(message ?? ''), Date.now());
    }
    method.apply(this, args);
  };
}

/** Maximum total length of the lines that wait for a slow reader, UTF-16 units. Further lines are dropped. */
const MOST_WAITING = 4 * 1_024 ** 2;
/**
 * After a drop, no line is accepted until the waiting lines have at most this length, UTF-16 units. The space
 * is then enough for a line that reports the number of lost lines.
 */
const ROOM_AGAIN = MOST_WAITING / 2;
/**
 * Maximum number of bytes of the lines in one write. A pipe accepts a write of this size whole or not at all
 * (PIPE_BUF), so that no line is cut. A longer line is written alone.
 */
const CHUNK_BYTES = 4_096;
/** Wait before the next try to write to a reader that takes nothing, ms. */
const RETRY_MS = 20;
/** Time limits for writing at the exit of the process, ms. */
type LastWaits = {
  /** Maximum time for which the reader may take nothing. */
  readonly withoutProgressMs: number;
  /** Maximum time for all writing together. */
  readonly inAllMs: number;
};

const LAST_WAITS: LastWaits = { withoutProgressMs: 200, inAllMs: 1_000 };

/**
 * Writes lines to a file descriptor and never makes its caller wait. A paused terminal, a hanging log
 * collector or a full disk stops no check.
 *
 * The size of the waiting lines is bounded. Lines beyond the bound, and lines that cannot be written, are
 * dropped and counted. At the exit of the process the waiting lines are written synchronously, within a time
 * limit.
 *
 * `pino.destination({ sync: false })` is not used: it waits at the exit without a bound, and a failed write
 * ends the process. Nor is `pino.transport`, whose thread takes 10 MiB.
 *
 *     write ──▶ lines ──▶ chunk being written ──▶ reader
 *                 │              │    ▲
 *       too many  ▼       failed ▼    └─ the reader took nothing, or a part: write the rest again
 *              dropped ──────────┴────▶ reported among the lines, as soon as there is room
 */
export class LogSink {
  readonly #fd: number;
  readonly #onDropped: (lines: number) => void;
  readonly #lastWaits: LastWaits;
  #lines: string[] = [];
  /** Size of `#lines`, in UTF-16 units. */
  #waiting = 0;
  /** The chunk, or the rest of it, that the reader did not take at the last write. It is written next. */
  #refused: Chunk | null = null;
  #isWriting = false;
  #endsWithProcess = false;
  /** Whether too many lines wait. Lines are then dropped until there is room again. */
  #isFull = false;
  #dropped = 0;
  /** Whether the last written line is cut. The next line then starts with a line feed. */
  #isLineCut = false;

  /**
   * @param onDropped called with the number of lost lines. It may write a line about them, which then appears
   *   in the place of the lost lines
   */
  constructor(fd: number, onDropped: (lines: number) => void, lastWaits = LAST_WAITS) {
    this.#fd = fd;
    this.#onDropped = onDropped;
    this.#lastWaits = lastWaits;
  }

  /** @param line a line with its line feed */
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

  /**
   * Writes the waiting lines before it returns, as far as the reader takes them. It is meant for the last
   * lines of a process.
   */
  flushSync(): void {
    const endsAt = performance.now() + this.#lastWaits.inAllMs;
    // Lines that are written during the flush wait in this object and not in the thread pool.
    const wasWriting = this.#isWriting;
    this.#isWriting = true;
    for (let chunk = this.#nextChunk(); chunk !== null; chunk = this.#nextChunk()) {
      const rest = this.#writeSync(chunk, endsAt);
      if (rest !== null) {
        this.#lose(rest);
        break;
      }
      this.#reportDropped();
    }
    this.#isWriting = wasWriting;
  }

  /** @returns the part that was not taken in time or cannot be written; null when all was written */
  #writeSync(chunk: Chunk, endsAt: number): Chunk | null {
    let rest = chunk;
    let until = Math.min(endsAt, performance.now() + this.#lastWaits.withoutProgressMs);
    while (rest.bytes.length > 0) {
      try {
        rest = this.#restOf(rest, writeSync(this.#fd, rest.bytes));
        until = Math.min(endsAt, performance.now() + this.#lastWaits.withoutProgressMs);
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) return rest;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
    return null;
  }

  #writeNext(): void {
    const chunk = this.#nextChunk();
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
      else this.#reportDropped();
    }
    this.#writeNext();
  }

  /** The next chunk to write: the refused chunk, or whole lines. */
  #nextChunk(): Chunk | null {
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
    // Counts the lost lines by their line feeds. A line feed as the first byte only ends a line that was
    // already written or cut, so it is not counted.
    for (const byte of bytes.subarray(1)) if (byte === LINE_FEED) this.#dropped += 1;
  }

  #reportDropped(): void {
    if (this.#dropped === 0 || this.#isFull) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#onDropped(lines);
  }
}

/** A piece of the output. `isBegun`: part of its first line is already written. */
type Chunk = { readonly bytes: Buffer; readonly isBegun: boolean };

const LINE_FEED = 0x0a;

function isBusy(error: unknown): boolean {
  return isCode(error, 'EAGAIN', 'EBUSY');
}

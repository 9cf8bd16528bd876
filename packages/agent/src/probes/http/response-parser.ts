import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { GrowingBuffer } from './growing-buffer.ts';
import { ResponseError } from './response-error.ts';
import {
  excerpt,
  type Framing,
  framingOf,
  MAX_HEAD_BYTES,
  parseHead,
  type ResponseHead,
} from './response-head.ts';

/** Told what the parser finds, in the order of the bytes, from within `push` and `end`. */
export interface ResponseListener {
  /** The final response's head; interim (1xx) ones are skipped. */
  onHead(head: ResponseHead): void;
  /** Body bytes `[start, end)` of `bytes`, without framing; valid during the call only. */
  onBody(bytes: Buffer, start: number, end: number): void;
  /** The response is complete. */
  onComplete(): void;
}

type State =
  | 'head'
  | 'no-body'
  | 'length'
  | 'until-close'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailers'
  | 'done';

/**
 * Reads one HTTP/1.x response from the pieces in which it arrives. It keeps at most one head (64 KiB)
 * or one line; body bytes are handed on as they come.
 */
export class ResponseParser {
  readonly #method: HttpCheck['method'];
  readonly #listener: ResponseListener;
  #state: State = 'head';
  #partialHead: GrowingBuffer | undefined;
  #headBytes = 0;
  #line = '';
  /** Bytes still to come of the body or of the chunk. */
  #remaining = 0;
  /** Bytes of body handed on, for the message about a premature end. */
  #received = 0;
  #expected = 0;
  #trailerBytes = 0;
  /** Bytes of chunk framing beyond those of data. */
  #overhead = 0;

  constructor(method: HttpCheck['method'], listener: ResponseListener) {
    this.#method = method;
    this.#listener = listener;
  }

  /** Stops reading: what comes after is ignored. */
  stop(): void {
    this.#state = 'done';
    this.#partialHead = undefined;
  }

  /** @throws ResponseError when the bytes are no response; the connection is of no use then. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(bytes, at);
          break;
        case 'length':
          at = this.#readData(bytes, at);
          if (this.#remaining === 0) this.#complete();
          break;
        case 'until-close':
          this.#emitBody(bytes, at, bytes.length);
          at = bytes.length;
          break;
        case 'chunk-data':
          at = this.#readData(bytes, at);
          if (this.#remaining === 0) this.#enter('chunk-end', 'chunk-data');
          break;
        case 'chunk-size':
        case 'chunk-end':
        case 'trailers':
          at = this.#readLine(bytes, at);
          break;
        case 'no-body':
        case 'done':
          return;
        default:
          throw new TypeError(`unknown state ${String(this.#state satisfies never)}`);
      }
    }
  }

  /**
   * The target closed its side.
   *
   * @throws ResponseError when the response is not complete.
   */
  end(): void {
    switch (this.#state) {
      case 'done':
        return;
      case 'until-close':
        this.#complete();
        return;
      case 'head':
        throw new ResponseError(
          this.#headBytes === 0 && this.#partialHead === undefined
            ? 'the target closed the connection without an answer'
            : 'the target closed the connection in the middle of the headers',
        );
      case 'length':
        throw new ResponseError(
          `the target closed the connection after ${this.#received} of ${this.#expected} body bytes`,
        );
      default:
        throw new ResponseError(
          `the target closed the connection before the last chunk, after ${this.#received} body bytes`,
        );
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const partial = this.#partialHead;
    if (partial === undefined) {
      const end = bytes.indexOf(END_OF_HEAD, at);
      if (end !== -1) {
        this.#countHeadBytes(end + 4 - at);
        this.#headRead(bytes.toString('latin1', at, end));
        return end + 4;
      }
    }
    const buffer = partial ?? new GrowingBuffer();
    const before = buffer.length;
    // One byte more than allowed is enough to know that it is too much.
    const taken = Math.min(bytes.length, at + MAX_HEAD_BYTES + 1 - before);
    buffer.append(bytes, at, taken);
    const view = buffer.view();
    const end = view.indexOf(END_OF_HEAD, Math.max(0, before - 3));
    if (end === -1) {
      this.#partialHead = buffer;
      expectHttp(view);
      if (this.#headBytes + buffer.length > MAX_HEAD_BYTES) throw headTooLong();
      return taken;
    }
    this.#partialHead = undefined;
    this.#countHeadBytes(end + 4);
    this.#headRead(view.toString('latin1', 0, end));
    return at + end + 4 - before;
  }

  #countHeadBytes(count: number): void {
    this.#headBytes += count;
    if (this.#headBytes > MAX_HEAD_BYTES) throw headTooLong();
  }

  #headRead(text: string): void {
    const head = parseHead(text);
    if (head.statusCode === 101) throw new ResponseError('the target switched protocols without being asked');
    if (head.statusCode < 200) return;
    const framing = framingOf(this.#method, head);
    this.#state = STATE_OF_FRAMING[framing.kind];
    if (framing.kind === 'length') {
      this.#remaining = framing.length;
      this.#expected = framing.length;
    }
    this.#listener.onHead(head);
    if (this.#state === 'no-body') this.#complete();
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#remaining -= end - at;
    this.#emitBody(bytes, at, end);
    return end;
  }

  #emitBody(bytes: Buffer, start: number, end: number): void {
    this.#received += end - start;
    this.#listener.onBody(bytes, start, end);
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_FEED, at);
    const stop = end === -1 ? bytes.length : end;
    if (this.#line.length + stop - at > MAX_LINE_BYTES) throw badChunk('a line is too long');
    const line = this.#line + bytes.toString('latin1', at, stop);
    if (end === -1) {
      this.#line = line;
      return stop;
    }
    this.#line = '';
    if (!line.endsWith('\r')) throw badChunk('a line does not end with CRLF');
    this.#lineRead(line.slice(0, -1));
    return end + 1;
  }

  #lineRead(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '') throw badChunk('a chunk is longer than its size');
      this.#state = 'chunk-size';
    } else if (this.#state === 'chunk-size') {
      this.#chunkSizeRead(line);
    } else if (line === '') {
      this.#complete();
    } else {
      this.#trailerBytes += line.length + 2;
      if (this.#trailerBytes > MAX_HEAD_BYTES) throw badChunk('the trailers are longer than 64 KiB');
    }
  }

  #chunkSizeRead(line: string): void {
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw badChunk(`${excerpt(line)} is no chunk size`);
    this.#remaining = Number.parseInt(size, 16);
    // The CRLFs of the line and of the chunk count too. Chunks of a byte or two cost more to read than
    // their bytes are worth: as framing they are let pass only so far.
    this.#overhead += line.length + 4 - this.#remaining;
    if (this.#overhead > MAX_CHUNK_OVERHEAD) throw badChunk('more framing than data');
    this.#state = this.#remaining === 0 ? 'trailers' : 'chunk-data';
  }

  /** Goes on to `state` unless the listener stopped the parser meanwhile. */
  #enter(state: State, from: State): void {
    if (this.#state === from) this.#state = state;
  }

  #complete(): void {
    if (this.#state === 'done') return;
    this.#state = 'done';
    this.#listener.onComplete();
  }
}

const STATE_OF_FRAMING = {
  none: 'no-body',
  length: 'length',
  chunked: 'chunk-size',
  'until-close': 'until-close',
} as const satisfies Record<Framing['kind'], State>;

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LINE_FEED = 0x0a;
const MAX_LINE_BYTES = 4 * 1_024;
const MAX_CHUNK_OVERHEAD = 256 * 1_024;
const CHUNK_SIZE = /^([0-9a-f]{1,13})[ \t]*(?:;[^\0\r\n]*)?$/i;
const HTTP_1 = Buffer.from('HTTP/1.');

/** Fails at the first byte that no HTTP/1.x answer has, rather than wait for a head that never ends. */
function expectHttp(head: Buffer): void {
  const length = Math.min(head.length, HTTP_1.length);
  if (head.compare(HTTP_1, 0, length, 0, length) !== 0) {
    throw new ResponseError(`the answer is not HTTP/1.x: ${excerpt(head.toString('latin1', 0, 61))}`);
  }
}

function headTooLong(): ResponseError {
  return new ResponseError(`the answer's headers are longer than ${MAX_HEAD_BYTES / 1_024} KiB`);
}

function badChunk(what: string): ResponseError {
  return new ResponseError(`the answer's chunked body is malformed: ${what}`);
}

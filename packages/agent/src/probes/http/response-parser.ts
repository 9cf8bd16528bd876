import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { type KeptBodies, KeptBytes, NoRoomError } from './kept-bodies.ts';
import {
  beginsAsHttp,
  excerpt,
  type Framing,
  framingOf,
  MAX_HEAD_BYTES,
  notHttp,
  parseHead,
  ResponseError,
  type ResponseHead,
} from './response-head.ts';

/** Receives the parts of a response in their order. A parser calls it from within `push` and `end`. */
export interface ResponseListener {
  /** The head of the final response. Interim (1xx) heads are skipped, except 101. */
  onHead(head: ResponseHead): void;
  /** Body bytes `[start, end)` of `bytes`, without framing. They are valid only during the call. */
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
 * Reads one HTTP/1.x response from the pieces in which it arrives. The parser keeps at most one head
 * (256 KiB) and one line of a chunked body (4 KiB), and passes body bytes on as they come.
 */
export class ResponseParser {
  readonly #method: HttpCheck['method'];
  readonly #listener: ResponseListener;
  readonly #keptBodies: KeptBodies;
  #state: State = 'head';
  /**
   * A head that came in pieces. The memory of a final head stays charged until
   * {@link stop}, because the strings of the headers share the memory of its text.
   */
  #partialHead: KeptBytes | undefined;
  #headBytes = 0;
  #line = '';
  /** Number of bytes of the body or the chunk that are still to come. */
  #remaining = 0;
  /** Number of body bytes that were passed on, for the message about a premature end. */
  #received = 0;
  #expected = 0;
  #trailerBytes = 0;
  /** Total size of the chunks' framing, less the total size of their data, bytes. */
  #overhead = 0;

  /** @param keptBodies budget for heads that come in pieces; {@link stop} gives their memory back */
  constructor(method: HttpCheck['method'], listener: ResponseListener, keptBodies: KeptBodies) {
    this.#method = method;
    this.#listener = listener;
    this.#keptBodies = keptBodies;
  }

  /** Stops reading, and gives the memory of the head back. Later bytes are ignored. */
  stop(): void {
    this.#state = 'done';
    this.#releaseHead();
  }

  /**
   * Reads the next bytes. After an error, the connection cannot be used any more.
   *
   * @throws ResponseError when the bytes are not a response
   * @throws NoRoomError when the budget for kept bodies is used up
   */
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
   * Ends the response, because the target closed its side of the connection.
   *
   * @throws ResponseError when the response is not complete
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
    if (this.#partialHead === undefined) {
      const lineFeed = bytes.indexOf(END_OF_HEAD, at);
      if (lineFeed !== -1) {
        const text = bytes.toString('latin1', at, lineFeed);
        // In a rare head, an empty line that ends in a lone line feed comes
        // earlier. The line feed that was found may end that empty line.
        const found = text.indexOf('\n\n');
        const earlier = found === -1 && text.endsWith('\n') ? text.length - 1 : found;
        const size = earlier === -1 ? lineFeed + END_OF_HEAD.length - at : earlier + LONE_END_OF_HEAD.length;
        this.#headRead(earlier === -1 ? text : text.slice(0, earlier), size);
        return at + size;
      }
    }
    return this.#collectHead(bytes, at);
  }

  /** Reads a head that comes in pieces, or whose lines end in lone line feeds. */
  #collectHead(bytes: Buffer, at: number): number {
    this.#partialHead ??= new KeptBytes(this.#keptBodies, MAX_HEAD_BYTES + 1);
    const head = this.#partialHead;
    const before = head.length;
    // One byte more than the maximum is enough to know that the head is too long.
    const taken = Math.min(bytes.length, at + MAX_HEAD_BYTES + 1 - before);
    if (!head.tryAppend(bytes, at, taken)) throw new NoRoomError();
    const view = head.view();
    const end = endOfHead(view, Math.max(0, before - 2));
    if (end === undefined) {
      expectHttp(view);
      if (this.#headBytes + head.length > MAX_HEAD_BYTES) throw headTooLong();
      return taken;
    }
    this.#headRead(view.toString('latin1', 0, end.lineFeed), end.size);
    return at + end.size - before;
  }

  /**
   * Handles a complete head.
   *
   * @param size size of the head with its final empty line, bytes
   */
  #headRead(text: string, size: number): void {
    this.#headBytes += size;
    if (this.#headBytes > MAX_HEAD_BYTES) throw headTooLong();
    const head = parseHead(text);
    // After status 101, no other response follows.
    if (head.statusCode < 200 && head.statusCode !== 101) {
      this.#releaseHead();
      return;
    }
    this.#listener.onHead(head);
    // If the listener has stopped the parser, the body is not read and its framing does not matter.
    if (this.#state !== 'head') return;
    const framing = framingOf(this.#method, head);
    this.#state = STATE_OF_FRAMING[framing.kind];
    if (framing.kind === 'length') {
      this.#remaining = framing.length;
      this.#expected = framing.length;
    }
    if (this.#state === 'no-body') this.#complete();
  }

  #releaseHead(): void {
    this.#partialHead?.release();
    this.#partialHead = undefined;
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
    this.#lineRead(line.endsWith('\r') ? line.slice(0, -1) : line);
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
      if (this.#trailerBytes > MAX_HEAD_BYTES)
        throw badChunk(`the trailers are longer than ${MAX_HEAD_BYTES / 1_024} KiB`);
    }
  }

  #chunkSizeRead(line: string): void {
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw badChunk(`${excerpt(line)} is no chunk size`);
    this.#remaining = Number.parseInt(size, 16);
    // The CRLFs after the line and after the chunk count too. Reading tiny chunks costs
    // much CPU for few bytes, so the framing may exceed the data by a limited amount only.
    this.#overhead += line.length + 4 - this.#remaining;
    if (this.#overhead > MAX_CHUNK_OVERHEAD) throw badChunk('more framing than data');
    this.#state = this.#remaining === 0 ? 'trailers' : 'chunk-data';
  }

  /** Enters `state`, unless the listener has stopped the parser. */
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

/**
 * The line feed that ends the last header line, and the empty line after
 * it. If CR LF ends the header line, its CR comes before these bytes.
 */
const END_OF_HEAD = Buffer.from('\n\r\n');
const LONE_END_OF_HEAD = Buffer.from('\n\n');
const LINE_FEED = 0x0a;
const MAX_LINE_BYTES = 4 * 1_024;
const MAX_CHUNK_OVERHEAD = 256 * 1_024;
const CHUNK_SIZE = /^0*([0-9a-f]{1,13})[ \t]*(?:;[^\r\n]*)?$/i;

/**
 * The position of the line feed before the first empty line at or after `from`, and the
 * number of bytes up to the end of that empty line. Undefined when there is no such line.
 */
function endOfHead(bytes: Buffer, from: number): { lineFeed: number; size: number } | undefined {
  const usual = bytes.indexOf(END_OF_HEAD, from);
  const lone = bytes.indexOf(LONE_END_OF_HEAD, from);
  if (lone !== -1 && (usual === -1 || lone < usual)) {
    return { lineFeed: lone, size: lone + LONE_END_OF_HEAD.length };
  }
  return usual === -1 ? undefined : { lineFeed: usual, size: usual + END_OF_HEAD.length };
}

/** Throws as soon as the bytes cannot begin an HTTP answer, instead of waiting for a head that never ends. */
function expectHttp(head: Buffer): void {
  if (!beginsAsHttp(head.toString('latin1', 0, 8))) throw notHttp(head.toString('latin1', 0, 61));
}

function headTooLong(): ResponseError {
  return new ResponseError(`the answer's headers are longer than ${MAX_HEAD_BYTES / 1_024} KiB`);
}

function badChunk(what: string): ResponseError {
  return new ResponseError(`the answer's chunked body is malformed: ${what}`);
}

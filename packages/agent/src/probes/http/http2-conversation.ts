import type { ClientHttp2Session, ClientHttp2Stream, ClientSessionOptions } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { codeOf } from '@svc/shared/errors.ts';
import { HeaderFields, ResponseError } from './response-head.ts';
import type { ResponseListener } from './response-parser.ts';
import type { Phase } from './stopwatch.ts';

/** Maximum size of a response's head, bytes. */
const MAX_HEAD_BYTES = 256 * 1_024;
const MAX_FIELDS = 1_000;
/**
 * Maximum number of bytes that are read from the connection. 2 MiB of body and a head need
 * far less. Without this limit, frames without content (single bytes of data, repeated
 * GOAWAYs, announcements of other services) could keep a core busy until the time-out.
 */
const MAX_BYTES = 4 * 1_024 * 1_024;
/**
 * Interval at which the received bytes are counted, ms. Node emits no event for most frames without content.
 */
const LOOK_MS = 50;

/** Node's types lack `strictSingleValueFields` for clients. */
const SESSION_OPTIONS: ClientSessionOptions & { strictSingleValueFields: boolean } = {
  maxHeaderListPairs: MAX_FIELDS,
  // A configured header that occurs twice is sent twice, as over HTTP/1.1.
  strictSingleValueFields: false,
  settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
};

type Http2ConversationParts = {
  /**
   * The module `node:http2`. The caller loads it, because it
   * takes memory that agents without HTTP/2 targets do not need.
   */
  http2: typeof import('node:http2');
  /** A socket whose certificate is verified and that has agreed on `h2`. */
  socket: TLSSocket;
  origin: string;
  request: Http2Request;
};

interface Http2Listener extends ResponseListener {
  onPhase(phase: Phase): void;
  /** The conversation has failed. A {@link ResponseError} is the target's fault. */
  onError(error: unknown): void;
}

/** One request and its response over HTTP/2. After a call of {@link close}, the listener is not called. */
export class Http2Conversation {
  readonly #parts: Http2ConversationParts;
  /**
   * Undefined once the conversation is closed. The session lives
   * longer, and must not keep the attempt in memory (decision 0020).
   */
  #listener: Http2Listener | undefined;
  #session: ClientHttp2Session | undefined;
  #look: NodeJS.Timeout | undefined;
  #hasHead = false;
  #isClosed = false;

  constructor(parts: Http2ConversationParts, listener: Http2Listener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  start(): void {
    this.#guarded(() => this.#open());
  }

  /** Destroys the connection at once. It may be called twice, and from within the listener. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listener = undefined;
    clearInterval(this.#look);
    this.#session?.destroy();
    this.#parts.socket.destroy();
  }

  #open(): void {
    const { http2, socket, origin, request } = this.#parts;
    this.#listener?.onPhase('first_byte');
    const session = http2.connect(origin, { ...SESSION_OPTIONS, createConnection: () => socket });
    this.#session = session;
    this.#look = setInterval(this.#lookAtBytes, LOOK_MS);
    // The handler stays for the life of the session, because
    // an error after the end must not crash the process.
    session.on('error', this.#failed);
    session.on('close', this.#closed);
    const stream = session.request(request.fields, { endStream: request.body === '' });
    this.#listenTo(stream, session);
    if (request.body !== '') stream.end(request.body);
  }

  #listenTo(stream: ClientHttp2Stream, session: ClientHttp2Session): void {
    stream.on('response', (headers, _flags, rawHeaders) =>
      this.#guarded(() => this.#answered(headers[':status'] ?? 0, rawHeaders)),
    );
    stream.on('data', (bytes: Buffer) => this.#guarded(() => this.#listener?.onBody(bytes, 0, bytes.length)));
    const { http2 } = this.#parts;
    // When the connection is lost, Node itself cancels the
    // streams, so their code does not come from the target.
    const isBrokenOff = () => !session.destroyed && stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR;
    stream.on('aborted', () => {
      if (isBrokenOff()) this.#failed(brokenOff(http2, stream.rstCode));
    });
    stream.on('error', (error) => this.#failed(isBrokenOff() ? brokenOff(http2, stream.rstCode) : error));
    stream.on('end', () => this.#guarded(() => this.#ended(stream, session)));
    stream.on('close', this.#closed);
  }

  /**
   * Passes the head on.
   *
   * @param rawHeaders names and values alternately, as they came;
   *   Node's own object omits some headers that occur twice
   */
  #answered(statusCode: number, rawHeaders: readonly string[]): void {
    this.#hasHead = true;
    this.#listener?.onPhase('transfer');
    const fields = new HeaderFields();
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
      if (!name.startsWith(':')) fields.add(name, value);
    }
    const { values: headers, setCookies, hasSeveralLocations } = fields;
    this.#listener?.onHead({ statusCode, headers, setCookies, hasSeveralLocations });
  }

  #ended({ rstCode }: ClientHttp2Stream, { destroyed }: ClientHttp2Session): void {
    const { http2 } = this.#parts;
    const isWhole = rstCode === http2.constants.NGHTTP2_NO_ERROR;
    // The session's event `error` or `close` comes next, and says why the connection ended.
    if (!isWhole && destroyed) return;
    if (!isWhole || !this.#hasHead) throw brokenOff(http2, rstCode);
    // Decoding the body may go on for a while, but the connection is not needed any more.
    const listener = this.#listener;
    this.close();
    listener?.onComplete();
  }

  readonly #lookAtBytes = (): void => {
    if (this.#parts.socket.bytesRead > MAX_BYTES) {
      this.#failed(new ResponseError('the target sends too many HTTP/2 frames without content'));
    }
  };

  readonly #closed = (): void => {
    this.#failed(
      new ResponseError(
        this.#hasHead
          ? 'the target closed the connection in the middle of the response'
          : 'the target closed the connection without an answer',
      ),
    );
  };

  #guarded(step: () => void): void {
    if (this.#isClosed) return;
    try {
      step();
    } catch (error) {
      this.#failed(error);
    }
  }

  readonly #failed = (error: unknown): void => {
    this.#listener?.onError(isOfProtocol(error) ? asResponseError(error) : error);
  };
}

/** Whether the error is Node's report that the target breaks the HTTP/2 protocol. */
function isOfProtocol(error: unknown): error is Error {
  return /^ERR_HTTP2_/.test(codeOf(error));
}

function asResponseError({ message }: Error): ResponseError {
  return new ResponseError(`the target's HTTP/2 is broken: ${message.slice(0, 200)}`);
}

function brokenOff({ constants }: typeof import('node:http2'), code: number | undefined): ResponseError {
  const constant = Object.entries(constants).find(
    ([name, value]) => value === code && name.startsWith('NGHTTP2_') && ERROR_NAME.test(name),
  )?.[0];
  const name = constant?.replace('NGHTTP2_', '') ?? `code ${code}`;
  return new ResponseError(
    BY_EITHER_SIDE.has(name)
      ? `the HTTP/2 stream was broken off (${name})`
      : `the target broke off the HTTP/2 stream (${name})`,
  );
}

/**
 * Error codes that Node also sends when it refuses the target's bytes: invalid fields, a
 * wrong length, or a head that is too large. Node does not say which side sent the code.
 */
const BY_EITHER_SIDE: ReadonlySet<string> = new Set(['PROTOCOL_ERROR', 'ENHANCE_YOUR_CALM']);

/** Matches the names of error codes (RFC 9113, section 7). Node has them among other constants. */
const ERROR_NAME =
  /_(?:NO_ERROR|PROTOCOL_ERROR|INTERNAL_ERROR|FLOW_CONTROL_ERROR|SETTINGS_TIMEOUT|STREAM_CLOSED|FRAME_SIZE_ERROR|REFUSED_STREAM|CANCEL|COMPRESSION_ERROR|CONNECT_ERROR|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/;

const SETTINGS = 4;
const GOAWAY = 7;
const FRAME_HEAD_BYTES = 9;

export const NEITHER_PROTOCOL = 'the target speaks neither HTTP/1.1 nor HTTP/2 (ALPN)';
export const HTTP2_WITHOUT_TLS =
  'the target speaks HTTP/2 without TLS, which svc does not probe: use an https URL, or let the target speak HTTP/1.1';
export const HTTP2_NOT_AGREED = 'the target speaks HTTP/2 without agreeing to it in the TLS handshake (ALPN)';

/**
 * Whether the first bytes of a connection come from an HTTP/2 server. A
 * server's preface is a SETTINGS frame (RFC 9113, section 3.4), but some
 * servers send GOAWAY at once. No answer of HTTP/1.x begins with a zero byte.
 */
export function isHttp2(firstBytes: Uint8Array): boolean {
  if (firstBytes[0] !== 0 || firstBytes.length < FRAME_HEAD_BYTES) return false;
  const isOfConnection = (firstBytes.subarray(5, FRAME_HEAD_BYTES) as Uint8Array).every((byte) => byte === 0);
  return isOfConnection && (firstBytes[3] === SETTINGS || firstBytes[3] === GOAWAY);
}

/** A request over HTTP/2: its fields in order, beginning with the pseudo-header fields, and its body. */
type Http2Request = { readonly fields: readonly string[]; readonly body: string };

/**
 * Converts a rendered HTTP/1.1 request to HTTP/2, so that only one function decides what is sent. `Host`
 * becomes `:authority`, names become lower case, and `Connection` is dropped (RFC 9113, section 8).
 *
 * @param text request as `renderRequest` made it
 */
export function http2RequestOf(text: string): Http2Request {
  const headEnd = text.indexOf('\r\n\r\n');
  const [requestLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const [method = '', path = ''] = requestLine.split(' ');
  let authority = '';
  const fields: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = utf8AsBytes(line.slice(colon + 1).trim());
    if (name === 'host') authority = value;
    else if (name !== 'connection') fields.push(name, value);
  }
  return {
    fields: [':method', method, ':scheme', 'https', ':authority', authority, ':path', path, ...fields],
    body: text.slice(headEnd + 4),
  };
}

/**
 * Encodes a text as UTF-8 and returns one character per byte. Node writes the
 * values of fields as Latin-1, but the rendered request must be sent as UTF-8.
 */
function utf8AsBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

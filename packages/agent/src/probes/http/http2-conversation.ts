import type { ClientHttp2Session, ClientHttp2Stream, ClientSessionOptions } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { HeaderFields } from './header-fields.ts';
import type { Http2Request } from './http2-request.ts';
import { ResponseError } from './response-error.ts';
import type { ResponseListener } from './response-parser.ts';
import type { Phase } from './stopwatch.ts';

/** As much of a head as is taken. */
const MAX_HEAD_BYTES = 256 * 1_024;
const MAX_FIELDS = 1_000;
/**
 * As much of all frames together: 2 MiB of body and a head need far less. Frames that carry nothing (one byte of
 * data, further GOAWAYs, announcements of other services) would keep a core busy until the time-out.
 */
const MAX_BYTES = 4 * 1_024 * 1_024;
/** How often that is looked at, ms: node tells of most such frames nothing. */
const LOOK_MS = 50;

/** The types do not know `strictSingleValueFields` of a client yet. */
const SESSION_OPTIONS: ClientSessionOptions & { strictSingleValueFields: boolean } = {
  maxHeaderListPairs: MAX_FIELDS,
  // A configured header that comes twice is sent twice, as over HTTP/1.1.
  strictSingleValueFields: false,
  settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
};

export type Http2ConversationOptions = {
  /** Given, as importing it takes memory that agents without such targets need not have. */
  http2: typeof import('node:http2');
  /** Verified, `h2` agreed on. */
  socket: TLSSocket;
  origin: string;
  request: Http2Request;
};

export interface Http2Listener extends ResponseListener {
  onPhase(phase: Phase): void;
  /** The end; what went wrong is the target's doing when it is a {@link ResponseError}. */
  onError(error: unknown): void;
}

/** One request and its response over HTTP/2. The listener hears nothing after {@link close}. */
export class Http2Conversation {
  readonly #options: Http2ConversationOptions;
  readonly #listener: Http2Listener;
  #session: ClientHttp2Session | undefined;
  #look: NodeJS.Timeout | undefined;
  #hasHead = false;
  #isClosed = false;

  constructor(options: Http2ConversationOptions, listener: Http2Listener) {
    this.#options = options;
    this.#listener = listener;
  }

  start(): void {
    this.#guarded(() => this.#open());
  }

  /** Destroys the connection at once; may be called twice, and from within the listener. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#look);
    this.#session?.destroy();
    this.#options.socket.destroy();
  }

  #open(): void {
    const { http2, socket, origin, request } = this.#options;
    this.#listener.onPhase('first_byte');
    const session = http2.connect(origin, { ...SESSION_OPTIONS, createConnection: () => socket });
    this.#session = session;
    this.#look = setInterval(this.#lookAtBytes, LOOK_MS);
    // Stays: an error after the end must not crash the process.
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
    stream.on('data', (bytes: Buffer) => this.#guarded(() => this.#listener.onBody(bytes, 0, bytes.length)));
    const { http2 } = this.#options;
    // Node cancels the streams of a connection that is gone: then the code is not the target's.
    const isBrokenOff = () => !session.destroyed && stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR;
    stream.on('aborted', () => {
      if (isBrokenOff()) this.#failed(brokenOff(http2, stream.rstCode));
    });
    stream.on('error', (error) => this.#failed(isBrokenOff() ? brokenOff(http2, stream.rstCode) : error));
    stream.on('end', () => this.#guarded(() => this.#ended(stream, session)));
    stream.on('close', this.#closed);
  }

  /** @param rawHeaders names and values in turns, as they came: node's object drops some that come twice */
  #answered(statusCode: number, rawHeaders: readonly string[]): void {
    this.#hasHead = true;
    this.#listener.onPhase('transfer');
    const fields = new HeaderFields();
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
      if (!name.startsWith(':')) fields.add(name, value);
    }
    const { values: headers, setCookies, hasSeveralLocations } = fields;
    this.#listener.onHead({ statusCode, headers, setCookies, hasSeveralLocations });
  }

  #ended({ rstCode }: ClientHttp2Stream, { destroyed }: ClientHttp2Session): void {
    const { http2 } = this.#options;
    const isWhole = rstCode === http2.constants.NGHTTP2_NO_ERROR;
    // Its `error` or `close` comes next, and says what became of the connection.
    if (!isWhole && destroyed) return;
    if (!isWhole || !this.#hasHead) throw brokenOff(http2, rstCode);
    // Decoding may go on for a while: what becomes of the connection meanwhile is of no interest.
    this.close();
    this.#listener.onComplete();
  }

  readonly #lookAtBytes = (): void => {
    if (this.#options.socket.bytesRead > MAX_BYTES) {
      this.#failed(new ResponseError('the target sends more of HTTP/2 itself than of an answer'));
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
    if (!this.#isClosed) this.#listener.onError(isOfProtocol(error) ? asResponseError(error) : error);
  };
}

/** What node says of a peer that breaks the rules. */
function isOfProtocol(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && /^ERR_HTTP2_/.test(String((error as NodeJS.ErrnoException).code));
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
 * Also the codes by which our side refuses what the target sends: broken fields, a length that does not agree, a head
 * beyond its bounds. Node does not tell who sent them.
 */
const BY_EITHER_SIDE: ReadonlySet<string> = new Set(['PROTOCOL_ERROR', 'ENHANCE_YOUR_CALM']);

/** The constants of error codes (RFC 9113, section 7) among those of streams and frames. */
const ERROR_NAME =
  /_(?:NO_ERROR|PROTOCOL_ERROR|INTERNAL_ERROR|FLOW_CONTROL_ERROR|SETTINGS_TIMEOUT|STREAM_CLOSED|FRAME_SIZE_ERROR|REFUSED_STREAM|CANCEL|COMPRESSION_ERROR|CONNECT_ERROR|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/;

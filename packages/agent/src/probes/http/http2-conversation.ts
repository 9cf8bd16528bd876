import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Http2Request } from './http2-request.ts';
import { ResponseError } from './response-error.ts';
import type { ResponseListener } from './response-parser.ts';
import type { Phase } from './stopwatch.ts';

/** As much of a head as is taken. */
const MAX_HEAD_BYTES = 256 * 1_024;
const MAX_FIELDS = 1_000;

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
    this.#session?.destroy();
    this.#options.socket.destroy();
  }

  #open(): void {
    const { http2, socket, origin, request } = this.#options;
    this.#listener.onPhase('first_byte');
    const session = http2.connect(origin, {
      createConnection: () => socket,
      maxHeaderListPairs: MAX_FIELDS,
      settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
    });
    this.#session = session;
    // Stays: an error after the end must not crash the process.
    session.on('error', this.#failed);
    session.on('close', this.#closed);
    const stream = session.request(request.fields, { endStream: request.body === '' });
    this.#listenTo(stream);
    if (request.body !== '') stream.end(request.body);
  }

  #listenTo(stream: ClientHttp2Stream): void {
    stream.on('response', (headers) => this.#guarded(() => this.#answered(headers)));
    stream.on('data', (bytes: Buffer) => this.#guarded(() => this.#listener.onBody(bytes, 0, bytes.length)));
    stream.on('aborted', () => this.#failed(brokenOff(this.#options.http2, stream.rstCode)));
    stream.on('error', (error) => {
      const isReset =
        isOfProtocol(error) && stream.rstCode !== this.#options.http2.constants.NGHTTP2_NO_ERROR;
      this.#failed(isReset ? brokenOff(this.#options.http2, stream.rstCode) : error);
    });
    stream.on('end', () => this.#guarded(() => this.#ended(stream)));
    stream.on('close', this.#closed);
  }

  #answered(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    this.#hasHead = true;
    this.#listener.onPhase('transfer');
    const named = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
    this.#listener.onHead({
      statusCode: headers[':status'] ?? 0,
      headers: new Map(
        named.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
      ),
    });
  }

  #ended({ rstCode }: ClientHttp2Stream): void {
    const { http2 } = this.#options;
    if (!this.#hasHead || rstCode !== http2.constants.NGHTTP2_NO_ERROR) throw brokenOff(http2, rstCode);
    // Decoding may go on for a while: what becomes of the connection meanwhile is of no interest.
    this.close();
    this.#listener.onComplete();
  }

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
  const name = Object.entries(constants).find(
    ([name, value]) => value === code && name.startsWith('NGHTTP2_') && ERROR_NAME.test(name),
  )?.[0];
  return new ResponseError(
    `the target broke off the HTTP/2 stream (${name?.replace('NGHTTP2_', '') ?? `code ${code}`})`,
  );
}

/** The constants of error codes (RFC 9113, section 7) among those of streams and frames. */
const ERROR_NAME =
  /_(?:NO_ERROR|PROTOCOL_ERROR|INTERNAL_ERROR|FLOW_CONTROL_ERROR|SETTINGS_TIMEOUT|STREAM_CLOSED|FRAME_SIZE_ERROR|REFUSED_STREAM|CANCEL|COMPRESSION_ERROR|CONNECT_ERROR|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY|HTTP_1_1_REQUIRED)$/;

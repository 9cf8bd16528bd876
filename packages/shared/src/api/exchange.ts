import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import { codeOf, messageOf, SvcError } from '../errors.ts';

export type Sent = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

type ExchangeBounds = {
  readonly clock: Clock;
  /** Maximum duration of the whole exchange, ms. */
  readonly timeoutMs: number;
  readonly answerBytes: number;
  readonly signal: AbortSignal;
};

export type ExchangeEnd =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: AnswerHeaders;
      readonly text: string;
    }
  | {
      readonly kind: 'unanswered';
      readonly failure: 'unreachable' | 'timeout' | 'broken' | 'certificate' | 'answer-too-large' | 'aborted';
      /** Whether the server may have got the request. */
      readonly mayHaveArrived: boolean;
      /** The failure, as the end of a sentence; it contains no secrets. */
      readonly message: string;
      readonly cause?: unknown;
    };

/**
 * The headers of an answer. When a name came several times, Node keeps the first value of some headers, such
 * as `retry-after` and `location`. The values of other headers are joined with commas.
 */
export type AnswerHeaders = {
  get(name: string): string | null;
  has(name: string): boolean;
};

/** Maximum time from the start of a request to its connection, including TLS, ms. */
const CONNECT_MS = 10_000;

/**
 * Runs one attempt: sends the request and reads the answer with its whole body. The promise never rejects,
 * and redirects are not followed.
 *
 * Requests use `node:http` with Node's shared agent, which keeps connections and uses the proxy of the
 * environment. Servers on this machine have agents without a proxy. With `fetch`, a refresh of a thousand
 * objects takes 30 MB more memory.
 */
export async function exchange(sent: Sent, bounds: ExchangeBounds): Promise<ExchangeEnd> {
  const { clock, timeoutMs, signal } = bounds;
  if (signal.aborted) return GIVEN_UP;
  let request: ClientRequest;
  try {
    request = opened(sent);
  } catch {
    // Node itself refused the request, and the text of its error may repeat a header's value.
    return NOT_SENT;
  }
  let isLate = false;
  const cancelTimeout = clock.after(timeoutMs, () => {
    isLate = true;
    request.destroy();
  });
  const cancelConnecting = limitConnecting(request, clock);
  const onAbort = () => request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const response = await answerTo(request, sent.body);
    const text = await readText(response, bounds.answerBytes);
    if (text === null) {
      const message = `the answer has more than ${bounds.answerBytes} bytes`;
      return { kind: 'unanswered', failure: 'answer-too-large', mayHaveArrived: true, message };
    }
    return { kind: 'answered', status: response.statusCode ?? 0, headers: headersOf(response), text };
  } catch (error) {
    if (isLate) return unansweredWithin(timeoutMs);
    return signal.aborted ? GIVEN_UP : failureOf(error);
  } finally {
    cancelTimeout();
    cancelConnecting();
    signal.removeEventListener('abort', onAbort);
  }
}

/** The failure of an exchange that reached its time limit. */
export function unansweredWithin(timeoutMs: number): ExchangeEnd {
  const message = `no complete answer within ${Math.round(timeoutMs / 100) / 10} s`;
  return { kind: 'unanswered', failure: 'timeout', mayHaveArrived: true, message };
}

const GIVEN_UP: ExchangeEnd = {
  kind: 'unanswered',
  failure: 'aborted',
  mayHaveArrived: true,
  message: 'given up',
};

const NOT_SENT: ExchangeEnd = {
  kind: 'unanswered',
  failure: 'broken',
  mayHaveArrived: true,
  message: 'the request could not be sent',
};

/**
 * Opens the request without sending its body.
 *
 * @throws TypeError for headers or addresses that cannot be sent
 */
function opened({ url, method, headers }: Sent): ClientRequest {
  const address = new URL(url);
  const { request } = address.protocol === 'https:' ? https : http;
  const agent = directAgent(address);
  return request(address, { method, headers, ...(agent === undefined ? {} : { agent }) });
}

/** Ends the request when a new connection takes too long. A kept connection has no such limit. */
function limitConnecting(request: ClientRequest, clock: Clock): () => void {
  let cancel = () => {};
  request.once('socket', (socket: Socket) => {
    if (!socket.connecting) return;
    cancel = clock.after(CONNECT_MS, () =>
      request.destroy(new SvcError('unreachable', `no connection within ${CONNECT_MS / 1_000} s`)),
    );
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', cancel);
  });
  return () => cancel();
}

function answerTo(request: ClientRequest, body: string | null): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // The listener stays: a connection that breaks while the answer is read reports its error here too.
    request.on('error', reject);
    // After an answer that switches protocols (status 101), Node emits `close` without `response` or `error`.
    // If the promise is settled already, `close` changes nothing.
    request.once('close', () => reject(new SvcError('broken', CUT)));
    request.end(body);
  });
}

/** Reads the body as text; null when the body is longer than `maximumBytes`. */
async function readText(response: IncomingMessage, maximumBytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maximumBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function headersOf({ headers }: IncomingMessage): AnswerHeaders {
  const text = (name: string) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? null : String(value);
  };
  return { get: text, has: (name) => text(name) !== null };
}

/** Error codes that count as the end of an attempt before a connection existed. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'unreachable',
]);

/**
 * Error codes of OpenSSL and Node for a certificate that is not trusted, and for a peer that does not speak
 * TLS.
 */
const NOT_TRUSTED = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/**
 * The message for a connection that ends before the whole answer came. It replaces Node's "aborted" and
 * "socket hang up".
 */
const CUT = 'the connection was cut before the answer was complete';

function failureOf(cause: unknown): ExchangeEnd {
  const code = codeOf(cause);
  // If several addresses were tried, the message is empty and only the code says what failed.
  const message = code === 'ECONNRESET' ? CUT : readable(messageOf(cause)) || code;
  const failure = NOT_CONNECTED.has(code) ? 'unreachable' : NOT_TRUSTED.test(code) ? 'certificate' : 'broken';
  return { kind: 'unanswered', failure, mayHaveArrived: failure === 'broken', message, cause };
}

/**
 * Puts a message on one line. OpenSSL's messages name source files over several lines, and do not say what to
 * do.
 */
function readable(message: string): string {
  if (message.includes('wrong version number')) {
    return 'the server does not speak TLS on this port: if it serves plain HTTP, use http://';
  }
  return message.replaceAll(/\s+/g, ' ').trim();
}

/** Node's defaults for its shared agents. The agents made with these options use no proxy. */
const OPTIONS: https.AgentOptions = { keepAlive: true, scheduling: 'lifo', timeout: 5_000 };
const overHttp = new http.Agent(OPTIONS);
const overHttps = new https.Agent(OPTIONS);

/**
 * Loopback host names as {@link URL} writes them. The last form is 127.0.0.0/8 as an IPv4-mapped IPv6
 * address.
 */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

/**
 * Returns the agent for a server on this machine, or undefined for any other server.
 *
 * A proxy on another machine cannot reach a server on this machine, and it would see the token of a plain
 * request. Node uses the proxy of the environment for loopback too, unless NO_PROXY names the host. Programs
 * written in Go never use it for loopback.
 */
function directAgent({ protocol, hostname }: URL): http.Agent | undefined {
  if (!LOOPBACK.test(hostname)) return undefined;
  return protocol === 'https:' ? overHttps : overHttp;
}

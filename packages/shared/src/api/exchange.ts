import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import { messageOf, SvcError } from '../errors.ts';
import { directAgent } from './direct-agents.ts';

export type Sent = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
};

export type ExchangeBounds = {
  readonly clock: Clock;
  /** For the whole exchange, ms. */
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
      /** Follows "…": free of secrets. */
      readonly message: string;
      readonly cause?: unknown;
    };

/** What a header said; of a name that came several times, all of it with commas between. */
export type AnswerHeaders = {
  get(name: string): string | null;
  has(name: string): boolean;
};

/** From the start of a request to its connection, TLS included; ms. */
const CONNECT_MS = 10_000;

/**
 * One attempt: request, answer and its whole body. Never rejects, follows no redirect.
 *
 * By `node:http` and its shared agent, which keeps connections and goes through the proxy that the
 * environment names, except to this machine: with `fetch` a refresh of a thousand objects takes 30 MB
 * more memory.
 */
export async function exchange(sent: Sent, bounds: ExchangeBounds): Promise<ExchangeEnd> {
  const { clock, timeoutMs, signal } = bounds;
  if (signal.aborted) return GIVEN_UP;
  let request: ClientRequest;
  try {
    request = opened(sent);
  } catch {
    // Node's own refusal, whose text may repeat a header's value.
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
    if (isLate) {
      const message = `no complete answer within ${timeoutMs / 1_000} s`;
      return { kind: 'unanswered', failure: 'timeout', mayHaveArrived: true, message };
    }
    return signal.aborted ? GIVEN_UP : failureOf(error);
  } finally {
    cancelTimeout();
    cancelConnecting();
    signal.removeEventListener('abort', onAbort);
  }
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

/** @throws TypeError for headers or addresses that cannot be sent */
function opened({ url, method, headers }: Sent): ClientRequest {
  const address = new URL(url);
  const { request } = address.protocol === 'https:' ? https : http;
  const agent = directAgent(address);
  return request(address, { method, headers, ...(agent === undefined ? {} : { agent }) });
}

/** A new connection that takes too long ends the request; one that is kept is there already. */
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
    // Stays: a connection that breaks while the answer is read says so here as well.
    request.on('error', reject);
    // Alone where an answer is none for HTTP, like 101; after an answer it changes nothing.
    request.once('close', () => reject(new SvcError('broken', CUT)));
    request.end(body);
  });
}

/** The body as text, or null when it is longer than that. */
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

/** Codes that end an attempt before a connection exists. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'unreachable',
]);

/** OpenSSL's and Node's codes for a certificate that is not trusted, and for what is no TLS at all. */
const NOT_TRUSTED = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/** Node says "aborted" or "socket hang up". */
const CUT = 'the connection was cut before the answer was complete';

function failureOf(cause: unknown): ExchangeEnd {
  const code = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // Where several addresses were tried, the message is empty and the code says what they share.
  const message = code === 'ECONNRESET' ? CUT : readable(messageOf(cause)) || code;
  const failure = NOT_CONNECTED.has(code) ? 'unreachable' : NOT_TRUSTED.test(code) ? 'certificate' : 'broken';
  return { kind: 'unanswered', failure, mayHaveArrived: failure === 'broken', message, cause };
}

/** OpenSSL's errors name its source files over several lines, and not what people do about them. */
function readable(message: string): string {
  if (message.includes('wrong version number')) {
    return 'what answers there does not speak TLS: is it http:// and not https://?';
  }
  return message.replaceAll(/\s+/g, ' ').trim();
}

import type { Clock } from '@svc/shared/clock.ts';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { codeOf, SvcError } from '@svc/shared/errors.ts';
import { EXCERPT_BYTES, maskedExcerpt } from '@svc/shared/masking/mask.ts';
import type { ProxyFor } from '@svc/shared/proxy/proxy.ts';
import { type ClientIdentity, trustedContext } from '@svc/shared/server-trust.ts';
import { Client, type Dispatcher } from 'undici';
import { guardedConnector, ProxyError } from './dial.ts';
import { type Resolve, resolveFairly } from './names.ts';

/** Time limit for resolving the name and opening the connection, including the proxy's tunnel and TLS, ms. */
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Default time limit for the whole exchange, ms: resolving the name, opening the connection, sending the
 * request, and reading the reply up to its bound.
 */
const TOTAL_TIMEOUT_MS = 15_000;
const REPLY_BYTES = 64 * 1_024;

export type PostRequest = {
  /** HTTP method; the default is POST. */
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  /** Names and values. Headers that users configure have gone through {@link mergeHeaders}. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body of the request; left out: the request has no body. */
  readonly body?: string | Uint8Array;
  /** Maximum number of bytes of the reply that are read; left out: 64 KiB. */
  readonly replyBytes?: number;
  /** Values that must not appear in any message about the attempt, even when the receiver repeats them. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
};

/** The receiver has answered, with any status. */
export type PostReply = {
  kind: 'answered';
  statusCode: number;
  /**
   * The wait that the header `Retry-After` asks for, ms, >= 0. Left out when {@link parseRetryAfter} reads no
   * wait.
   */
  retryAfterMs?: number;
  /** Headers by their names in lower case. For the caller only, never for logs. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The text of the bytes that were read, at most `replyBytes`. For the caller only, never for logs. */
  body: string;
  /** The bytes of the reply that were read. */
  bytes: Uint8Array;
  /** Whether `body` is the whole reply. A reply of exactly `replyBytes` bytes counts as cut off. */
  isWhole: boolean;
  /**
   * The part of the reply that people may see: one masked line of at most 900 bytes; '' when the reply has no
   * body.
   */
  excerpt: string;
};

/** Why there was no answer. */
const POST_FAILURES = [
  'invalid-request',
  'egress-denied',
  'unresolved',
  'unreachable',
  'certificate',
  'certificate-expired',
  'timeout',
  'aborted',
  'broken',
] as const;
export type PostFailure = (typeof POST_FAILURES)[number];

/** What became of a request. `error` names the cause for people, and contains no secret of the request. */
export type PostResult = PostReply | { kind: 'unanswered'; failure: PostFailure; error: string };

/** Makes one request. It follows no redirect, does not retry and never rejects. */
export type HttpPost = (request: PostRequest) => Promise<PostResult>;

export type HttpPostParts = {
  clock: Clock;
  guard: EgressGuard;
  resolve?: Resolve;
  /** PEM certificates of authorities that are trusted in addition to those of this process. */
  ca?: readonly string[];
  /** The client certificate for receivers that request one. */
  identity?: ClientIdentity | undefined;
  /**
   * Time limit for the whole exchange, ms; the default is 15 s. A limit under 5 s bounds the connection too.
   */
  timeoutMs?: number;
  /** Chooses the proxy; undefined: every connection is direct. */
  proxyFor?: ProxyFor | undefined;
  /**
   * Whether this coordinator may send now. It is called before the name is resolved, and before the request
   * leaves.
   */
  maySend?: () => boolean;
};

/**
 * Creates a function that opens a new connection for each request. Alerts are rare, and if a connection were
 * kept and the receiver had closed it, the first attempt of an alert would fail. TLS sessions may be resumed.
 */
export function createHttpPost({
  clock,
  guard,
  resolve = resolveFairly,
  ca = [],
  identity,
  timeoutMs = TOTAL_TIMEOUT_MS,
  proxyFor,
  maySend = () => true,
}: HttpPostParts): HttpPost {
  // With further authorities or a client certificate, the context is made here. Making it takes long, and
  // would delay the first alert.
  const own = ca.length === 0 && identity === undefined ? undefined : trustedContext(ca, identity);
  const connect = guardedConnector({
    guard,
    resolve,
    proxyFor,
    secureContext: () => own ?? trustedContext(),
  });

  return async (request) => {
    const abort = new AbortController();
    const stop = (failure: PostFailure, error: string) => abort.abort(new PostAborted(failure, error));
    const cancelTotal = clock.after(timeoutMs, () =>
      stop('timeout', `no answer within ${timeoutMs / 1_000} s`),
    );
    const cancelConnect = clock.after(CONNECT_TIMEOUT_MS, () => stop('timeout', 'no connection within 5 s'));
    const onAbort = () => stop('aborted', 'svc is stopping');
    request.signal.addEventListener('abort', onAbort, { once: true });
    if (request.signal.aborted) onAbort();
    const stopUnlessLeading = () => {
      if (!maySend()) stop('aborted', 'this coordinator does not lead at this moment');
    };
    stopUnlessLeading();

    let client: Client | undefined;
    try {
      const url = new URL(request.url);
      client = new Client(url.origin, {
        connect: (options, callback) =>
          connect(options, abort.signal, (...answer) => {
            cancelConnect();
            // The process may have been frozen while it connected, so another coordinator may lead now.
            stopUnlessLeading();
            callback(...answer);
          }),
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const opened = client;
      // A request that waits for its connection ignores its signal, so the client is destroyed.
      abort.signal.addEventListener('abort', () =>
        opened.destroy(abort.signal.reason as Error).catch(() => {}),
      );
      const response = await client.request({
        method: request.method ?? 'POST',
        path: `${url.pathname}${url.search}`,
        headers: request.headers.flat(),
        body: request.body ?? null,
        reset: true,
        signal: abort.signal,
      });
      const { bytes, isWhole } = await readReply(response.body, abort.signal, request.replyBytes);
      const body = bytes.toString('utf8');
      const retryAfterMs = parseRetryAfter(response.headers['retry-after'], clock.wall());
      return {
        kind: 'answered',
        statusCode: response.statusCode,
        headers: response.headers,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        body,
        bytes,
        isWhole,
        excerpt: maskedExcerpt(body, request.secrets, EXCERPT_BYTES, !isWhole),
      };
    } catch (error) {
      return { kind: 'unanswered', ...failureOf(abort.signal.aborted ? abort.signal.reason : error) };
    } finally {
      cancelTotal();
      cancelConnect();
      request.signal.removeEventListener('abort', onAbort);
      // The promise is not awaited: it only waits for the socket to close, which must not delay the result.
      client?.destroy(EXCHANGE_OVER).catch(() => {});
    }
  };
}

/**
 * The error with which a client is destroyed after its exchange. Without it, undici would create an error
 * with a stack for each request, which is slow.
 */
const EXCHANGE_OVER = new SvcError('post-aborted', 'the exchange is over');

class PostAborted extends SvcError {
  readonly failure: PostFailure;

  constructor(failure: PostFailure, message: string) {
    super('post-aborted', message);
    this.failure = failure;
  }
}

/**
 * Reads the reply's body up to the bound. The status has already arrived, so a body that is cut off or never
 * ends does not make the request fail.
 */
async function readReply(
  body: Dispatcher.ResponseData['body'],
  signal: AbortSignal,
  mostBytes = REPLY_BYTES,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isWhole = true;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      isWhole = size < mostBytes && !signal.aborted;
      if (!isWhole) break;
    }
  } catch {
    // The body was cut off, or a time limit ended the reading. The result has the bytes that arrived.
    isWhole = false;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, mostBytes), isWhole };
}

/** A date without a zone, `Sun Nov  6 08:49:37 1994`. Such a date is in UTC (RFC 9110, section 5.6.7). */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * Reads the header `Retry-After`, which has seconds or a date.
 *
 * @param now epoch ms
 * @returns ms from now, >= 0, infinite for a number of seconds that is too large for a double; undefined when
 *   the header is absent, or neither seconds nor a date
 */
export function parseRetryAfter(value: string | string[] | undefined, now: number): number | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1_000;
  const zoned = ASCTIME.test(text) ? `${text} GMT` : text;
  const date = zoned.endsWith('GMT') ? Date.parse(zoned) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Names of headers that frame the request. Configured headers of these names are dropped. */
const FRAMING = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);

/**
 * Merges svc's headers with the configured headers. A configured header replaces svc's header of the same
 * name (case is ignored). Configured headers that frame the request, and those whose names begin with
 * `proxy-`, are dropped.
 */
export function mergeHeaders(
  ours: Readonly<Record<string, string>>,
  configured: readonly { key: string; value: string }[],
): [name: string, value: string][] {
  const theirs = configured.filter(({ key }) => {
    const name = key.toLowerCase();
    return !FRAMING.has(name) && !name.startsWith('proxy-');
  });
  const overridden = new Set(theirs.map(({ key }) => key.toLowerCase()));
  return [
    ...Object.entries(ours).filter(([name]) => !overridden.has(name.toLowerCase())),
    ...theirs.map(({ key, value }): [string, string] => [key, value]),
  ];
}

/**
 * Returns the failure, and a text that names the error by its code. Messages of libraries are not repeated,
 * because they may contain URLs and header values.
 */
function failureOf(error: unknown): { failure: PostFailure; error: string } {
  if (error instanceof PostAborted) return { failure: error.failure, error: error.message };
  if (error instanceof ProxyError) return { failure: 'unreachable', error: error.message };
  if (error instanceof EgressDeniedError) {
    return {
      failure: 'egress-denied',
      error: `${error.message}: add the range to SVC_CHANNEL_EGRESS_ALLOW to allow it`,
    };
  }
  // Several addresses were tried and failed. The error of the first address is reported.
  if (error instanceof AggregateError && error.errors.length > 0) return failureOf(error.errors[0]);
  const code = codeOf(error);
  if (code === 'ERR_INVALID_URL')
    return { failure: 'invalid-request', error: 'the address is not a valid URL' };
  if (code === 'UND_ERR_INVALID_ARG' || code === 'ERR_INVALID_CHAR') {
    return { failure: 'invalid-request', error: 'the configured address or headers cannot be sent' };
  }
  if (RESOLVING.has(code)) return { failure: 'unresolved', error: `cannot resolve the host name (${code})` };
  if (CONNECTING.has(code))
    return { failure: 'unreachable', error: `cannot connect to the receiver (${code})` };
  if (EXPIRED.has(code))
    return {
      failure: 'certificate-expired',
      error: `the receiver's TLS certificate is out of date (${code})`,
    };
  if (/CERT|SIGNATURE|ERR_TLS_CERT|ISSUER|UNABLE_TO_/.test(code)) {
    return { failure: 'certificate', error: `the receiver's TLS certificate is not trusted (${code})` };
  }
  // This error is recognised by its name, because its code is often undefined.
  if (error instanceof Error && error.name === 'HTTPParserError')
    return { failure: 'broken', error: 'the answer of the receiver is not HTTP' };
  return { failure: 'broken', error: `the connection failed (${code === '' ? 'unknown error' : code})` };
}

const RESOLVING = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME', 'ESERVFAIL']);
const EXPIRED = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);
const CONNECTING = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'ETIMEDOUT',
]);

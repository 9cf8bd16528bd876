import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';

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

export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly headers: Headers; readonly text: string }
  | {
      readonly kind: 'unanswered';
      readonly failure: 'unreachable' | 'timeout' | 'broken' | 'certificate' | 'answer-too-large' | 'aborted';
      /** Whether the server may have got the request. */
      readonly mayHaveArrived: boolean;
      /** Follows "…": free of secrets. */
      readonly message: string;
      readonly cause?: unknown;
    };

/** One attempt: request, answer and its whole body. Never rejects, follows no redirect. */
export async function exchange(sent: Sent, bounds: ExchangeBounds): Promise<Exchange> {
  const { clock, timeoutMs, signal } = bounds;
  const abort = new AbortController();
  let isLate = false;
  const cancelTimeout = clock.after(timeoutMs, () => {
    isLate = true;
    abort.abort();
  });
  const onAbort = () => abort.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const response = await fetch(sent.url, {
      method: sent.method,
      headers: sent.headers,
      body: sent.body,
      redirect: 'manual',
      signal: abort.signal,
    });
    const text = await readText(response, bounds.answerBytes);
    if (text === null) {
      const message = `the answer has more than ${bounds.answerBytes} bytes`;
      return { kind: 'unanswered', failure: 'answer-too-large', mayHaveArrived: true, message };
    }
    return { kind: 'answered', status: response.status, headers: response.headers, text };
  } catch (error) {
    if (isLate) {
      const message = `no complete answer within ${timeoutMs / 1_000} s`;
      return { kind: 'unanswered', failure: 'timeout', mayHaveArrived: true, message };
    }
    if (signal.aborted) {
      return { kind: 'unanswered', failure: 'aborted', mayHaveArrived: true, message: 'given up' };
    }
    return failureOf(error);
  } finally {
    cancelTimeout();
    signal.removeEventListener('abort', onAbort);
    // Also ends what is left of a body that was not read to its end.
    abort.abort();
  }
}

/** The body as text, or null when it is longer than that. */
async function readText(response: Response, maximumBytes: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maximumBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Codes that end an attempt before a connection exists. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** OpenSSL's and Node's codes for a certificate that is not trusted, and for what is no TLS at all. */
const NOT_TRUSTED = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

function failureOf(error: unknown): Exchange {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : null;
  // Without a cause it is fetch's own refusal, whose text may repeat a header's value.
  if (cause === null) {
    return {
      kind: 'unanswered',
      failure: 'broken',
      mayHaveArrived: true,
      message: 'the request could not be sent',
    };
  }
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // Where several addresses were tried, the message is empty and the code says what they share.
  const message = messageOf(cause) || code;
  const failure = NOT_CONNECTED.has(code) ? 'unreachable' : NOT_TRUSTED.test(code) ? 'certificate' : 'broken';
  return { kind: 'unanswered', failure, mayHaveArrived: failure === 'broken', message, cause };
}

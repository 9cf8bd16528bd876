import { maskedExcerpt } from '@svc/shared/masking/mask.ts';
import type { PostResult } from '../outgoing/http-post.ts';
import type { Encoding } from './request-encoder.ts';

/** The answer of an endpoint to a request, and its consequence. */
export type Consequence =
  /** `rejected` points of it were not taken (a partial success). */
  | { readonly is: 'taken'; readonly rejected: number; readonly error: string | null }
  /** The endpoint may take the other encoding. */
  | { readonly is: 'other-encoding'; readonly error: string }
  | { readonly is: 'retry'; readonly afterMs: number | null; readonly error: string }
  | { readonly is: 'refused'; readonly error: string };

/** Statuses after which the same request may be sent again (OTLP 1.10, "Retryable Response Codes"). */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** Statuses with which receivers answer an unknown encoding. */
const ENCODING_UNKNOWN = new Set([400, 415]);
/** Failures that another try would meet as well. */
const PERMANENT = new Set(['invalid-request', 'egress-denied']);
/** Most bytes that are shown of what an endpoint says about a partial success. */
const MESSAGE_BYTES = 300;

/** @param secrets must not appear in what is said, even when the endpoint repeats them */
export function consequenceOf(
  result: PostResult,
  encoding: Encoding,
  secrets: readonly string[],
): Consequence {
  if (result.kind === 'unanswered') {
    const { error, failure } = result;
    return PERMANENT.has(failure) ? { is: 'refused', error } : { is: 'retry', afterMs: null, error };
  }
  const { statusCode, excerpt, bytes } = result;
  if (statusCode >= 200 && statusCode < 300) return partial(readAnswer(bytes, encoding), secrets);
  const error = `answered ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`;
  if (statusCode >= 300 && statusCode < 400)
    return { is: 'refused', error: `answered ${statusCode}: redirects are not followed` };
  if (ENCODING_UNKNOWN.has(statusCode)) return { is: 'other-encoding', error };
  if (RETRYABLE.has(statusCode)) return { is: 'retry', afterMs: result.retryAfterMs ?? null, error };
  return { is: 'refused', error };
}

/**
 * Whether an endpoint reads protobuf, by its answer to a request in it; null: it did not say. The answer must have the
 * type of the request (OTLP 1.10, "OTLP/HTTP Response"): one that takes everything without a look does not know that.
 */
export function readsProtobuf(result: PostResult): boolean | null {
  const verdict = consequenceOf(result, 'protobuf', []);
  if (verdict.is === 'retry') return null;
  if (verdict.is !== 'taken' || verdict.error !== null || result.kind !== 'answered') return false;
  return /^application\/x-protobuf\b/i.test(String(result.headers['content-type']));
}

type PartialSuccess = { readonly rejected: number; readonly message: string };

function partial({ rejected, message }: PartialSuccess, secrets: readonly string[]): Consequence {
  if (rejected === 0 && message === '') return { is: 'taken', rejected, error: null };
  const said = maskedExcerpt(message, secrets, MESSAGE_BYTES);
  const error = `${rejected} points were rejected${said === '' ? '' : `: ${said}`}`;
  return { is: 'taken', rejected, error: rejected === 0 ? said : error };
}

const NOTHING_SAID: PartialSuccess = { rejected: 0, message: '' };

/** An answer that is none of OTLP says nothing. */
function readAnswer(bytes: Uint8Array, encoding: Encoding): PartialSuccess {
  if (bytes.length === 0) return NOTHING_SAID;
  try {
    return encoding === 'json' ? readJson(bytes) : readProtobuf(bytes);
  } catch {
    return NOTHING_SAID;
  }
}

function readJson(bytes: Uint8Array): PartialSuccess {
  const answer = JSON.parse(Buffer.from(bytes).toString()) as {
    partialSuccess?: { rejectedDataPoints?: unknown; errorMessage?: unknown } | null;
  } | null;
  const { rejectedDataPoints = 0, errorMessage } = answer?.partialSuccess ?? {};
  const message = typeof errorMessage === 'string' ? errorMessage : '';
  return { rejected: countOf(Number(rejectedDataPoints)), message };
}

/** `partial_success` is field 1 of the answer; in it `rejected_data_points` is field 1, `error_message` field 2. */
function readProtobuf(bytes: Uint8Array): PartialSuccess {
  const within = fieldsOf(bytes).find(({ field }) => field === 1)?.value;
  if (!(within instanceof Uint8Array)) return NOTHING_SAID;
  const fields = fieldsOf(within);
  const rejected = fields.find(({ field }) => field === 1)?.value ?? 0;
  const message = fields.find(({ field }) => field === 2)?.value;
  return {
    rejected: typeof rejected === 'number' ? countOf(rejected) : 0,
    message: message instanceof Uint8Array ? Buffer.from(message).toString() : '',
  };
}

/** @throws RangeError for what is no protobuf, or has fields of other types than the answer */
function fieldsOf(bytes: Uint8Array): { field: number; value: number | Uint8Array }[] {
  const fields: { field: number; value: number | Uint8Array }[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined || factor > 2 ** 63) throw new RangeError('no varint');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === 0) {
      fields.push({ field, value: varint() });
    } else if (type === 2) {
      const length = varint();
      if (at + length > bytes.length) throw new RangeError('a field is longer than the message');
      fields.push({ field, value: bytes.subarray(at, at + length) });
      at += length;
    } else {
      throw new RangeError('another type of field');
    }
  }
  return fields;
}

function countOf(value: number): number {
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

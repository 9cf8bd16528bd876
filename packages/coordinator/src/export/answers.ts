import { maskedExcerpt } from '@svc/shared/masking/mask.ts';
import { ProtobufMetricsSerializer } from '@svc/shared/otlp/metric-data.ts';
import { z } from 'zod';
import type { PostResult } from '../outgoing/http-post.ts';
import type { Encoding } from './export-settings.ts';

/** What svc does after a request, given the endpoint's answer or the failure to get one. */
export type Consequence =
  /** The endpoint took the request. It rejected `rejected` of the points (a partial success if > 0). */
  | { readonly is: 'taken'; readonly rejected: number; readonly error: string | null }
  /** The endpoint did not take the encoding. It may take the other encoding. */
  | { readonly is: 'other-encoding'; readonly error: string }
  | { readonly is: 'retry'; readonly afterMs: number | null; readonly error: string }
  | { readonly is: 'refused'; readonly error: string };

/** Statuses after which the same request may be sent again (OTLP 1.10, "Retryable Response Codes"). */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** HTTP statuses that an endpoint answers with if it does not know the encoding. */
const ENCODING_UNKNOWN = new Set([400, 415]);
/** Failures without an answer that every retry would repeat. */
const PERMANENT = new Set(['invalid-request', 'egress-denied']);
/** Maximum size of the shown part of an endpoint's message about a partial success, bytes. */
const MESSAGE_BYTES = 300;

/**
 * Decides what svc does after a request.
 *
 * @param secrets texts that are masked in errors, because the endpoint may repeat them
 */
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
  if (statusCode >= 200 && statusCode < 300) return partial(bytes, encoding, secrets);
  const error = `answered ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`;
  if (statusCode >= 300 && statusCode < 400)
    return { is: 'refused', error: `answered ${statusCode}: redirects are not followed` };
  if (ENCODING_UNKNOWN.has(statusCode)) return { is: 'other-encoding', error };
  if (RETRYABLE.has(statusCode)) return { is: 'retry', afterMs: result.retryAfterMs ?? null, error };
  return { is: 'refused', error };
}

/** An OTLP answer. Members of wrong types count as absent. */
const answer = z.object({
  partialSuccess: z.object({
    rejectedDataPoints: z.coerce.number().int().nonnegative().catch(0),
    errorMessage: z.string().catch(''),
  }),
});

function partial(bytes: Uint8Array, encoding: Encoding, secrets: readonly string[]): Consequence {
  const { data } = answer.safeParse(read(bytes, encoding));
  const { rejectedDataPoints: rejected = 0, errorMessage = '' } = data?.partialSuccess ?? {};
  if (rejected === 0 && errorMessage === '') return { is: 'taken', rejected, error: null };
  const said = maskedExcerpt(errorMessage, secrets, MESSAGE_BYTES);
  const error = `${rejected} points were rejected${said === '' ? '' : `: ${said}`}`;
  return { is: 'taken', rejected, error: rejected === 0 ? said : error };
}

/**
 * Parses an answer; undefined: the bytes are not valid in this encoding. OpenTelemetry's own serializer is
 * not used for JSON. If an answer is invalid, that serializer writes an excerpt to the log, with any secret
 * that the endpoint repeats (`findings/opentelemetry-otlp-json-answer-in-log.sh`).
 */
function read(bytes: Uint8Array, encoding: Encoding): unknown {
  try {
    return encoding === 'json'
      ? JSON.parse(Buffer.from(bytes).toString())
      : ProtobufMetricsSerializer.deserializeResponse(bytes);
  } catch {
    return undefined;
  }
}

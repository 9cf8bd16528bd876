import type { PostReply, PostResult } from '../outgoing/http-post.ts';
import type { SendResult } from './channel.ts';

/**
 * Judges how a post to a vendor ended, as nearly all vendors mean it:
 *
 * | answer | outcome |
 * | --- | --- |
 * | 2xx | `delivered` |
 * | 400, 413, 415, 422: the message is at fault | `permanent-message` |
 * | 401, 403, 404, 410: the credential or the address is at fault | `permanent-channel` |
 * | none, 408, 425, 429, 5xx, and every other: a redirect (never followed), a status of no known meaning | `retry` |
 *
 * @param own what the vendor means otherwise; null: nothing
 */
export function judged(
  result: PostResult,
  own: (reply: PostReply) => SendResult | null = () => null,
): SendResult {
  if (result.kind === 'unanswered') {
    const outcome = result.failure === 'invalid-request' ? 'permanent-channel' : 'retry';
    return { outcome, error: result.error };
  }
  const special = own(result);
  if (special !== null) return special;
  const { statusCode } = result;
  if (statusCode >= 200 && statusCode <= 299) return { outcome: 'delivered', statusCode };
  if (OF_THE_MESSAGE.has(statusCode)) return refused('permanent-message', result);
  if (OF_THE_CHANNEL.has(statusCode)) return refused('permanent-channel', result);
  return refused('retry', result);
}

const OF_THE_MESSAGE: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const OF_THE_CHANNEL: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/**
 * The result of an answer that is no success.
 *
 * @param waitMs wait that the body asks for, ms; without one that of `Retry-After` counts
 */
export function refused(
  outcome: 'retry' | 'permanent-message' | 'permanent-channel',
  reply: PostReply,
  waitMs?: number,
): SendResult {
  const { statusCode, excerpt } = reply;
  const error = `the receiver answered ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`;
  if (outcome !== 'retry') return { outcome, error, statusCode };
  const retryAfterMs = waitMs ?? reply.retryAfterMs;
  return { outcome, error, statusCode, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

import type { PostFailure, PostReply, PostResult } from '../outgoing/http-post.ts';
import type { FailureReason, SendResult } from './channel.ts';

type Retry = Extract<SendResult, { outcome: 'retry' }>;

/**
 * Judges how a post to a vendor ended, as nearly all vendors mean it:
 *
 * | answer | outcome |
 * | --- | --- |
 * | 2xx | `delivered` |
 * | 400, 413, 415, 422: the message is at fault | `permanent-message` |
 * | 401, 403, 404, 410: the credential or the address is at fault | `permanent-channel` |
 * | none, 408, 425, 429, 5xx, a redirect (never followed), and what has no known meaning | `retry` |
 *
 * A certificate that is not trusted may say that an address that users declare leads to somebody else: after some
 * minutes it is dead. One that has expired is renewed, and what the operator sets is the operator's to mend.
 *
 * @param own   judges the replies that the vendor means otherwise; it returns null for all others
 * @param whose who sets the address
 */
export function judged(
  result: PostResult,
  own: (reply: PostReply) => SendResult | null = () => null,
  whose: 'users' | 'operator' = 'operator',
): SendResult {
  if (result.kind === 'unanswered') {
    const { failure, error } = result;
    if (failure === 'invalid-request') return { outcome: 'permanent-channel', error, reason: 'refused' };
    if (!NOT_REACHED.has(failure)) return { outcome: 'retry', error };
    const mayBeDead = failure === 'certificate' && whose === 'users';
    return { outcome: 'retry', error, reason: 'unreachable', ...(mayBeDead ? { mayBeDead } : {}) };
  }
  const special = own(result);
  if (special !== null) return special;
  const { statusCode } = result;
  if (statusCode >= 200 && statusCode <= 299) return { outcome: 'delivered', statusCode };
  if (OF_THE_MESSAGE.has(statusCode)) return refused('permanent-message', result);
  if (OF_THE_CHANNEL.has(statusCode)) return refused('permanent-channel', result);
  return passing(result);
}

const OF_THE_MESSAGE: ReadonlySet<number> = new Set([400, 413, 415, 422]);
const OF_THE_CHANNEL: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/** After these the receiver has not got the alert. After the others it may have. */
const NOT_REACHED: ReadonlySet<PostFailure> = new Set([
  'egress-denied',
  'unresolved',
  'unreachable',
  'certificate',
  'certificate-expired',
]);

/** The result of an answer that stands for good. */
export function refused(outcome: 'permanent-message' | 'permanent-channel', reply: PostReply): SendResult {
  return { outcome, error: errorOf(reply), statusCode: reply.statusCode };
}

/** The result of an answer that may be another one later. */
export function passing(
  reply: PostReply,
  more: {
    /** Wait that the body asks for, ms; without one that of `Retry-After` counts. */
    readonly waitMs?: number | undefined;
    readonly reason?: FailureReason;
    readonly mayBeDead?: boolean;
  } = {},
): Retry {
  const { waitMs = reply.retryAfterMs, ...facts } = more;
  return {
    outcome: 'retry',
    error: errorOf(reply),
    statusCode: reply.statusCode,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    ...facts,
  };
}

function errorOf({ statusCode, excerpt }: PostReply): string {
  return `the receiver answered ${statusCode}${excerpt === '' ? '' : `: ${excerpt}`}`;
}

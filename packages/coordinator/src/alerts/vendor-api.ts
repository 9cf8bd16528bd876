import { jsonOrUndefined } from '@svc/shared/json.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { HttpPost, PostFailure, PostReply, PostRequest, PostResult } from '../outgoing/http-post.ts';
import type { FailureReason, SendResult } from './channel.ts';

/*
 * The code that all vendors with an HTTP API share: it sends JSON to them, and judges their answers.
 */

export type JsonRequest = Pick<PostRequest, 'method' | 'url' | 'secrets' | 'signal'> & {
  readonly body: object;
  /** Further headers, with names in lower case. They may replace the content type and the user agent. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Posts JSON to a vendor. */
export function postJson(post: HttpPost, { body, headers, ...request }: JsonRequest): Promise<PostResult> {
  const all = { 'content-type': 'application/json', 'user-agent': `svc/${VERSION}`, ...headers };
  return post({ ...request, headers: Object.entries(all), body: JSON.stringify(body) });
}

/** The body of a reply as JSON; undefined when the body is not JSON. */
export function jsonOf({ body }: { readonly body: string }): unknown {
  return jsonOrUndefined(body);
}

/** Joins the base URL of a vendor and a path that begins with a slash. The base URL may have a path too. */
export function apiUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, '')}${path}`;
}

type Retry = Extract<SendResult, { outcome: 'retry' }>;

/**
 * Judges how a post to a vendor ended, by the meaning that nearly all vendors give to a status:
 *
 * | answer | outcome |
 * | --- | --- |
 * | 2xx | `delivered` |
 * | 400, 413, 415, 422: the message is at fault | `permanent-message` |
 * | 401, 403, 404, 410: the credential or the address is at fault | `permanent-channel` |
 * | none, because no valid request could be made | `permanent-channel` |
 * | none for another reason, 408, 425, 429, 5xx, a redirect (svc follows none), and any other | `retry` |
 *
 * A certificate that is not trusted may show that the address which a user declared now leads to somebody
 * else. The address counts as dead if later attempts fail likewise (see `mayBeDead`). A certificate that is
 * out of date has no such effect, because its owner will renew it.
 *
 * @param own   judges the replies to which this vendor gives another meaning; it returns null for all others
 * @param whose `users`: an untrusted certificate may show that the address is dead
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
  if (isSuccess(statusCode)) return { outcome: 'delivered', statusCode };
  if (MESSAGE_AT_FAULT.has(statusCode)) return refused('permanent-message', result);
  if (ADDRESS_AT_FAULT.has(statusCode)) return refused('permanent-channel', result);
  return passing(result);
}

const MESSAGE_AT_FAULT: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** Statuses that say that the address or the credential is wrong. */
const ADDRESS_AT_FAULT: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/**
 * Failures that show that the receiver did not get the alert. After a
 * timeout, an abort or a broken connection, the receiver may have got it.
 */
const NOT_REACHED: ReadonlySet<PostFailure> = new Set([
  'egress-denied',
  'unresolved',
  'unreachable',
  'certificate',
  'certificate-expired',
]);

/**
 * Judges as {@link judged} does, for an API whose address the operator sets: 401, 403, 404 and 410 are the
 * operator's fault, unless `own` judges otherwise, and stop no channel. Only one status means that the vendor
 * has taken the alert. If the status is any other 2xx, a proxy or a login page answered.
 *
 * @param taken the status that means success
 * @param own   judges the replies to which this vendor gives another meaning; it returns null for all others
 */
export function judgedByApi(
  result: PostResult,
  taken: number,
  own: (reply: PostReply) => SendResult | null = () => null,
): SendResult {
  return judged(result, (reply) => {
    const special = own(reply);
    if (special !== null) return special;
    const { statusCode } = reply;
    if (ADDRESS_AT_FAULT.has(statusCode)) return passing(reply, { reason: 'operator' });
    return isSuccess(statusCode) && statusCode !== taken ? passing(reply) : null;
  });
}

function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode <= 299;
}

/** The result of a refusal that a repetition would not change. */
export function refused(outcome: 'permanent-message' | 'permanent-channel', reply: PostReply): SendResult {
  return { outcome, error: errorOf(reply), statusCode: reply.statusCode };
}

/** The result of a failure after which a later attempt may succeed. */
export function passing(
  reply: PostReply,
  more: {
    /** Wait before the next message to the channel, ms. Left out: the wait of the header `Retry-After`. */
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

/** The text of a failure. If the status is a success, another answer was expected, and the text says so. */
function errorOf({ statusCode, excerpt }: PostReply): string {
  const unconfirmed = isSuccess(statusCode)
    ? ' without confirming the message, so it may be another service'
    : '';
  return `the receiver answered ${statusCode}${unconfirmed}${excerpt === '' ? '' : `: ${excerpt}`}`;
}

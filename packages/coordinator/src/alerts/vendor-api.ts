import type { PostReply, PostResult } from '../outgoing/http-post.ts';
import type { SendResult } from './channel.ts';
import { judged, passing } from './judging.ts';

/** Statuses that say that the address or what it is entered with is wrong. */
const OF_THE_ADDRESS: ReadonlySet<number> = new Set([401, 403, 404, 410]);

/**
 * Judges as {@link judged}, for the API of a vendor. Its address is a setting of the operator, so a wrong
 * address stops no channel. Only one status means that the vendor has taken the alert: another success comes
 * from a proxy or a login page in between.
 *
 * @param taken the status of a success
 * @param own judges the replies that the vendor means otherwise; it returns null for all others
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
    if (OF_THE_ADDRESS.has(statusCode)) return passing(reply, { reason: 'operator' });
    const isOtherSuccess = statusCode >= 200 && statusCode <= 299 && statusCode !== taken;
    return isOtherSuccess ? passing(reply) : null;
  });
}

/** Joins the base URL of a vendor, which may have a path, and a path that begins with a slash. */
export function apiUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, '')}${path}`;
}

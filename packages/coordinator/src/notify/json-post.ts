import { VERSION } from '@svc/shared/version.ts';
import type { HttpPost, PostResult } from '../outgoing/http-post.ts';

export type JsonRequest = {
  readonly url: string;
  readonly body: object;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Values that must not appear in any message, beside those of `url` if it is secret. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
};

/** Posts JSON to a vendor. */
export function postJson(
  post: HttpPost,
  { url, body, headers, secrets, signal }: JsonRequest,
): Promise<PostResult> {
  const all = { 'content-type': 'application/json', 'user-agent': `svc/${VERSION}`, ...headers };
  return post({ url, headers: Object.entries(all), body: JSON.stringify(body), secrets, signal });
}

/** The body of a reply as JSON; undefined when it is none. */
export function jsonOf({ body }: { readonly body: string }): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // Whoever answered is not the vendor. The status and the excerpt tell it.
  }
}

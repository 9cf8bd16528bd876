import { VERSION } from '@svc/shared/version.ts';
import type { HttpPost, PostRequest, PostResult } from '../outgoing/http-post.ts';

export type JsonRequest = Pick<PostRequest, 'method' | 'url' | 'secrets' | 'signal'> & {
  readonly body: object;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Posts JSON to a vendor. */
export function postJson(post: HttpPost, { body, headers, ...request }: JsonRequest): Promise<PostResult> {
  const all = { 'content-type': 'application/json', 'user-agent': `svc/${VERSION}`, ...headers };
  return post({ ...request, headers: Object.entries(all), body: JSON.stringify(body) });
}

/** The body of a reply as JSON; undefined when it is none. */
export function jsonOf({ body }: { readonly body: string }): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // The answer is not from the vendor. The status and the excerpt show that.
  }
}

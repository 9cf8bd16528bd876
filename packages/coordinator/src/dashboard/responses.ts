import { type PageHeaderOptions, pageHeaders } from '../web/headers.ts';

type PageResponseOptions = PageHeaderOptions & {
  readonly status?: number;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
};

/** A page with its headers. */
export function pageResponse(text: string, options: PageResponseOptions = {}): Response {
  const headers = new Headers(pageHeaders(options));
  for (const cookie of options.cookies ?? []) headers.append('set-cookie', cookie);
  return new Response(text, { status: options.status ?? 200, headers });
}

/**
 * Sends the browser to a page of this site, which it opens with GET.
 *
 * @param path begins with `/`; a path that came from outside must have passed `localPath`
 */
export function redirectResponse(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({
    location: path,
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
  });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}

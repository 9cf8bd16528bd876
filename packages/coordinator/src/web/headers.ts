export type PageHeaderOptions = {
  /** Sources of images beyond this site and `data:`, as CSP names them. The default is none. */
  readonly images?: string;
  /** The default is `no-store`. */
  readonly cacheControl?: string;
};

/**
 * Headers of every page.
 *
 * - Nothing is loaded from elsewhere, no script or style stands in the page itself, and no other page shows it in a
 *   frame (clickjacking).
 * - `same-origin`, not `no-referrer`: with the latter, browsers send `Origin: null` with forms (Fetch, section
 *   "append a request Origin header"), and the check of {@link isFromOwnPage} would refuse them.
 */
export function pageHeaders(options: PageHeaderOptions = {}): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy(options.images),
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': options.cacheControl ?? 'no-store',
  };
}

function contentSecurityPolicy(images = ''): string {
  const self = "'self'";
  const sources = {
    'default-src': "'none'",
    'style-src': self,
    'script-src': self,
    'connect-src': self,
    'img-src': `${self} data: ${images}`.trimEnd(),
    'form-action': self,
    'base-uri': "'none'",
    'frame-ancestors': "'none'",
  };
  return Object.entries(sources)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}

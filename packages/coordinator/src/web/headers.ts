export type PageHeaderOptions = {
  /** Value of the header `Cache-Control`; the default is `no-store`. */
  readonly cacheControl?: string;
};

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Headers of every page.
 *
 * - A page loads nothing from other sites, cannot use inline scripts
 *   or styles, and cannot be shown in a frame (clickjacking).
 * - The referrer policy is `same-origin`, not `no-referrer`: with `no-referrer`,
 *   browsers send `Origin: null` with forms (Fetch, section "append a request
 *   Origin header"), and `isFromOwnPage` in `csrf.ts` would refuse the forms.
 */
export function pageHeaders(options: PageHeaderOptions = {}): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': options.cacheControl ?? 'no-store',
  };
}

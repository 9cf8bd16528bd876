import type { MailPage } from '../../store/page-recipients.ts';

/**
 * Address of a page, or of a path below it, as it stands in mails. It is made of what is declared and set, never of a
 * request: a `Host` that somebody invents gets into no mail. A domain of its own has the scheme and the port of the
 * service.
 *
 * @param path below the page, with a slash in front; '' for the page itself
 */
export function pageUrl(
  { slug, domain }: Pick<MailPage, 'slug' | 'domain'>,
  publicUrl: string,
  path = '',
): string {
  const base = new URL(publicUrl.replace(/\/*$/, '/'));
  if (domain === null) return new URL(`status/${slug}${path}`, base).href;
  const own = new URL(base.origin);
  own.hostname = domain;
  own.pathname = path === '' ? '/' : path;
  return own.href;
}

/** As {@link pageUrl}, with a token in its query. */
export function tokenUrl(
  page: Pick<MailPage, 'slug' | 'domain'>,
  publicUrl: string,
  path: string,
  token: string,
): string {
  const url = new URL(pageUrl(page, publicUrl, path));
  url.searchParams.set('token', token);
  return url.href;
}

import type { MailPage } from '../../store/pages/page-recipients.ts';
import { originOfDomain } from '../place.ts';

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
  if (domain !== null) return new URL(path === '' ? '/' : path, originOfDomain(domain, publicUrl)).href;
  return new URL(`status/${slug}${path}`, publicUrl.replace(/\/*$/, '/')).href;
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

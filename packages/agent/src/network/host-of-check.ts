import type { Check } from '@svc/shared/messages/check.ts';

/**
 * The host of a target as the user wrote it, in lower case, without port and brackets. It serves to
 * distinguish hosts and to recognise loopback hosts, and never to connect. Reading it in this way is
 * cheaper than parsing the URL, and as good for declared targets.
 */
export function hostOfCheck(check: Check): string {
  switch (check.type) {
    case 'http':
      return withoutPort(authorityOf(check.url)).toLowerCase();
    case 'tcp':
      return withoutPort(check.uri.trim()).toLowerCase();
    case 'dns':
      return check.uri.trim().toLowerCase();
    default:
      return check satisfies never;
  }
}

function authorityOf(url: string): string {
  const start = url.indexOf('//') + 2;
  let end = start;
  while (end < url.length && !'/?#'.includes(url[end] ?? '')) end += 1;
  const authority = url.slice(start, end);
  return authority.slice(authority.lastIndexOf('@') + 1);
}

function withoutPort(text: string): string {
  if (text.startsWith('[')) return text.slice(1, Math.max(1, text.indexOf(']')));
  const colon = text.lastIndexOf(':');
  return colon < 0 ? text : text.slice(0, colon);
}

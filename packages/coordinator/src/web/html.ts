import { html as template } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { raw } from 'hono/html';

/** HTML whose inserted values are escaped. */
export type Html = HtmlEscapedString;

/**
 * Makes HTML of a template. Inserted texts are escaped, also inside of quoted attributes; HTML and lists of it are
 * inserted as they are; `null`, `undefined`, `true` and `false` are left out.
 *
 * @throws TypeError when a promise is inserted: await it before
 */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = template(strings, ...values);
  if (made instanceof Promise) throw new TypeError('a promise was inserted into HTML');
  return made;
}

/** Nothing. */
export const NO_HTML: Html = html``;

/** Schemes that a link on a page may have. Others, as `javascript:`, would run in the page. */
const LINKED = new Set(['http:', 'https:', 'mailto:']);

/** The URL for an `href`; null: it is no URL, or one that pages do not link to. */
export function safeHref(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && LINKED.has(parsed.protocol) ? parsed.href : null;
}

/**
 * The path of this site that a text names, for a redirect; null: it leads elsewhere. `//host`, `/\host` and control
 * characters are read as another host by browsers, and `/.//host` becomes `//host` when its dots are resolved.
 */
export function localPath(text: string | null): string | null {
  if (text === null || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return null;
  const base = 'http://svc.invalid';
  const url = URL.parse(text, base);
  return url?.origin === base && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}${url.hash}`
    : null;
}

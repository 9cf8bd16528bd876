import { html as template } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { raw } from 'hono/html';

/** HTML whose inserted values are escaped. */
export type Html = HtmlEscapedString;

/**
 * Makes HTML from a template. Inserted texts are escaped, also inside quoted attributes. HTML and lists of
 * HTML are inserted unchanged. `null`, `undefined`, `true` and `false` are left out.
 *
 * @throws TypeError when a promise is inserted: the caller must await it first
 */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = template(strings, ...values);
  if (made instanceof Promise) throw new TypeError('a promise was inserted into HTML');
  return made;
}

/** Empty HTML. */
export const NO_HTML: Html = html``;

/** Schemes that links on pages may have. A `javascript:` link would run in the page. */
const LINKED = new Set(['http:', 'https:', 'mailto:']);

/** The URL for an `href`; null: the text is no URL, or its scheme is not allowed. */
export function safeHref(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && LINKED.has(parsed.protocol) ? parsed.href : null;
}

/**
 * The path of this site that a text names, for a redirect; null: the text is no such path. Browsers read
 * `//host`, `/\host` and control characters as another host, and `/.//host` becomes `//host` when its dots
 * are resolved.
 */
export function localPath(text: string | null): string | null {
  if (text === null || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return null;
  const base = 'http://svc.invalid';
  const url = URL.parse(text, base);
  return url?.origin === base && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}${url.hash}`
    : null;
}

import type { Asset } from './assets.ts';
import { type Html, html, NO_HTML } from './html.ts';
import { BASE_STYLE, ICON, TIMES_SCRIPT } from './web-assets.ts';

/** `system`: the theme that the visitor's system prefers. */
export type Theme = 'system' | 'light' | 'dark';

export type FramedPage = {
  /** Value of the attribute `lang`: `en`, `de`. */
  readonly language: string;
  readonly title: string;
  readonly theme: Theme;
  /** The content of `body`. */
  readonly body: Html;
  /** Further styles, after {@link BASE_STYLE}. */
  readonly styles?: readonly Asset[];
  /**
   * Scripts in their order. They are modules, so they run after the page is parsed. Browsers that support
   * `blocking` show the page only after {@link TIMES_SCRIPT} has run, because times in the visitor's zone
   * have other widths.
   */
  readonly scripts?: readonly Asset[];
  /** Further elements of the head, such as links to feeds. */
  readonly head?: Html;
  /** Address of the icon; left out: svc's own icon. */
  readonly icon?: string;
  /** Whether search engines may list the page. The default is no. */
  readonly isIndexed?: boolean;
  /** One of `scripts` that must also run before the page is shown, because it changes what the page shows. */
  readonly paintsAfter?: Asset;
  /** Class of the `body` element. */
  readonly kind?: string;
};

/** Renders a whole page: the frame that all pages share, with the body in it. */
export function renderPage(page: FramedPage): string {
  const { language, title, theme, body, styles = [], scripts = [], head = NO_HTML } = page;
  const { icon = ICON.path, isIndexed = false, kind = '' } = page;
  const document = html`<!doctype html>
<html lang="${language}" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${
  isIndexed
    ? NO_HTML
    : html`<meta name="robots" content="noindex">
`
}<meta name="color-scheme" content="${theme === 'system' ? 'light dark' : theme}">
<link rel="icon" href="${icon}">
${[BASE_STYLE, ...styles].map(
  ({ path }) => html`<link rel="stylesheet" href="${path}">
`,
)}${scripts.map(
  // Times in the visitor's zone have other widths. Browsers with `blocking` (Chromium 105, Safari 18.2) paint
  // the page only after the script has written these times, so no column moves. The script is cached for
  // ever, so only the first page waits for it.
  (
    script,
  ) => html`<script type="module" src="${script.path}"${script === TIMES_SCRIPT || script === page.paintsAfter ? html` blocking="render"` : NO_HTML}></script>
`,
)}${head}</head>
<body class="${kind}">
${body}
</body>
</html>
`;
  return document.toString();
}

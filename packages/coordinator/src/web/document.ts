import type { Asset } from './assets.ts';
import { BASE_STYLE, ICON } from './design/design.ts';
import { type Html, html, NO_HTML } from './html.ts';
import { TIMES_SCRIPT } from './scripts/scripts.ts';

/** `system`: as the visitor's system prefers. */
export type Theme = 'system' | 'light' | 'dark';

export type PageDocument = {
  /** As `lang` takes it: `en`, `de`. */
  readonly language: string;
  readonly title: string;
  readonly theme: Theme;
  /** The content of `body`. */
  readonly body: Html;
  /** Styles after the common one. */
  readonly styles?: readonly Asset[];
  /**
   * Scripts, in their order. They are modules, which run after the page is read. The page is shown when
   * {@link TIMES_SCRIPT} has run, in browsers that can wait for it: the times of the visitor's zone have other widths.
   */
  readonly scripts?: readonly Asset[];
  /** Further elements of the head: feeds, a description. */
  readonly head?: Html;
  /** Address of the icon; left out: svc's. */
  readonly icon?: string;
  /** Whether search engines may list it. The default is no. */
  readonly isIndexed?: boolean;
  /** A script beside that of times without which the page is not painted, because it writes days as the visitor has them. */
  readonly paintsAfter?: Asset;
  /** Class of the `body` element. */
  readonly kind?: string;
};

/** The whole text of a page: the frame that all pages share, around its body. */
export function renderDocument(page: PageDocument): string {
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
  // Times in the visitor's zone have another width. Browsers that know `blocking` (Chromium 105, Safari 18.2) paint when
  // they are written, so no column moves. The script is kept for ever: only the first page waits for it.
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

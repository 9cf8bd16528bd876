import type { State } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { renderPage } from '../../web/page-frame.ts';
import { instant } from '../../web/times.ts';
import { TIMES_SCRIPT } from '../../web/web-assets.ts';
import { barClass } from '../bars.ts';
import { ICON_PATH } from '../icons/icon-page.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from '../page-assets.ts';
import type { PageView } from '../page-view.ts';
import { addressOf, type Place } from '../place.ts';
import { fillIn, LANGUAGE_NAMES, LANGUAGES } from '../text/texts.ts';

type Framed = {
  readonly title: string;
  /** Path of the framed page below the status page. */
  readonly path: string;
  readonly body: Html;
};

/**
 * Renders a page in the frame that all pages below a status page share: styles,
 * links to feeds, the notice about old data, languages, and the footer.
 */
export function framedPage(view: PageView, place: Place, { title, path, body }: Framed): string {
  const { page } = view;
  const { description, access_type: access } = page.attributes;
  const { words, staleSince } = place;
  const { text, language } = words;
  return renderPage({
    language,
    title,
    theme: page.theme,
    kind: 'status-page',
    isIndexed: access === 'public',
    ...iconOf(view, place),
    styles: [PAGE_STYLE],
    scripts: [TIMES_SCRIPT, PAGE_SCRIPT],
    paintsAfter: PAGE_SCRIPT,
    head: html`${
      description === null
        ? NO_HTML
        : html`<meta name="description" content="${description}">
`
    }<link rel="canonical" href="${place.origin}${path === '' ? new URL(addressOf(place)).pathname : `${place.path}${path}`}">
${feedLinks(view, place)}`,
    body: html`<a class="skip-link" href="#content">${text.skip}</a>
${
  staleSince === null
    ? NO_HTML
    : html`<p class="notice notice-warning stale" role="status">${sentenceWithTime(text.stale, staleSince, language)}</p>
`
}${body}
<footer class="page-foot">
<nav aria-label="${text.subscribe}"><ul class="plain-list foot-links"><li class="no-print"><a href="${place.path}/subscribe">${text.subscription.title}</a></li><li><a href="${place.path}/feed.atom">Atom</a></li><li><a href="${place.path}/feed.rss">RSS</a></li><li><a href="${place.path}/feed.json">JSON</a></li>${
      access === 'public'
        ? NO_HTML
        : html`<li class="no-print"><a href="${place.path}/access/leave">${text.access.leave}</a></li>`
    }</ul></nav>
<nav class="no-print" aria-label="${text.languages}"><ul class="plain-list foot-links">${LANGUAGE_NAMES.map(
      (name) =>
        html`<li><a href="?lang=${name}" hreflang="${name}" lang="${name}"${name === language ? html` aria-current="true"` : NO_HTML}>${LANGUAGES[name].language}</a></li>`,
    )}</ul></nav>
</footer>`,
  });
}

/**
 * Returns the path of the icon, if there is one. svc serves the image itself, so that visitors do not contact
 * the icon's own server. The path changes with the image, because browsers keep an image for an hour.
 */
export function iconOf({ iconFetchedAt: at }: PageView, { path }: Place): { icon?: string } {
  return at === null ? {} : { icon: `${path}${ICON_PATH}?v=${at}` };
}

function feedLinks({ page }: PageView, { words, path }: Place): Html {
  const title = fillIn(words.text.feedTitle, { title: page.attributes.title });
  const feeds = [
    ['application/atom+xml', 'feed.atom'],
    ['application/rss+xml', 'feed.rss'],
    ['application/feed+json', 'feed.json'],
  ];
  return html`${feeds.map(
    ([type, name]) => html`<link rel="alternate" type="${type}" href="${path}/${name}" title="${title}">
`,
  )}`;
}

/** Renders a text with an instant in place of `{time}`. */
export function sentenceWithTime(sentence: string, at: number, language: string): Html {
  const [before = '', after = ''] = sentence.split('{time}');
  return html`${before}${instant(at, language)}${after}`;
}

/**
 * Renders the word for a state with its shape and colour. The styles draw the
 * shape. The class name is one letter, because a page has hundreds of such words.
 */
export function stateWord(state: State, word: string): Html {
  return html`<b class=${barClass(state)}>${word}</b>`;
}

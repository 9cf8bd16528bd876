import { derivedUuid } from '@svc/shared/ids.ts';
import { linesAsHtml } from '../alerts/escaping.ts';
import { instantText } from '../web/times.ts';
import { incidentTitle, updateSentence, updateWord } from './html/incident-list.ts';
import type { MaintenanceView } from './notes.ts';
import type { PageView } from './page-view.ts';
import { addressOf, type Place } from './place.ts';
import { fillIn } from './text/texts.ts';
import type { Words } from './words.ts';

/** An entry of a feed: one update of an incident, or one occurrence of maintenance. */
export type FeedEntry = {
  /** The id of the entry. It is unique for ever among all pages (RFC 4287, section 4.2.6). */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly link: string;
  /** When the entry appeared, epoch ms. `updatedAt`: when it last changed, epoch ms. */
  readonly publishedAt: number;
  readonly updatedAt: number;
};

export type Feed = {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly language: string;
  /** Address of the page. `self`: address of the feed itself. */
  readonly page: string;
  readonly self: string;
  /** When an entry last changed, epoch ms; without entries, when the page was created. */
  readonly updatedAt: number;
  /** The entries, newest first. */
  readonly entries: readonly FeedEntry[];
};

/**
 * Maximum number of entries about incidents, and maximum number of entries about
 * maintenance. Two bounds keep nightly maintenance from pushing out an outage.
 */
const ENTRIES = { incidents: 50, maintenance: 25 };

/**
 * Makes the feed of a page.
 *
 * @param file name of the feed below the page: `feed.atom`
 */
function feedOf(view: PageView, place: Place, file: string): Feed {
  const { page, activeIncidents, pastIncidents, maintenance } = view;
  const { words } = place;
  const { title, description } = page.attributes;
  const address = addressOf(place);
  const updates = [...activeIncidents, ...pastIncidents].flatMap((incident) =>
    incident.updates.map(
      (update): FeedEntry => ({
        id: idOf(page.id, page.createdAt, update.id),
        title: `${incidentTitle(incident, words)}: ${updateWord(update, words)}`,
        text: updateSentence(update, incident, words),
        link: `${address}#i${incident.id}`,
        publishedAt: update.at,
        updatedAt: update.at,
      }),
    ),
  );
  const isOver = ({ state }: MaintenanceView) => state === 'completed';
  // If there is too much maintenance, the end of this list is cut off. First come
  // current and planned maintenance by beginning, then past maintenance, newest first.
  const open = maintenance.filter((window) => !isOver(window));
  const planned = [...open, ...maintenance.filter(isOver).toReversed()].map(
    (window): FeedEntry => ({
      id: idOf(page.id, page.createdAt, `m${window.id}`),
      title: `${window.title}: ${words.text.maintenanceState[window.state]}`,
      text: maintenanceText(window, words),
      link: `${address}#m${window.id}`,
      publishedAt: window.stages.at(-1)?.at ?? window.updatedAt,
      updatedAt: window.updatedAt,
    }),
  );
  const entries = [
    ...updates.toSorted(newestFirst).slice(0, ENTRIES.incidents),
    ...planned.slice(0, ENTRIES.maintenance),
  ].sort(newestFirst);
  return {
    id: idOf(page.id, page.createdAt, 'feed'),
    title: fillIn(words.text.feedTitle, { title }),
    description,
    language: words.language,
    page: address,
    self: `${place.origin}${place.path}/${file}`,
    updatedAt: Math.max(page.createdAt, ...entries.map(({ updatedAt }) => updatedAt)),
    entries,
  };
}

function newestFirst(one: FeedEntry, other: FeedEntry): number {
  return other.updatedAt - one.updatedAt;
}

/** Says when the maintenance takes place, and adds its text. */
function maintenanceText(
  { startsAt, endsAt, text }: MaintenanceView,
  { language, text: words }: Words,
): string {
  const [from, until] = [startsAt, endsAt].map((at) => instantText(at, language));
  const times = fillIn(words.maintenanceFrom, { from: from ?? '', until: until ?? '' });
  return text === '' ? times : `${times}\n\n${text}`;
}

/**
 * Makes a URN of a name-based UUID (RFC 9562, version 8). It does not depend
 * on the page's address, so it stays the same when the address changes.
 */
function idOf(...parts: readonly (string | number)[]): string {
  return `urn:uuid:${derivedUuid(['svc feed', ...parts])}`;
}

/** Renders the incidents and the maintenance of a page as Atom (RFC 4287). */
export function atomFeed(view: PageView, place: Place): string {
  const feed = feedOf(view, place, 'feed.atom');
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${feed.language}">
<id>${feed.id}</id>
<title>${escapeXml(feed.title)}</title>
${feed.description === null ? '' : `<subtitle>${escapeXml(feed.description)}</subtitle>\n`}<updated>${rfc3339(feed.updatedAt)}</updated>
<link rel="self" type="application/atom+xml" href="${escapeXml(feed.self)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(feed.page)}"/>
<author><name>${escapeXml(view.page.attributes.title)}</name></author>
${feed.entries.map(atomEntry).join('')}</feed>
`;
}

function atomEntry({ id, title, text, link, publishedAt, updatedAt }: FeedEntry): string {
  return `<entry>
<id>${id}</id>
<title>${escapeXml(title)}</title>
<published>${rfc3339(publishedAt)}</published>
<updated>${rfc3339(updatedAt)}</updated>
<link rel="alternate" type="text/html" href="${escapeXml(link)}"/>
<content type="text">${escapeXml(text)}</content>
</entry>
`;
}

/** Renders the incidents and the maintenance of a page as RSS 2.0 (rssboard.org, version 2.0.11). */
export function rssFeed(view: PageView, place: Place): string {
  const feed = feedOf(view, place, 'feed.rss');
  return `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom">
<channel>
<title>${escapeXml(feed.title)}</title>
<link>${escapeXml(feed.page)}</link>
<description>${escapeXml(feed.description ?? feed.title)}</description>
<language>${feed.language}</language>
<lastBuildDate>${new Date(feed.updatedAt).toUTCString()}</lastBuildDate>
<atom:link rel="self" type="application/rss+xml" href="${escapeXml(feed.self)}"/>
${feed.entries.map(rssItem).join('')}</channel>
</rss>
`;
}

function rssItem({ id, title, text, link, updatedAt }: FeedEntry): string {
  return `<item>
<title>${escapeXml(title)}</title>
<link>${escapeXml(link)}</link>
<guid isPermaLink="false">${id}</guid>
<pubDate>${new Date(updatedAt).toUTCString()}</pubDate>
<description>${escapeXml(linesAsHtml(text))}</description>
</item>
`;
}

/** Renders the incidents and the maintenance of a page as JSON Feed (jsonfeed.org, version 1.1). */
export function jsonFeed(view: PageView, place: Place): string {
  const feed = feedOf(view, place, 'feed.json');
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: feed.title,
    home_page_url: feed.page,
    feed_url: feed.self,
    ...(feed.description === null ? {} : { description: feed.description }),
    language: feed.language,
    items: feed.entries.map(({ id, title, text, link, publishedAt, updatedAt }) => ({
      id,
      url: link,
      title,
      content_text: text,
      date_published: rfc3339(publishedAt),
      date_modified: rfc3339(updatedAt),
    })),
  });
}

function rfc3339(at: number): string {
  return new Date(at).toISOString();
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters that XML 1.0 cannot contain (section 2.2), not even as references. */
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/**
 * Escapes a text for the content of an element, or for a quoted
 * attribute. Characters that XML cannot contain become `�`.
 */
export function escapeXml(text: string): string {
  return text.replace(FORBIDDEN, '\ufffd').replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

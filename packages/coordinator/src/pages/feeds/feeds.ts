import { linesAsHtml } from '../../alerts/escaping.ts';
import type { PageView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { type FeedEntry, feedOf } from './entries.ts';
import { escapeXml } from './xml.ts';

/** The incidents and the maintenance of a page as Atom (RFC 4287). */
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

/** The incidents and the maintenance of a page as RSS 2.0 (rssboard.org, version 2.0.11). */
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

/** The incidents and the maintenance of a page as JSON Feed (jsonfeed.org, version 1.1). */
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

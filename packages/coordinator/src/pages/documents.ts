import type { StoredPage } from '../declaration/stored.ts';
import {
  componentsJson,
  incidentsJson,
  maintenanceJson,
  statusJson,
  summaryJson,
  unresolvedJson,
} from './aggregator-json.ts';
import { badgeSvg } from './badge.ts';
import { atomFeed, jsonFeed, rssFeed } from './feeds.ts';
import { daysPage } from './html/days.ts';
import { statusPage } from './html/status-page.ts';
import { type PageView, pageView } from './page-view.ts';
import type { Place } from './place.ts';
import { type PageReadingParts, readPage } from './read-page.ts';
import { wordsOf } from './words.ts';

/** A document below a status page that is made from the view of the page alone. */
export type PageDocument = {
  /**
   * `page`: HTML for people. `data`: for programs. If the page
   * is public, scripts of other sites may read `data` too.
   */
  readonly kind: 'page' | 'data';
  readonly contentType: string;
  /** How long browsers and proxies may keep the document, seconds. */
  readonly maxAge: number;
  /** Renders the document; null: the page has no such document. */
  readonly render: (view: PageView, place: Place) => string | null;
};

const PAGE = { kind: 'page', contentType: 'text/html; charset=utf-8', maxAge: 15 } as const;

const json = (render: PageDocument['render']): PageDocument => ({
  kind: 'data',
  contentType: 'application/json; charset=utf-8',
  maxAge: 15,
  render,
});

const feed = (contentType: string, render: PageDocument['render']): PageDocument => ({
  kind: 'data',
  contentType: `${contentType}; charset=utf-8`,
  maxAge: 15,
  render,
});

/** The documents of a page by their paths below the page. The components' tables of days are missing. */
export const DOCUMENTS: ReadonlyMap<string, PageDocument> = new Map(
  Object.entries({
    '': { ...PAGE, render: statusPage },
    '/feed.atom': feed('application/atom+xml', atomFeed),
    '/feed.rss': feed('application/rss+xml', rssFeed),
    '/feed.json': feed('application/feed+json', jsonFeed),
    '/badge.svg': { kind: 'data', contentType: 'image/svg+xml; charset=utf-8', maxAge: 60, render: badgeSvg },
    '/api/v2/summary.json': json(summaryJson),
    '/api/v2/status.json': json(statusJson),
    '/api/v2/components.json': json(componentsJson),
    '/api/v2/incidents.json': json(incidentsJson),
    '/api/v2/incidents/unresolved.json': json(unresolvedJson),
    '/api/v2/scheduled-maintenances.json': json(maintenanceJson('scheduled', 'in_progress', 'completed')),
    '/api/v2/scheduled-maintenances/upcoming.json': json(maintenanceJson('scheduled')),
    '/api/v2/scheduled-maintenances/active.json': json(maintenanceJson('in_progress')),
  } satisfies Record<string, PageDocument>),
);

/** Returns the document at a path below a page; null: there is no document at this path. */
export function documentAt(path: string): PageDocument | null {
  const known = DOCUMENTS.get(path);
  if (known !== undefined) return known;
  const componentId = /^\/days\/([1-9]\d{0,14})$/.exec(path)?.[1];
  if (componentId === undefined) return null;
  return { ...PAGE, render: (view, place) => daysPage(view, componentId, place) };
}

/**
 * Renders a status page in English for a person who edits it, as visitors would see it.
 * The page may be unpublished. The caller must check that the person may see the page.
 *
 * @param publicUrl SVC_PUBLIC_URL
 * @throws StoreError
 */
export async function previewOf(
  parts: PageReadingParts,
  page: StoredPage,
  publicUrl: string,
): Promise<string> {
  const { origin } = new URL(publicUrl);
  const place = {
    origin,
    path: `/status/${page.attributes.slug}`,
    words: wordsOf('en'),
    staleSince: null,
  };
  return statusPage(pageView(await readPage(parts, page)), place);
}

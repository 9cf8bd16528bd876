import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parseAtomFeed, parseJsonFeed, parseRssFeed } from 'feedsmith';
import { RelaxNGValidator, XmlDocument } from 'libxml2-wasm';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import {
  largeSource,
  MINUTE_MS,
  NO_NOTES,
  NOW,
  pageSource,
  placeIn,
  shownIncident,
  storedPage,
  storedWindow,
} from '../../../../test/support/status-page-source.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import { atomFeed, jsonFeed, rssFeed } from './feeds.ts';
import { type PageView, pageView } from './page-view.ts';

/**
 * Validates a text.
 *
 * @throws Error when the text is no XML, or violates the grammar
 */
function validate(text: string, grammar: 'atom' | 'rss'): void {
  const rules = readFileSync(
    new URL(`../../../../test/fixtures/feeds/${grammar}.rng`, import.meta.url),
    'utf8',
  );
  using schema = XmlDocument.fromString(rules);
  using document = XmlDocument.fromString(text);
  using validator = RelaxNGValidator.fromDoc(schema);
  validator.validate(document);
}

/** The part of JSON Feed 1.1 (jsonfeed.org/version/1.1) that svc writes. */
const isJsonFeed = new Ajv2020().compile({
  type: 'object',
  required: ['version', 'title', 'items'],
  additionalProperties: false,
  properties: {
    version: { const: 'https://jsonfeed.org/version/1.1' },
    title: { type: 'string', minLength: 1 },
    home_page_url: { type: 'string', pattern: '^https?://' },
    feed_url: { type: 'string', pattern: '^https?://' },
    description: { type: 'string' },
    language: { type: 'string', pattern: '^[a-z]{2}$' },
    items: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'content_text'],
        additionalProperties: false,
        properties: {
          id: { type: 'string', minLength: 1 },
          url: { type: 'string', pattern: '^https?://' },
          title: { type: 'string' },
          content_text: { type: 'string', minLength: 1 },
          date_published: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' },
          date_modified: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' },
        },
      },
    },
  },
});

describe.each(['en', 'de'] as const)('feeds in %s', (language) => {
  test('are valid', () => {
    const view = pageView(largeSource(20));
    const place = placeIn(language);
    validate(atomFeed(view, place), 'atom');
    validate(rssFeed(view, place), 'rss');
    expect(isJsonFeed(JSON.parse(jsonFeed(view, place))), JSON.stringify(isJsonFeed.errors)).toBe(true);
  });
});

test('feeds are valid with any texts, even with characters that XML cannot contain', () => {
  const text = anyText({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(text, fc.option(text), (title, description) => {
      const page = storedPage({ title, description });
      const view = pageView(pageSource({ page, incidents: [shownIncident()] }));
      validate(atomFeed(view, placeIn()), 'atom');
      validate(rssFeed(view, placeIn()), 'rss');
      expect(isJsonFeed(JSON.parse(jsonFeed(view, placeIn())))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('an entry keeps its id while its incident is open, in each language and under each address', () => {
  const opened = shownIncident({ id: 5, openedAt: NOW - 20 * MINUTE_MS, closedAt: null });
  const closed = shownIncident({ id: 5, openedAt: NOW - 20 * MINUTE_MS });
  const ids = (incident: typeof opened, place = placeIn()) =>
    [...atomFeed(pageView(pageSource({ incidents: [incident] })), place).matchAll(/<id>([^<]+)/g)].map(
      ([, id]) => id,
    );
  const first = ids(opened);
  expect(first).toHaveLength(2);
  expect(ids(closed)).toEqual([first[0], expect.any(String), first[1]]);
  expect(ids(opened, placeIn('de', { origin: 'https://status.example.com', path: '' }))).toEqual(first);
});

test('a feed changes when its entries do, and not with time', () => {
  const incidents = [shownIncident()];
  const feed = (now: number) => atomFeed(pageView(pageSource({ incidents, now })), placeIn());
  expect(feed(NOW + MINUTE_MS)).toBe(feed(NOW));
});

describe('in a feed reader', () => {
  const nightly = (id: number) =>
    storedWindow({
      id,
      pageIds: [1],
      title: `Backup ${id}`,
      startsAt: NOW - 60 * DAY_MS + id * HOUR_MS,
      endsAt: NOW - 60 * DAY_MS + (id + 1) * HOUR_MS,
      createdAt: NOW - 61 * DAY_MS,
      repeat: { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null },
    });

  /** For each format, a reader that returns id, title, text and last change of each entry. */
  const READ = {
    atom: (view: PageView) =>
      parseAtomFeed(atomFeed(view, placeIn())).entries?.map(({ id, title, content, updated }) => [
        id,
        title?.value,
        content?.value,
        updated,
      ]),
    rss: (view: PageView) =>
      parseRssFeed(rssFeed(view, placeIn())).items?.map(({ guid, title, description, pubDate }) => [
        guid?.value,
        title,
        description,
        pubDate,
      ]),
    json: (view: PageView) =>
      parseJsonFeed(jsonFeed(view, placeIn())).items?.map(
        ({ id, title, content_text: text, date_modified: at }) => [id, title, text, at],
      ),
  };
  const times = (...at: number[]) => at.map((one) => new Date(one).toISOString());

  test.each(Object.entries(READ))('%s keeps incidents, whatever is done every night', (_, read) => {
    const incidents = Array.from({ length: 5 }, (_, index) =>
      shownIncident({ openedAt: NOW - (9 + index) * DAY_MS }),
    );
    const windows = [1, 2, 3, 4].map(nightly);
    const entries = read(pageView(pageSource({ incidents, notes: { ...NO_NOTES, windows } }))) ?? [];
    const titles = entries.map(([, title]) => String(title));
    expect(titles.filter((title) => title.startsWith('Monitor 1 down'))).toHaveLength(10);
    expect(titles.filter((title) => title.startsWith('Backup'))).toHaveLength(25);
    // The feed has the next occurrence of each window, because planned occurrences come before past ones.
    expect(titles.filter((title) => title.endsWith('Planned')).sort()).toEqual(
      [1, 2, 3, 4].map((id) => `Backup ${id}: Planned`),
    );
    expect(new Set(entries.map(([id]) => id)).size).toBe(entries.length);
  });

  test.each(Object.entries(READ))('%s has one entry for maintenance, which is updated', (format, read) => {
    const window = storedWindow({ pageIds: [1], text: 'All night.' });
    const entryAt = (now: number, more: Partial<typeof window> = {}) => {
      const windows = [{ ...window, ...more }];
      const [entry, ...others] = read(pageView(pageSource({ notes: { ...NO_NOTES, windows }, now }))) ?? [];
      expect(others).toEqual([]);
      return entry ?? [];
    };
    const seen = [
      entryAt(NOW - 2 * MINUTE_MS),
      // The window is postponed here, and moved back in the next line.
      entryAt(NOW - 2 * MINUTE_MS, { startsAt: NOW + 9 * MINUTE_MS, endsAt: NOW + 11 * MINUTE_MS }),
      entryAt(NOW),
      entryAt(NOW + MINUTE_MS),
      // If people correct the text of a window, its past occurrences do not change.
      entryAt(NOW + 9 * MINUTE_MS, { text: 'All night long.', updatedAt: NOW + 8 * MINUTE_MS }),
    ];
    expect(new Set(seen.map(([id]) => id)).size).toBe(1);
    expect(seen.map(([, title]) => title)).toEqual(
      ['Planned', 'Planned', 'In progress', 'Completed', 'Completed'].map((state) => `Move: ${state}`),
    );
    expect(seen.map(([, , , at]) => new Date(String(at)).toISOString())).toEqual(
      times(NOW - DAY_MS, NOW - DAY_MS, NOW - MINUTE_MS, NOW + MINUTE_MS, NOW + MINUTE_MS),
    );
    const blank = format === 'rss' ? '<br><br>' : '\n\n';
    expect(seen[0]?.[2]).toBe(`22 Nov 2026, 11:59 UTC to 22 Nov 2026, 12:01 UTC${blank}All night.`);
  });
});

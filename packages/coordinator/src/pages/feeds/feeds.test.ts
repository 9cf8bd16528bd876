import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { RelaxNGValidator, XmlDocument } from 'libxml2-wasm';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../../test/support/any-text.ts';
import {
  largeSource,
  MINUTE_MS,
  NOW,
  pageSource,
  placeIn,
  shownIncident,
  storedPage,
} from '../../../../../test/support/status-page-source.ts';
import { pageView } from '../page-view.ts';
import { atomFeed, jsonFeed, rssFeed } from './feeds.ts';

/** Throws where the text is not XML, or not what the grammar says. */
function validate(text: string, grammar: 'atom' | 'rss'): void {
  const rules = readFileSync(
    new URL(`../../../../../test/fixtures/feeds/${grammar}.rng`, import.meta.url),
    'utf8',
  );
  using schema = XmlDocument.fromString(rules);
  using document = XmlDocument.fromString(text);
  using validator = RelaxNGValidator.fromDoc(schema);
  validator.validate(document);
}

/** JSON Feed 1.1 (jsonfeed.org/version/1.1), as far as svc writes it. */
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

test('feeds are valid whatever owners write, and whatever XML cannot carry', () => {
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

test('an entry keeps its id while its incident goes on, in each language and under each address', () => {
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

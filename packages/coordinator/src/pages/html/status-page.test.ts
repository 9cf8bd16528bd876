import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  daysWith,
  largeSource,
  latenciesWith,
  MINUTE_MS,
  NOW,
  pageSource,
  placeIn,
  shownIncident,
  storedComponent,
  storedPage,
  storedWindow,
  writtenIncident,
} from '../../../../../test/support/status-page-source.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import { rssFeed } from '../feeds.ts';
import { type PageSource, pageView } from '../page-view.ts';
import { daysPage } from './days.ts';
import { statusPage } from './status-page.ts';

const rendered = (source: PageSource, place = placeIn()) => statusPage(pageView(source), place);

describe('a page of 50 components and 90 days has at most 40 KB, and 10 KB compressed', () => {
  test.each([
    ['two days of a third of them had disruptions', {}],
    ['two days of each had disruptions', { badDays: 2 }],
    ['it shows response times, too', { badDays: 2, latency: '24h' }],
    ['those are of seven days', { badDays: 2, latency: '7d' }],
  ] as const)('where %s', (_, telling) => {
    for (const language of ['en', 'de'] as const) {
      const page = Buffer.from(rendered(largeSource(50, telling), placeIn(language)));
      expect(page.length).toBeLessThan(40_000);
      expect(gzipSync(page, { level: 9 }).length).toBeLessThan(10_000);
    }
  });

  test('and little more if every second day had disruptions, because only some are listed', () => {
    const page = Buffer.from(rendered(largeSource(50, { badDays: 45, latency: '7d' })));
    expect(page.length).toBeLessThan(60_000);
    expect(gzipSync(page, { level: 9 }).length).toBeLessThan(10_000);
    expect(page.toString()).toContain('The latest 5 days with disruptions:');
  });
});

test('headings go down one level at a time, and ids are unique', () => {
  const page = rendered(largeSource(20));
  const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level));
  expect(levels[0]).toBe(1);
  levels.slice(1).forEach((level, index) => {
    expect(level - (levels[index] ?? 0)).toBeLessThanOrEqual(1);
  });
  const ids = [...page.matchAll(/ id="?([^" >]+)/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('there is no text of another language in it, and no place holder', () => {
  const page = rendered(largeSource(10), placeIn('de'));
  expect(page).toContain('Teilausfall');
  expect(page).toMatch(/99,97.% verfügbar/);
  expect(page).not.toMatch(/Operational|uptime|\{\w+\}/);
});

describe('the days of a component', () => {
  const withDays = (days: ReturnType<typeof daysWith>) => pageSource({ days: new Map([[1, days]]) });

  test('list the days with disruptions, newest first, with their figures', () => {
    const page = rendered(
      withDays(daysWith({ 3: { error: 5 * MINUTE_MS }, 40: { degraded: 90 * MINUTE_MS } })),
    );
    const items = [...page.matchAll(/<li class=(\w)>(\d[^<]+)/g)].map((match) => match.slice(1));
    expect(items).toEqual([
      ['e', '19 Nov: 99.65% · down for 5 min'],
      ['d', '13 Oct: 100.00% · degraded for 1 hr 30 min'],
    ]);
    expect(page).toContain('aria-label="Monitor 1: disruptions on 2 of 90 days"');
  });

  test('of a new monitor say since when there is data', () => {
    const unknown = { active: 0, unknown: DAY_MS };
    const days = daysWith(
      Object.fromEntries(Array.from({ length: 80 }, (_, index) => [89 - index, unknown])),
    );
    expect(rendered(withDays(days))).toContain('Measured since 13 Nov 2026.');
  });

  test('are all in the table of days', () => {
    const view = pageView(withDays(daysWith({ 3: { error: 5 * MINUTE_MS, unknown: DAY_MS / 2 } })));
    const table = daysPage(view, '1', placeIn()) ?? '';
    expect(table.match(/<tr>/g)).toHaveLength(91);
    expect(table).toContain(
      '<tr><th scope="row"><time datetime="2026-11-19" data-show="utc-day">19 Nov 2026</time></th><td><b class=e>Down</b></td><td class="number">99.30%</td><td class="number">5 min</td><td class="number">–</td><td class="number">–</td><td class="number">12 hr</td></tr>',
    );
    expect(daysPage(view, '2', placeIn())).toBeNull();
  });

  test('do not exist for static components', () => {
    const view = pageView(
      pageSource({ components: [storedComponent(1, { type: 'static', name: 'Office' })] }),
    );
    expect(statusPage(view, placeIn())).not.toContain('<summary>');
    expect(daysPage(view, '1', placeIn())).toBeNull();
  });
});

describe('response times', () => {
  const source = (latency: '24h' | '7d', access: 'public' | 'password' = 'public') =>
    pageSource({
      page: storedPage({ access_type: access, password: access === 'public' ? null : 'x' }),
      latencies: { span: { range: latency, until: NOW }, of: new Map([[1, latenciesWith(latency, 1)]]) },
    });

  test('stand beside the bars in words and as a chart if the owner wants them', () => {
    const page = rendered(source('24h'));
    expect(page).toMatch(
      /<p>100[^<]+<p><svg role=none><path d="M0 [^"]+"\/><\/svg>Response time 47 ms, 95% within 123 ms\n/,
    );
    expect(page).toContain('Response times are medians of the last 24 hours');
    expect(rendered(pageSource())).not.toContain('esponse time');
    expect(rendered(source('7d'), placeIn('de'))).toContain('Antwortzeiten sind Mediane der letzten 7 Tage');
  });

  test('have a table with the figures of the chart', () => {
    const table = daysPage(pageView(source('7d')), '1', placeIn()) ?? '';
    expect(table).toContain('Response time of Monitor 1 in the last 7 days, newest first');
    expect(table.match(/<tr><th scope="row"><time datetime="[^"]+" data-show="instant">/g)).toHaveLength(7);
    expect(daysPage(pageView(pageSource()), '1', placeIn())).not.toContain('esponse time');
  });

  test('that are unknown yet are called so', () => {
    const empty = { median: null, p95: null, buckets: [{ at: NOW, median: null, p95: null }] };
    const page = rendered(
      pageSource({ latencies: { span: { range: '24h', until: NOW }, of: new Map([[1, empty]]) } }),
    );
    expect(page).toContain('<p>No response times yet\n');
  });
});

test('texts of operators keep their lines and blank lines, and are escaped', () => {
  const text = 'Errors in:\n\n- EU <b>shop</b>\r\n- US & CA';
  const markup = 'Errors in:<br><br>- EU &lt;b&gt;shop&lt;/b&gt;<br>- US &amp; CA';
  const view = pageView(
    pageSource({
      page: storedPage({ description: text }),
      components: [storedComponent(1, { description: text })],
      notes: {
        incidents: [writtenIncident({ text })],
        windows: [storedWindow({ text, pageIds: [1] })],
      },
    }),
  );
  // Four texts contain the markup: those of the page's description,
  // the component's description, the incident's update and the window.
  expect(statusPage(view, placeIn()).split(markup)).toHaveLength(5);
  const items = [...rssFeed(view, placeIn()).matchAll(/<description>(.*)<\/description>\n<\/item>/g)];
  const escaped = markup.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  expect(items.map(([, written]) => written?.slice(-escaped.length))).toEqual([escaped, escaped]);
});

test('an open incident stands above the components, and an ended one below', () => {
  const page = rendered(
    pageSource({
      incidents: [
        shownIncident({ openedAt: NOW - 5 * MINUTE_MS, closedAt: null }),
        shownIncident({ openedAt: NOW - 3 * DAY_MS }),
      ],
    }),
  );
  const places = ['Current incidents', 'id=c1', 'Past incidents', '19 Nov 2026', 'Lasted 10 min'].map(
    (text) => page.indexOf(text),
  );
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places[0]).toBeGreaterThan(0);
});

test('a page says that it has no components, or that its data cannot be read', () => {
  expect(rendered(pageSource({ components: [] }))).toContain('This page has no components yet.');
  const stale = rendered(pageSource(), placeIn('en', { staleSince: NOW - DAY_MS }));
  expect(stale).toMatch(
    /role="status">Current data cannot be read[^<]+<time datetime="2026-11-21T12:00:00.000Z"/,
  );
});

test("the icon is this service's own copy, or its own icon", () => {
  const page = storedPage({ icon: 'https://example.com/icon.png' });
  const fetched = rendered(pageSource({ page, iconFetchedAt: 7 }));
  expect(fetched).toContain('<link rel="icon" href="/status/example/icon?v=7">');
  expect(fetched).toContain('<img src="/status/example/icon?v=7" alt=""');
  const missing = rendered(pageSource({ page }));
  expect(missing).not.toContain('<img');
  for (const text of [fetched, missing]) expect(text).not.toContain('example.com/icon.png');
});

test('stored links with schemes that run scripts are left out', () => {
  const page = rendered(
    pageSource({
      page: storedPage({ homepage_url: 'javascript:alert(1)', contact_url: 'mailto:ops@example.com' }),
    }),
  );
  expect(page).not.toContain('javascript:');
  expect(page).toContain('href="mailto:ops@example.com"');
});

import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { type DeclaredPage, declarePage } from '../../../../test/support/declared-page.ts';
import { HeldReads } from '../../../../test/support/held-reads.ts';
import { largeSource, placeIn } from '../../../../test/support/status-page-source.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { type FoundPage, type KeptPage, PageCache, type RenderedDocument, renderOnce } from './page-cache.ts';
import { pageView } from './page-view.ts';

const HOUR_MS = 3_600_000;
const NAME = { slug: 'example' };

let reads: HeldReads;
let configured: ConfiguredStore;
let page: DeclaredPage;
let cache: PageCache;

beforeEach(async () => {
  reads = new HeldReads();
  configured = await configuredStore(reads.workers);
  page = await declarePage(configured, { monitors: ['API', 'Web'] });
  cache = cacheOf();
});
afterEach(async () => {
  reads.release();
  await configured.dispose();
});

/** @param mostBytes maximum size of all pages together; left out: the default */
function cacheOf(mostBytes?: number): PageCache {
  const { store, secrets, clock } = configured;
  const visitorKey = new Secret(new Uint8Array(32));
  const parts = { store, secrets, slotNow: () => clock.wall(), visitorKey, clock, log: silentLog };
  return new PageCache(parts, mostBytes);
}

/** Finds the page; null: no page was found. */
async function found(): Promise<FoundPage | null> {
  const answer = await cache.findPage(NAME);
  return typeof answer === 'string' ? null : answer;
}

/** Advances the clock step by step until the promise is settled. */
async function settledIn<T>(promise: Promise<T>, ms: number): Promise<T> {
  let isSettled = false;
  const end = () => {
    isSettled = true;
  };
  promise.then(end, end);
  await configured.clock.advanceSettling(ms);
  expect(isSettled).toBe(true);
  return promise;
}

describe('while the database answers', () => {
  test('incidents of a hidden monitor do not use up the limit', async () => {
    await page.addMonitor('Hidden', { isPublic: false });
    await page.setStatus('API', 'error');
    await page.setStatus('API', 'active');
    for (let count = 0; count < 50; count += 1) {
      configured.clock.advance(1_000);
      await page.setStatus('Hidden', 'error');
      await page.setStatus('Hidden', 'active');
    }
    const shown = (await found())?.kept.view.pastIncidents ?? [];
    expect(shown.map(({ components }) => components.map(({ name }) => name))).toEqual([['API']]);
  });

  test('a page is read once for all concurrent requests, and not again for a second', async () => {
    const before = reads.count;
    const all = await Promise.all(Array.from({ length: 50 }, found));
    const once = reads.count - before;
    expect(new Set(all.map((one) => one?.kept)).size).toBe(1);
    expect(once).toBeLessThan(15);
    configured.clock.advance(999);
    await cache.findPage(NAME);
    expect(reads.count - before).toBe(once);
  });

  test('only the first request waits for a check, unless the page is older than two seconds', async () => {
    await found();
    configured.clock.advance(1_000);
    reads.hold();
    const first = found();
    expect((await found())?.staleSince).toBeNull();
    configured.clock.advance(200);
    expect((await found())?.staleSince).toBeNull();
    reads.release();
    await first;
    configured.clock.advance(2_000);
    reads.hold();
    let answers = 0;
    const all = [1, 2].map(async () => {
      await found();
      answers += 1;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers).toBe(0);
    reads.release();
    await Promise.all(all);
  });

  test('it is checked after a second, and kept while nothing changed', async () => {
    const first = await found();
    configured.clock.advance(1_000);
    const before = reads.count;
    const second = await found();
    expect(second?.kept).toBe(first?.kept);
    expect(reads.count - before).toBeLessThan(5);
  });

  test('latencies are read for shown monitors, and again once an hour', async () => {
    await page.addMonitor('Hidden', { isPublic: false });
    await page.setLatency('24h');
    const first = await found();
    expect([...(first?.kept.latencies?.of.keys() ?? [])]).toHaveLength(2);
    const latenciesOf = (one: FoundPage | null) => [...(one?.kept.latencies?.of.values() ?? [])];
    configured.clock.advance(60_000);
    const second = await found();
    expect(second?.kept).not.toBe(first?.kept);
    expect(latenciesOf(second).every((one, index) => one === latenciesOf(first)[index])).toBe(true);
    configured.clock.advance(HOUR_MS);
    const third = await found();
    expect(latenciesOf(third).some((one, index) => one === latenciesOf(first)[index])).toBe(false);
    await page.setLatency('none');
    configured.clock.advance(1_000);
    expect((await found())?.kept.latencies).toBeNull();
  });

  test("it is read again after a minute, because today's figures grow", async () => {
    const first = await found();
    configured.clock.advance(60_000);
    const second = await found();
    expect(second?.kept.view.now).toBe((first?.kept.view.now ?? 0) + 60_000);
  });

  test.each<[string, (declared: DeclaredPage) => Promise<unknown>]>([
    ['a status', (declared) => declared.setStatus('API', 'error')],
    ['the name of a monitor', (declared) => declared.renameMonitor('API', 'Interface')],
    ['the publicity of a monitor', (declared) => declared.hideMonitor('API')],
    ['a component', (declared) => declared.addStatic('Office')],
    ['a removed component', (declared) => declared.removeComponent('Web')],
    ['the title', (declared) => declared.setTitle('Another')],
  ])('%s that changed is shown a second later', async (_what, change) => {
    const first = await found();
    await change(page);
    configured.clock.advance(1_000);
    const second = await found();
    expect(second?.kept).not.toBe(first?.kept);
    expect(JSON.stringify(second?.kept.view)).not.toBe(JSON.stringify(first?.kept.view));
  });

  test('a check that began before a change of the declaration is not used after it', async () => {
    reads.hold();
    const early = found();
    await page.unpublish();
    const late = cache.findPage(NAME);
    reads.release();
    await early;
    expect(await late).toBe('unknown');
    expect(await cache.findPage(NAME)).toBe('unknown');
  });

  test('a page that is no longer published is gone at once', async () => {
    await cache.findPage(NAME);
    await page.unpublish();
    expect(await cache.findPage(NAME)).toBe('unknown');
  });

  test('names without a page are not cached', async () => {
    expect(await cache.findPage({ slug: 'unknown' })).toBe('unknown');
    const before = reads.count;
    expect(await cache.findPage({ slug: 'unknown' })).toBe('unknown');
    expect(reads.count).toBeGreaterThan(before);
  });
});

test('all cached pages stay within their bound: the least recently used go first', async () => {
  const slugs = ['a', 'b', 'c'];
  for (const slug of slugs) await declarePage(configured, { monitors: [slug], page: { slug } });
  // Each page takes about 30,000 bytes without its documents, so two pages fit.
  cache = cacheOf(62_000);
  /** Whether finding the page reads the database. */
  const asksFor = async (slug: string) => {
    const before = reads.count;
    const answer = await cache.findPage({ slug });
    if (typeof answer === 'string') throw new Error(answer);
    return { kept: answer.kept, asks: reads.count > before };
  };
  await asksFor('a');
  await asksFor('b');
  expect((await asksFor('a')).asks).toBe(false);
  const { kept, asks } = await asksFor('b');
  expect(asks).toBe(false);
  await cache.renderDocument(kept, documentAt('') as PageDocument, '', placeIn());
  expect((await asksFor('b')).asks).toBe(false);
  expect((await asksFor('a')).asks).toBe(true);
  await asksFor('c');
  expect((await asksFor('c')).asks).toBe(false);
  expect((await asksFor('b')).asks).toBe(true);
});

describe.each<['hold' | 'fail', string]>([
  ['hold', 'is held by another program'],
  ['fail', 'fails to read'],
])('while the database (%s) %s', (mode) => {
  test('the last good page is shown for an hour, marked after 15 seconds, and then is current again', async () => {
    const first = await found();
    const goodAt = configured.clock.wall();
    reads[mode]();
    await page.setStatus('API', 'error');
    configured.clock.advance(5_000);
    expect(await settledIn(found(), 250)).toEqual({ kept: first?.kept, staleSince: null });
    for (let passed = 0; passed < HOUR_MS; passed += 60_000) {
      configured.clock.advance(60_000);
      const later = await settledIn(found(), 250);
      expect(later?.kept).toBe(first?.kept);
      expect(later?.staleSince).toBe(goodAt);
    }
    reads.release();
    // The check that waits ends first.
    await expect
      .poll(async () => {
        configured.clock.advance(1_000);
        return (await found())?.staleSince;
      })
      .toBeNull();
    expect((await found())?.kept.view.overall).toBe('partial-outage');
  });

  test('a page is not shown after a change of the declaration, which may have withdrawn something', async () => {
    await found();
    await page.hideMonitor('API');
    reads[mode]();
    expect(await settledIn(cache.findPage(NAME), 3_000)).toBe('unavailable');
    reads.release();
    await expect
      .poll(async () => {
        configured.clock.advance(1_000);
        return (await found())?.kept.view.sections.flatMap(({ components }) => components).length;
      })
      .toBe(1);
  });

  test('a page that was never read is not available', async () => {
    reads[mode]();
    expect(await settledIn(cache.findPage(NAME), 3_000)).toBe('unavailable');
    reads.release();
    // The check that waits ends first.
    await expect.poll(async () => (await found())?.kept.view.page.attributes.slug).toBe('example');
  });
});

test('requests share one wait for a blocked database', async () => {
  await cache.findPage(NAME);
  reads.hold();
  configured.clock.advance(2_000);
  await settledIn(found(), 250);
  // The check is still running, but a further request does not wait for it.
  expect((await found())?.kept).toBeDefined();
});

const keptPage = (components: number): KeptPage => ({
  version: '1',
  view: pageView(largeSource(components)),
  latencies: null,
  documents: new Map(),
  bytes: 0,
  readAt: 0,
});

function documentIn(kept: KeptPage, path: string): Promise<RenderedDocument | null> {
  return renderOnce(kept, documentAt(path) as PageDocument, path, placeIn());
}

test('a page does not keep all documents, but keeps a used one', async () => {
  const kept = keptPage(100);
  const page = await documentIn(kept, '');
  const components = kept.view.sections.flatMap((section) => section.components);
  expect(components).toHaveLength(100);
  for (const { id } of components) {
    expect(await documentIn(kept, `/days/${id}`)).not.toBeNull();
    expect(await documentIn(kept, '')).toBe(page);
  }
  expect(kept.documents.size).toBe(64);
  const all = await Promise.all([...kept.documents.values()].map(({ document }) => document));
  const bytes = (one: RenderedDocument | null) =>
    (one?.plain.byteLength ?? 0) + (one?.gzipped.byteLength ?? 0);
  expect(kept.bytes).toBe(all.reduce((sum, one) => sum + bytes(one), 0));
});

test('requests during the rendering of a document share it', async () => {
  const kept = keptPage(50);
  const all = await Promise.all([documentIn(kept, ''), documentIn(kept, ''), documentIn(kept, '')]);
  expect(new Set(all).size).toBe(1);
  expect(await documentIn(kept, '')).toBe(all[0]);
});

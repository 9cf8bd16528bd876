import { expect, test } from 'vitest';
import { largeSource, placeIn } from '../../../../test/support/status-page-source.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { pageView } from './page-view.ts';
import { Documents, type KeptPage, type RenderedDocument } from './rendered.ts';

const keptPage = (components: number): KeptPage => ({
  version: '1',
  view: pageView(largeSource(components)),
  latencies: null,
  documents: new Map(),
  readAt: 0,
});

let documents = new Documents();

function documentOf(kept: KeptPage, path: string): Promise<RenderedDocument | null> {
  return documents.of(kept, documentAt(path) as PageDocument, path, placeIn());
}

test('who asks for one document after another makes no page keep them all, and what is asked for stays', async () => {
  const kept = keptPage(100);
  const page = await documentOf(kept, '');
  const components = kept.view.sections.flatMap((section) => section.components);
  expect(components).toHaveLength(100);
  for (const { id } of components) {
    expect(await documentOf(kept, `/days/${id}`)).not.toBeNull();
    expect(await documentOf(kept, '')).toBe(page);
  }
  expect(kept.documents.size).toBe(64);
});

test('requests that come while a document is rendered share it', async () => {
  const kept = keptPage(50);
  const all = await Promise.all([documentOf(kept, ''), documentOf(kept, ''), documentOf(kept, '')]);
  expect(new Set(all).size).toBe(1);
  expect(await documentOf(kept, '')).toBe(all[0]);
});

test('all pages together keep no more bytes than they may: those that nobody asked for go first', async () => {
  documents = new Documents(200_000);
  const pages = Array.from({ length: 10 }, () => keptPage(50));
  const [first] = pages;
  if (first === undefined) throw new Error('there are no pages');
  for (const kept of pages) {
    await documentOf(kept, '');
    // Asked for again, so that it is among those that stay.
    await documentOf(first, '');
    expect(documents.bytes).toBeLessThanOrEqual(200_000);
  }
  expect(pages.map((kept) => kept.documents.size)).toEqual([1, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
  for (const kept of pages) documents.forget(kept);
  expect(documents.bytes).toBe(0);
});

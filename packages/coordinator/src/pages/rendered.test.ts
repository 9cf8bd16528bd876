import { expect, test } from 'vitest';
import { largeSource, placeIn } from '../../../../test/support/status-page-source.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { pageView } from './page-view.ts';
import { documentOf, type KeptPage, type RenderedDocument } from './rendered.ts';

const keptPage = (components: number): KeptPage => ({
  version: '1',
  view: pageView(largeSource(components)),
  latencies: null,
  documents: new Map(),
  bytes: 0,
  readAt: 0,
});

function documentIn(kept: KeptPage, path: string): Promise<RenderedDocument | null> {
  return documentOf(kept, documentAt(path) as PageDocument, path, placeIn());
}

test('who asks for one document after another makes no page keep them all, and what is asked for stays', async () => {
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

test('requests that come while a document is rendered share it', async () => {
  const kept = keptPage(50);
  const all = await Promise.all([documentIn(kept, ''), documentIn(kept, ''), documentIn(kept, '')]);
  expect(new Set(all).size).toBe(1);
  expect(await documentIn(kept, '')).toBe(all[0]);
});

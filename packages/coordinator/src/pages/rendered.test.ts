import { expect, test } from 'vitest';
import { largeSource, placeIn } from '../../../../test/support/status-page-source.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { pageView } from './page-view.ts';
import { type KeptPage, type RenderedDocument, renderedOnce } from './rendered.ts';

const keptPage = (components: number): KeptPage => ({
  version: '1',
  view: pageView(largeSource(components)),
  latencies: null,
  documents: new Map(),
  readAt: 0,
});

function documentOf(kept: KeptPage, path: string): Promise<RenderedDocument | null> {
  return renderedOnce(kept, documentAt(path) as PageDocument, path, placeIn());
}

test('who asks for one document after another makes no page keep them all, and what is asked for stays', async () => {
  const kept = keptPage(100);
  const page = documentOf(kept, '');
  const components = kept.view.sections.flatMap((section) => section.components);
  expect(components).toHaveLength(100);
  for (const { id } of components) {
    expect(await documentOf(kept, `/days/${id}`)).not.toBeNull();
    expect(documentOf(kept, '')).toBe(page);
  }
  expect(kept.documents.size).toBe(64);
});

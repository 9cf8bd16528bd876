import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { PageDocument } from './documents.ts';
import type { PageView, ReadLatencies } from './page-view.ts';
import type { Place } from './place.ts';

const gzipped = promisify(gzip);

/**
 * Most documents that are kept of a page: more than its own in each language, and less than one for each of its
 * components, which strangers could ask for one after another.
 */
const MOST_KEPT = 64;

/** A page with everything that was rendered of it. */
export type KeptPage = {
  readonly version: string;
  readonly view: PageView;
  readonly latencies: ReadLatencies | null;
  /** The least recently used first. */
  readonly documents: Map<string, Promise<RenderedDocument | null>>;
  /** When it was read, monotonic, ms. */
  readonly readAt: number;
};

/** A document as it is sent. */
export type RenderedDocument = {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** Weak: it stands for both codings. */
  readonly etag: string;
};

/**
 * A document of a kept page. It is rendered and compressed once, also for requests that come meanwhile, unless many
 * others were asked for since.
 *
 * @param path of the document below the page
 * @returns null: the page has no such document
 */
export function renderedOnce(
  kept: KeptPage,
  document: PageDocument,
  path: string,
  place: Place,
): Promise<RenderedDocument | null> {
  const key = JSON.stringify([path, place.origin, place.path, place.words.language, place.staleSince]);
  const { documents } = kept;
  const rendering = documents.get(key) ?? rendered(document.render(kept.view, place));
  // A map keeps the order of insertion, so the most recently used key is last.
  documents.delete(key);
  documents.set(key, rendering);
  const [oldest] = documents.keys();
  if (documents.size > MOST_KEPT && oldest !== undefined) documents.delete(oldest);
  return rendering;
}

async function rendered(text: string | null): Promise<RenderedDocument | null> {
  if (text === null) return null;
  const plain = new TextEncoder().encode(text);
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 20)}"`;
  return { plain, gzipped: new Uint8Array(await gzipped(plain, { level: 9 })), etag };
}

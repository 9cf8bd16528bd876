import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { documentHeaders } from './document-headers.ts';
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
  /** The least recently used first. {@link documentOf} keeps them. */
  readonly documents: Map<string, Rendering>;
  /** About what the page takes with its documents, bytes. */
  bytes: number;
  /** When it was read, monotonic, ms. */
  readonly readAt: number;
};

type Rendering = {
  readonly document: Promise<RenderedDocument | null>;
  /** Of the document; 0 until it is rendered. */
  bytes: number;
};

/** A document as it is sent. */
export type RenderedDocument = {
  readonly headers: Readonly<Record<string, string>>;
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
export async function documentOf(
  kept: KeptPage,
  document: PageDocument,
  path: string,
  place: Place,
): Promise<RenderedDocument | null> {
  const { documents } = kept;
  const key = JSON.stringify([path, place.origin, place.path, place.words.language, place.staleSince]);
  const known = documents.get(key);
  if (known !== undefined) {
    // A map keeps the order of insertion, so the most recently used is last.
    documents.delete(key);
    documents.set(key, known);
    return known.document;
  }
  const text = document.render(kept.view, place);
  const rendering: Rendering = { document: rendered(text, { document, kept, place }), bytes: 0 };
  documents.set(key, rendering);
  const [oldest] = documents;
  if (documents.size > MOST_KEPT && oldest !== undefined) {
    documents.delete(oldest[0]);
    kept.bytes -= oldest[1].bytes;
  }
  const made = await rendering.document;
  if (made !== null && documents.get(key) === rendering) {
    rendering.bytes = made.plain.byteLength + made.gzipped.byteLength;
    kept.bytes += rendering.bytes;
  }
  return made;
}

type Made = { readonly document: PageDocument; readonly kept: KeptPage; readonly place: Place };

async function rendered(text: string | null, made: Made): Promise<RenderedDocument | null> {
  if (text === null) return null;
  const plain = new TextEncoder().encode(text);
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 20)}"`;
  const headers = documentHeaders(made.document, made.kept.view, etag, made.place.staleSince);
  return { headers, plain, gzipped: new Uint8Array(await gzipped(plain, { level: 9 })), etag };
}

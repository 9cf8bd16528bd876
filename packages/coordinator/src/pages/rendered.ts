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
/** Most bytes that are kept of all documents: some 1,500 pages in one language. */
const MOST_BYTES = 64 * 2 ** 20;
/** What is held of a document beside its bytes, some bytes. */
const OVERHEAD = 1_000;

/** A page with everything that was rendered of it. */
export type KeptPage = {
  readonly version: string;
  readonly view: PageView;
  readonly latencies: ReadLatencies | null;
  /** The least recently used first. {@link Documents} keeps them. */
  readonly documents: Map<string, Rendering>;
  /** When it was read, monotonic, ms. */
  readonly readAt: number;
};

type Rendering = {
  readonly document: Promise<RenderedDocument | null>;
  /** Bytes that it takes; 0 until it is rendered. */
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

/** The documents of all kept pages: those that were asked for last, up to a number of bytes. */
export class Documents {
  readonly #mostBytes: number;
  /** Ended ones with where they are kept, the least recently used first. */
  readonly #uses = new Map<Rendering, { readonly kept: KeptPage; readonly key: string }>();
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of all documents. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A document of a kept page. It is rendered and compressed once, also for requests that come meanwhile, unless many
   * others were asked for since.
   *
   * @param path of the document below the page
   * @returns null: the page has no such document
   */
  of(kept: KeptPage, document: PageDocument, path: string, place: Place): Promise<RenderedDocument | null> {
    const key = keyOf(path, place);
    const known = kept.documents.get(key);
    if (known !== undefined) {
      this.#use(known, kept, key);
      return known.document;
    }
    const text = document.render(kept.view, place);
    const rendering: Rendering = { document: rendered(text, { document, kept, place }), bytes: 0 };
    kept.documents.set(key, rendering);
    const [oldest] = kept.documents;
    if (kept.documents.size > MOST_KEPT && oldest !== undefined) this.#remove(oldest[1], kept, oldest[0]);
    return rendering.document.then((made) => {
      rendering.bytes = OVERHEAD + (made === null ? 0 : made.plain.byteLength + made.gzipped.byteLength);
      if (kept.documents.get(key) === rendering) this.#add(rendering, kept, key);
      return made;
    });
  }

  /** A page is replaced or dropped: nobody asks for its documents any more. */
  forget(kept: KeptPage): void {
    for (const [key, rendering] of kept.documents) this.#remove(rendering, kept, key);
  }

  #add(rendering: Rendering, kept: KeptPage, key: string): void {
    this.#uses.set(rendering, { kept, key });
    this.#bytes += rendering.bytes;
    for (const [oldest, place] of this.#uses) {
      if (this.#bytes <= this.#mostBytes || oldest === rendering) break;
      this.#remove(oldest, place.kept, place.key);
    }
  }

  /** A map keeps the order of insertion, so the most recently used is last. */
  #use(rendering: Rendering, kept: KeptPage, key: string): void {
    kept.documents.delete(key);
    kept.documents.set(key, rendering);
    const place = this.#uses.get(rendering);
    if (place === undefined) return;
    this.#uses.delete(rendering);
    this.#uses.set(rendering, place);
  }

  #remove(rendering: Rendering, kept: KeptPage, key: string): void {
    if (kept.documents.get(key) === rendering) kept.documents.delete(key);
    if (this.#uses.delete(rendering)) this.#bytes -= rendering.bytes;
  }
}

function keyOf(path: string, { origin, path: base, words, staleSince }: Place): string {
  return JSON.stringify([path, origin, base, words.language, staleSince]);
}

type Made = { readonly document: PageDocument; readonly kept: KeptPage; readonly place: Place };

async function rendered(text: string | null, made: Made): Promise<RenderedDocument | null> {
  if (text === null) return null;
  const plain = new TextEncoder().encode(text);
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 20)}"`;
  const headers = documentHeaders(made.document, made.kept.view, etag, made.place.staleSince);
  return { headers, plain, gzipped: new Uint8Array(await gzipped(plain, { level: 9 })), etag };
}

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { PageName } from '../store/pages/shown-pages.ts';
import { pageHeaders } from '../web/headers.ts';
import { type BoundedWait, boundedWait } from './bounded-wait.ts';
import type { PageDocument } from './documents.ts';
import { type PageView, pageView, type ReadLatencies } from './page-view.ts';
import type { Place } from './place.ts';
import { findVersion, type PageReadingParts, readPage } from './read-page.ts';

/*
 * The life of a cached page, and when the cache asks the database. After this
 * process has changed the declaration or a note, a page is shown only if it
 * was checked after the change, because the change may have hidden something.
 *
 *     no entry ── request ──▶ checking ── no such page ──▶ no entry (404)
 *                                │
 *               if the version is new, the last read is a minute old, or a
 *            maintenance began or ended since that read: read the page again
 *                                ▼
 *   ┌── request within 1 s ── current ── request later ──▶ checking, once for all requests. Until the
 *   └────────────────────────▶   ▲                         page is 2 s old, requests get it at once
 *                                │                             │          │
 *                                └───────── answered ──────────┘   fails, or takes long
 *                                                                         ▼
 *                           the last good page, marked as old after 15 s. A later request checks again
 */

/**
 * Minimum time between the beginnings of two checks of a
 * page, ms. A page that is shown is hardly older than this.
 */
const FRESH_MS = 1_000;
/**
 * Age up to which a request during a check gets the cached page at once,
 * ms. So usually only the visitor whose request started the check waits.
 */
const FRESH_DURING_CHECK_MS = 2_000;
/**
 * Time after which a page is read again even if its version is the
 * same, ms. The figures of the present day grow without a new version.
 */
const REREAD_MS = 60_000;
/** Age from which a page that cannot be checked is marked as old, ms. */
const STALE_AFTER_MS = 15_000;
/** Maximum size of all cached pages together, bytes. */
const MOST_BYTES = 128 * 2 ** 20;
/** Estimated size of a component with its days, bytes. */
const COMPONENT_BYTES = 15_000;

export type PageCacheParts = PageReadingParts & { readonly clock: Clock; readonly log: Logger };

export type FoundPage = {
  readonly kept: KeptPage;
  /**
   * If the page cannot be checked now, the instant at which
   * its data was current, epoch ms; null: the data is current.
   */
  readonly staleSince: number | null;
};

/**
 * Why no page is shown. `unknown`: no page with this name is published. `unavailable`:
 * the data of the page cannot be read, and the cache has no earlier data.
 */
export type MissingPage = 'unknown' | 'unavailable';

type Entry = {
  readonly name: PageName;
  kept: KeptPage | null;
  /** Number of bytes that the cache counts for this entry. */
  bytes: number;
  /** The running check; null: no check runs. */
  check: BoundedWait | null;
  /** When the check that finished last began, monotonic ms. */
  triedAt: number;
  /**
   * When the last successful check of this entry began, monotonic
   * ms. Before the first such check, `kept` is not shown.
   */
  goodAt: number;
  goodWall: number;
  /**
   * The value of `Store.declarations` when the entry was made. After
   * a further change by this process, a new entry replaces this one.
   */
  readonly declarations: number;
};

const NEVER = Number.NEGATIVE_INFINITY;
const UNCHECKED = { check: null, triedAt: NEVER, goodAt: NEVER, goodWall: 0 } as const;

/**
 * The requested pages, each with the last view that could be
 * read. Concurrent requests share one read and one rendering.
 */
export class PageCache {
  readonly #parts: PageCacheParts;
  /** The entries by slug, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(parts: PageCacheParts, mostBytes = MOST_BYTES) {
    this.#parts = parts;
    this.#mostBytes = mostBytes;
  }

  /** Finds the published page with this name. Never rejects. */
  async findPage(name: PageName): Promise<FoundPage | MissingPage> {
    const { clock } = this.#parts;
    const entry = this.#entryOf(name);
    if (entry.kept !== null && this.#isFresh(entry)) return { kept: entry.kept, staleSince: null };
    const isChecked = entry.goodAt !== NEVER;
    if (entry.check === null && clock.monotonic() - entry.triedAt >= FRESH_MS) {
      entry.check = boundedWait(this.#checkEntry(entry), clock);
    }
    if (entry.check !== null) await (isChecked ? entry.check.short : entry.check.long);
    if (entry.goodAt === NEVER) return 'unavailable';
    return entry.kept === null ? 'unknown' : { kept: entry.kept, staleSince: this.#staleSince(entry) };
  }

  /** Renders a document of a page that {@link findPage} found, see {@link renderOnce}. */
  async renderDocument(
    kept: KeptPage,
    document: PageDocument,
    path: string,
    place: Place,
  ): Promise<RenderedDocument | null> {
    const made = await renderOnce(kept, document, path, place);
    const entry = this.#entries.get(kept.view.page.attributes.slug);
    if (entry?.kept === kept) this.#countBytes(entry);
    return made;
  }

  #isFresh({ goodAt, check, declarations }: Entry): boolean {
    const { clock, store } = this.#parts;
    const age = clock.monotonic() - goodAt;
    return declarations === store.declarations && age < (check === null ? FRESH_MS : FRESH_DURING_CHECK_MS);
  }

  #entryOf(name: PageName): Entry {
    const { declarations } = this.#parts.store;
    const known = this.#entries.get(name.slug);
    // After a change of the declaration, a new entry is made. A check that
    // is running continues with the old entry, so its result is not shown.
    const entry: Entry =
      known?.declarations === declarations
        ? known
        : { ...UNCHECKED, name, kept: known?.kept ?? null, bytes: known?.bytes ?? 0, declarations };
    this.#entries.delete(name.slug);
    this.#entries.set(name.slug, entry);
    return entry;
  }

  #staleSince({ goodAt, goodWall }: Entry): number | null {
    return this.#parts.clock.monotonic() - goodAt > STALE_AFTER_MS ? goodWall : null;
  }

  async #checkEntry(entry: Entry): Promise<void> {
    const { clock, log, slotNow } = this.#parts;
    const beganAt = clock.monotonic();
    const beganWall = Math.floor(slotNow());
    try {
      entry.kept = await this.#readCurrent(entry);
      // If the cache has dropped the entry meanwhile, the entry is not counted.
      if (this.#isKept(entry)) this.#countBytes(entry);
      entry.goodAt = beganAt;
      entry.goodWall = beganWall;
    } catch (error) {
      log.warn({ page: entry.name, error: messageOf(error) }, 'cannot read a status page');
    }
    entry.check = null;
    // The data of a slow check is old already. So the next request begins another check at once.
    entry.triedAt = beganAt;
    // The cache keeps no names without a page, because strangers can invent any number of names.
    if (entry.kept === null && this.#isKept(entry)) this.#entries.delete(entry.name.slug);
  }

  async #readCurrent({ name, kept }: Entry): Promise<KeptPage | null> {
    const now = this.#parts.clock.monotonic();
    const found = await findVersion(this.#parts, name);
    if (found === null) return null;
    if (kept !== null && kept.version === found.version && this.#isRecent(kept)) return kept;
    const source = await readPage(this.#parts, found.page, kept?.latencies ?? null);
    const view = pageView(source);
    const components = view.sections.reduce((sum, section) => sum + section.components.length, 1);
    return {
      version: found.version,
      view,
      latencies: source.latencies,
      documents: new Map(),
      bytes: components * COMPONENT_BYTES,
      readAt: now,
    };
  }

  /**
   * Whether a page whose version is unchanged may still be shown: it was read less than a minute ago, and no
   * maintenance began or ended after that. A maintenance begins and ends without a write to the database.
   */
  #isRecent({ view, readAt }: KeptPage): boolean {
    const { clock, slotNow } = this.#parts;
    const edges = view.maintenance.flatMap(({ startsAt, endsAt }) => [startsAt, endsAt]);
    const hasPassed = edges.some((edge) => edge > view.now && edge <= slotNow());
    return !hasPassed && clock.monotonic() - readAt < REREAD_MS;
  }

  #isKept(entry: Entry): boolean {
    return this.#entries.get(entry.name.slug) === entry;
  }

  /**
   * Counts the bytes of an entry. While the total is too large, drops the least recently used other entries.
   */
  #countBytes(entry: Entry): void {
    const bytes = entry.kept?.bytes ?? 0;
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    for (const [slug, oldest] of this.#entries) {
      if (this.#bytes <= this.#mostBytes || oldest === entry) break;
      this.#bytes -= oldest.bytes;
      this.#entries.delete(slug);
    }
  }
}

const gzipped = promisify(gzip);

/**
 * Maximum number of cached documents of a page. All documents but the tables of days fit, in all languages.
 * The tables of days of all components may not fit: strangers could request all of them to fill the memory.
 */
const MOST_KEPT = 64;

/** A page with its rendered documents. */
export type KeptPage = {
  readonly version: string;
  readonly view: PageView;
  readonly latencies: ReadLatencies | null;
  /** The rendered documents, least recently used first. {@link renderOnce} maintains the order. */
  readonly documents: Map<string, Rendering>;
  /** Approximate size of the page with its documents, bytes. */
  bytes: number;
  /** When the page was read, monotonic ms. */
  readonly readAt: number;
};

type Rendering = {
  readonly document: Promise<RenderedDocument | null>;
  /** Size of the document, bytes; 0 until it is rendered. */
  bytes: number;
};

/** A document that is ready to be sent. */
export type RenderedDocument = {
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** A weak entity tag, because the plain and the compressed bytes of the document share it. */
  readonly etag: string;
};

/**
 * Renders and compresses a document of a cached page. Later calls return the same
 * result, unless at least {@link MOST_KEPT} other documents were requested in between.
 *
 * @param path path of the document below the page
 * @returns null: the page has no such document
 */
export async function renderOnce(
  kept: KeptPage,
  document: PageDocument,
  path: string,
  place: Place,
): Promise<RenderedDocument | null> {
  const { documents } = kept;
  const key = JSON.stringify([path, place.origin, place.path, place.words.language, place.staleSince]);
  const known = documents.get(key);
  if (known !== undefined) {
    // A map keeps the order of insertion, so this document becomes the most recently used.
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

/**
 * Makes the headers of a document.
 *
 * @param staleSince if newer data cannot be read, the instant
 *   of the document's data, epoch ms; null: the data is current
 */
function documentHeaders(
  { kind, contentType, maxAge }: PageDocument,
  { page }: PageView,
  etag: string,
  staleSince: number | null,
): Readonly<Record<string, string>> {
  const isPublic = page.attributes.access_type === 'public';
  return {
    ...pageHeaders(),
    'content-type': contentType,
    'cache-control': cacheControl(isPublic, staleSince !== null, maxAge),
    etag,
    vary: kind === 'page' ? 'accept-encoding, accept-language' : 'accept-encoding',
    ...(isPublic ? {} : { 'x-robots-tag': 'noindex' }),
    // Scripts of other sites may read documents that everybody may read.
    ...(isPublic && kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
    ...(staleSince === null ? {} : { 'svc-stale-since': new Date(staleSince).toISOString() }),
  };
}

/**
 * Makes the `Cache-Control` header. Shared caches may serve a public document for an hour while svc
 * does not answer, but not longer: a page that has become private must not stay visible for a day.
 */
function cacheControl(isPublic: boolean, isStale: boolean, maxAge: number): string {
  if (!isPublic) return 'private, no-store';
  const later = 'stale-while-revalidate=60, stale-if-error=3600';
  return `public, max-age=${isStale ? 5 : maxAge}, ${later}`;
}

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
 * The life of a cached page, and when the cache asks the database. After a change of the declaration or of a
 * note, a page is shown only if it was checked since the change: the change may have hidden something.
 *
 *          no entry ── request ──▶ checking ── no such page ──▶ no entry (404)
 *                                     │
 *            the version is new, or the last read was a minute ago, or a maintenance
 *                      began or ended since: the page is read again
 *                                     ▼
 *        ┌── request within 1 s ── current ── request later ──▶ checking, one for all requests
 *        └────────────────────────▶   ▲                             │          │
 *                                     └───── answered ──────────────┘   fails, or takes long
 *                                                                              ▼
 *                                        the last good page, marked as old after 15 s; a later request tries again
 */

/** Time in which only one request asks the database, ms. A page is hardly older than this. */
const FRESH_MS = 1_000;
/**
 * Age up to which requests that arrive during a check get the cached page at once, ms. So only the visitor
 * whose request started the check waits.
 */
const FRESH_DURING_CHECK_MS = 2_000;
/**
 * Time after which a page is read again although its version is the same, ms, because today's figures grow.
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
   * The instant at which the data was current, epoch ms, if the page cannot be checked now; null: the data is
   * current.
   */
  readonly staleSince: number | null;
};

/**
 * Why a page is not shown. `unknown`: no page of this name is published. `unavailable`: its data cannot be
 * read, and no earlier data is cached.
 */
export type MissingPage = 'unknown' | 'unavailable';

type Entry = {
  readonly name: PageName;
  kept: KeptPage | null;
  /** The bytes that the cache counts for this entry. */
  bytes: number;
  /** The running check; null: none runs. */
  check: BoundedWait | null;
  /** When the last finished check began, monotonic ms. */
  triedAt: number;
  /** When the last successful check began, monotonic ms. Before the first one, `kept` is not shown. */
  goodAt: number;
  goodWall: number;
  /**
   * The store's count of declaration changes when the entry was made. After another change the entry is
   * replaced.
   */
  readonly declarations: number;
};

const NEVER = Number.NEGATIVE_INFINITY;
const UNCHECKED = { check: null, triedAt: NEVER, goodAt: NEVER, goodWall: 0 } as const;

/**
 * The requested pages, each with its last good view. Concurrent requests share one read and one rendering.
 */
export class PageCache {
  readonly #parts: PageCacheParts;
  /** The least recently used entry is first. */
  readonly #entries = new Map<string, Entry>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(parts: PageCacheParts, mostBytes = MOST_BYTES) {
    this.#parts = parts;
    this.#mostBytes = mostBytes;
  }

  /** Finds the published page of this name. Never rejects. */
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

  /** Renders a document of a found page, see {@link renderOnce}. */
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
    // A check that began before the last change continues with the earlier entry.
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
      // An entry that was dropped meanwhile is not counted.
      if (this.#isKept(entry)) this.#countBytes(entry);
      entry.goodAt = beganAt;
      entry.goodWall = beganWall;
    } catch (error) {
      log.warn({ page: entry.name, error: messageOf(error) }, 'cannot read a status page');
    }
    entry.check = null;
    // The data of a slow check is old already, so the next request checks again at once.
    entry.triedAt = beganAt;
    // Names without a page are not kept, because strangers can invent any number of them.
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
   * Whether a page of an unchanged version may still be shown: it was read within a minute, and no
   * maintenance began or ended since. Maintenance begins and ends without a write to the database.
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

  /** Counts the bytes of an entry, and drops other entries while the total is too large. */
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
 * Maximum number of cached documents of a page. All fixed documents in all languages fit. The tables of days
 * of all components may not fit: strangers could request all these tables, and would fill the memory.
 */
const MOST_KEPT = 64;

/** A page with its rendered documents. */
export type KeptPage = {
  readonly version: string;
  readonly view: PageView;
  readonly latencies: ReadLatencies | null;
  /** The least recently used document is first. {@link renderOnce} keeps the order. */
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
  /** A weak entity tag, because the plain and the compressed form of the document share it. */
  readonly etag: string;
};

/**
 * Renders and compresses a document of a cached page. Later requests get the same result, unless more than
 * {@link MOST_KEPT} other documents were requested since.
 *
 * @param path of the document below the page
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
    // A map keeps the order of insertion, so the most recently used document is last.
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
 * The headers of a document.
 *
 * @param staleSince the instant of its data, epoch ms, if newer data cannot be read; null: the data is
 *   current
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
    // Scripts of other sites may read what everybody may read.
    ...(isPublic && kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
    ...(staleSince === null ? {} : { 'svc-stale-since': new Date(staleSince).toISOString() }),
  };
}

/**
 * Shared caches may serve a public document for an hour while svc does not answer, but not longer: a page
 * that was made private must not stay visible for a day.
 */
function cacheControl(isPublic: boolean, isStale: boolean, maxAge: number): string {
  if (!isPublic) return 'private, no-store';
  const later = 'stale-while-revalidate=60, stale-if-error=3600';
  return `public, max-age=${isStale ? 5 : maxAge}, ${later}`;
}

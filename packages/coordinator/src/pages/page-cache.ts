import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { PageName } from '../store/pages/shown-pages.ts';
import type { PageDocument } from './documents.ts';
import { pageView } from './page-view.ts';
import { type Patience, patienceWith } from './patience.ts';
import type { Place } from './place.ts';
import { findVersion, type PageReadingParts, readPage } from './read-page.ts';
import { documentOf, type KeptPage, type RenderedDocument } from './rendered.ts';

/*
 * What is kept of a page, and when the database is asked. After a change of what people declare or write, only what was
 * checked since then is shown: something may have been withdrawn.
 *
 *          no entry ── request ──▶ checking ── no such page ──▶ no entry (404)
 *                                     │
 *                  the version is new, or the page was read a minute ago: it is read
 *                                     ▼
 *        ┌── request within 1 s ── current ── request later ──▶ checking, one for all requests
 *        └────────────────────────▶   ▲                             │          │
 *                                     └───── answered ──────────────┘   fails, or takes long
 *                                                                              ▼
 *                                        the last good page, after 15 s marked as such; next try by a later request
 */

/** Time within which no second request asks the database, ms: what pages say is hardly older. */
const FRESH_MS = 1_000;
/** Age up to which those who come during a check get the page at once, ms: of many visitors only one waits for it. */
const FRESH_DURING_CHECK_MS = 2_000;
/** Time after which a page is read again though no data changed, ms: today's figures grow. */
const REREAD_MS = 60_000;
/** Age from which a page that cannot be checked is marked, ms. */
const STALE_AFTER_MS = 15_000;
/** Most bytes of all kept pages together. */
const MOST_BYTES = 128 * 2 ** 20;
/** What a component takes with its days, some bytes. */
const COMPONENT_BYTES = 15_000;

export type PageCacheParts = PageReadingParts & { readonly clock: Clock; readonly log: Logger };

export type FoundPage = {
  readonly kept: KeptPage;
  /** The instant at which the shown data was current, epoch ms, where it cannot be checked; null: it is current. */
  readonly staleSince: number | null;
};

/** Why a page is not shown: nobody published one of this name; or its data cannot be read, and nothing of it is kept. */
export type MissingPage = 'unknown' | 'unavailable';

type Entry = {
  readonly name: PageName;
  kept: KeptPage | null;
  /** How many bytes of it are counted. */
  bytes: number;
  /** The check that runs. */
  check: Patience | null;
  /** When the last check that has ended began, monotonic, ms. */
  triedAt: number;
  /** When the last successful check began: monotonic, ms, and epoch ms. Before one, `kept` is not shown. */
  goodAt: number;
  goodWall: number;
  /** What `declarations` of the store was when the entry was made: it is for that time only. */
  readonly declarations: number;
};

const NEVER = Number.NEGATIVE_INFINITY;
const UNCHECKED = { check: null, triedAt: NEVER, goodAt: NEVER, goodWall: 0 } as const;

/** The pages that visitors asked for, each with the last good view. Everything of it is made by one flight at a time. */
export class PageCache {
  readonly #parts: PageCacheParts;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(parts: PageCacheParts, mostBytes = MOST_BYTES) {
    this.#parts = parts;
    this.#mostBytes = mostBytes;
  }

  /** The published page of this name. It does not reject. */
  async find(name: PageName): Promise<FoundPage | MissingPage> {
    const { clock } = this.#parts;
    const entry = this.#entry(name);
    if (entry.kept !== null && this.#isFresh(entry)) return { kept: entry.kept, staleSince: null };
    const isChecked = entry.goodAt !== NEVER;
    if (entry.check === null && clock.monotonic() - entry.triedAt >= FRESH_MS) {
      entry.check = patienceWith(this.#check(entry), clock);
    }
    if (entry.check !== null) await (isChecked ? entry.check.late : entry.check.tooLate);
    if (entry.goodAt === NEVER) return 'unavailable';
    return entry.kept === null ? 'unknown' : { kept: entry.kept, staleSince: this.#staleSince(entry) };
  }

  /** A document of a found page, as {@link documentOf} makes it. */
  async documentOf(
    kept: KeptPage,
    document: PageDocument,
    path: string,
    place: Place,
  ): Promise<RenderedDocument | null> {
    const made = await documentOf(kept, document, path, place);
    const entry = this.#entries.get(kept.view.page.attributes.slug);
    if (entry?.kept === kept) this.#count(entry);
    return made;
  }

  #isFresh({ goodAt, check, declarations }: Entry): boolean {
    const { clock, store } = this.#parts;
    const age = clock.monotonic() - goodAt;
    return declarations === store.declarations && age < (check === null ? FRESH_MS : FRESH_DURING_CHECK_MS);
  }

  #entry(name: PageName): Entry {
    const { declarations } = this.#parts.store;
    const known = this.#entries.get(name.slug);
    // A check that began before the last change goes on with the entry of that time.
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

  async #check(entry: Entry): Promise<void> {
    const { clock, log, slotNow } = this.#parts;
    const beganAt = clock.monotonic();
    const beganWall = Math.floor(slotNow());
    try {
      entry.kept = await this.#read(entry);
      // An entry that was dropped meanwhile counts no more.
      if (this.#isKept(entry)) this.#count(entry);
      entry.goodAt = beganAt;
      entry.goodWall = beganWall;
    } catch (error) {
      log.warn({ page: entry.name, error: messageOf(error) }, 'cannot read a status page');
    }
    entry.check = null;
    // What took long is already old: the next request looks again at once.
    entry.triedAt = beganAt;
    // Names without a page are not remembered: strangers may make up any number of them.
    if (entry.kept === null && this.#isKept(entry)) this.#entries.delete(entry.name.slug);
  }

  async #read({ name, kept }: Entry): Promise<KeptPage | null> {
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

  /** Whether time alone has changed nothing: maintenance begins and ends without a commit. */
  #isRecent({ view, readAt }: KeptPage): boolean {
    const { clock, slotNow } = this.#parts;
    const edges = view.maintenance.flatMap(({ startsAt, endsAt }) => [startsAt, endsAt]);
    const hasPassed = edges.some((edge) => edge > view.now && edge <= slotNow());
    return !hasPassed && clock.monotonic() - readAt < REREAD_MS;
  }

  #isKept(entry: Entry): boolean {
    return this.#entries.get(entry.name.slug) === entry;
  }

  /** Counts what an entry takes, and drops others where all together take too much. */
  #count(entry: Entry): void {
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

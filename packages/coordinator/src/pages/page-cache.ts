import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { PageName } from '../store/shown-pages.ts';
import { pageView } from './page-view.ts';
import { type Patience, patienceWith } from './patience.ts';
import { findVersion, type PageReadingParts, readPage } from './read-page.ts';
import { Documents, type KeptPage } from './rendered.ts';

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
/** Most components of all kept pages together: a component with its days takes some 15 KB. */
const KEPT_COMPONENTS = 5_000;

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
  /** What is rendered of the pages. */
  readonly documents = new Documents();
  readonly #parts: PageCacheParts;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #components = 0;

  constructor(parts: PageCacheParts) {
    this.#parts = parts;
  }

  /** The published page of this name. It does not reject. */
  async find(name: PageName): Promise<FoundPage | MissingPage> {
    const { clock } = this.#parts;
    const key = JSON.stringify(name);
    const entry = this.#entry(key, name);
    if (entry.kept !== null && this.#isFresh(entry)) return { kept: entry.kept, staleSince: null };
    const isChecked = entry.goodAt !== NEVER;
    if (entry.check === null && clock.monotonic() - entry.triedAt >= FRESH_MS) {
      entry.check = patienceWith(this.#check(key, entry), clock);
    }
    if (entry.check !== null) await (isChecked ? entry.check.late : entry.check.tooLate);
    if (entry.goodAt === NEVER) return 'unavailable';
    return entry.kept === null ? 'unknown' : { kept: entry.kept, staleSince: this.#staleSince(entry) };
  }

  #isFresh({ goodAt, check, declarations }: Entry): boolean {
    const { clock, store } = this.#parts;
    const age = clock.monotonic() - goodAt;
    return declarations === store.declarations && age < (check === null ? FRESH_MS : FRESH_DURING_CHECK_MS);
  }

  #entry(key: string, name: PageName): Entry {
    const { declarations } = this.#parts.store;
    const known = this.#entries.get(key);
    // A check that began before the last change goes on with the entry of that time.
    const entry: Entry =
      known?.declarations === declarations
        ? known
        : { ...UNCHECKED, name, kept: known?.kept ?? null, declarations };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  #staleSince({ goodAt, goodWall }: Entry): number | null {
    return this.#parts.clock.monotonic() - goodAt > STALE_AFTER_MS ? goodWall : null;
  }

  async #check(key: string, entry: Entry): Promise<void> {
    const { clock, log, slotNow } = this.#parts;
    const beganAt = clock.monotonic();
    const beganWall = Math.floor(slotNow());
    try {
      this.#keep(key, entry, await this.#read(entry));
      entry.goodAt = beganAt;
      entry.goodWall = beganWall;
    } catch (error) {
      log.warn({ page: entry.name, error: messageOf(error) }, 'cannot read a status page');
    }
    entry.check = null;
    // What took long is already old: the next request looks again at once.
    entry.triedAt = beganAt;
    // Names without a page are not remembered: strangers may make up any number of them.
    if (entry.kept === null && this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  async #read({ name, kept }: Entry): Promise<KeptPage | null> {
    const now = this.#parts.clock.monotonic();
    const found = await findVersion(this.#parts, name);
    if (found === null) return null;
    if (kept !== null && kept.version === found.version && this.#isRecent(kept)) return kept;
    const source = await readPage(this.#parts, found.page, kept?.latencies ?? null);
    const { latencies } = source;
    return {
      version: found.version,
      view: pageView(source),
      latencies,
      documents: new Map(),
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

  #keep(key: string, entry: Entry, kept: KeptPage | null): void {
    // An entry that was dropped meanwhile counts no more.
    if (this.#entries.get(key) === entry) this.#components += weight(kept) - weight(entry.kept);
    if (entry.kept !== null && entry.kept !== kept) this.documents.forget(entry.kept);
    entry.kept = kept;
    for (const [oldest, other] of this.#entries) {
      if (this.#components <= KEPT_COMPONENTS || oldest === key) break;
      this.#components -= weight(other.kept);
      if (other.kept !== null) this.documents.forget(other.kept);
      this.#entries.delete(oldest);
    }
  }
}

function weight(kept: KeptPage | null): number {
  return kept === null ? 0 : kept.view.sections.reduce((sum, { components }) => sum + components.length, 1);
}

import { idChunks, type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/** The result of the last check of a page's custom domain. Instants are epoch ms. */
export type CheckedDomain = {
  readonly pageId: number;
  /** The domain as the page declared it at the time of the check. */
  readonly declared: string;
  /** The ASCII form of the domain, which browsers request. */
  readonly domain: string;
  /**
   * `verified`: a check found the domain pointing to this service, and fewer than three checks since then found it
   * pointing elsewhere. The page is served under the domain while the page is published.
   */
  readonly state: 'verified' | 'pending';
  /**
   * The problem, as a text for people: a DNS record is missing or wrong, name servers do not
   * answer, or another page has the verified domain. Null: there is no problem.
   */
  readonly problem: string | null;
  /** Number of checks that found the domain pointing elsewhere, since the last one that found it pointing here. */
  readonly failures: number;
  readonly checkedAt: number;
  /** When a check last found the domain pointing here; null: never. */
  readonly verifiedAt: number | null;
};

const COLUMNS = [
  'd.page_id as pageId',
  'd.declared',
  'd.domain',
  'd.state',
  'd.problem',
  'd.failures',
  'd.checked_at as checkedAt',
  'd.verified_at as verifiedAt',
] as const;

/** The last check of the domain that the page declares now; null: that domain was not checked yet. */
export async function checkedDomain(source: Readable, pageId: number): Promise<CheckedDomain | null> {
  return (await checkedDomains(source, [pageId])).get(pageId) ?? null;
}

function presentDomains(source: Readable) {
  return readingOf(source)
    .selectFrom('page_domains as d')
    .innerJoin('status_pages as p', (on) =>
      on.onRef('p.id', '=', 'd.page_id').onRef('p.custom_domain', '=', 'd.declared'),
    )
    .select(COLUMNS);
}

/**
 * For each of these pages, the last check of the domain that it declares now. A page without a domain, or
 * whose domain was not checked yet, is missing.
 */
export async function checkedDomains(
  source: Readable,
  pageIds: readonly number[],
): Promise<ReadonlyMap<number, CheckedDomain>> {
  const found = new Map<number, CheckedDomain>();
  for (const some of idChunks(pageIds)) {
    const rows = await presentDomains(source).where('d.page_id', 'in', some).execute();
    for (const row of rows) found.set(row.pageId, row);
  }
  return found;
}

/** A published page that is served under a domain of its own. */
export type ServedDomain = { readonly pageId: number; readonly slug: string };

/**
 * The published page that is served under this domain; null: there is no such page. If two pages declare two
 * spellings of the same domain, the older page is served.
 *
 * @param domain in ASCII, in lower case
 */
export async function pageOfDomain(source: Readable, domain: string): Promise<ServedDomain | null> {
  const row = await readingOf(source)
    .selectFrom('page_domains as d')
    .innerJoin('status_pages as p', (on) =>
      on.onRef('p.id', '=', 'd.page_id').onRef('p.custom_domain', '=', 'd.declared'),
    )
    .select(['p.id as pageId', 'p.slug'])
    .where('d.domain', '=', domain)
    .where('d.state', '=', 'verified')
    .where('p.published', '=', 1)
    .orderBy('p.id')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Whether another page declares this domain and the domain is verified for that page. The other page need not
 * be published.
 *
 * @param domain in ASCII, in lower case
 */
export async function isHeldElsewhere(source: Readable, domain: string, pageId: number): Promise<boolean> {
  const row = await presentDomains(source)
    .where('d.domain', '=', domain)
    .where('d.state', '=', 'verified')
    .where('d.page_id', '!=', pageId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** A page's declared domain with its last check; `checked` is null if this domain was not checked yet. */
export type DeclaredDomain = {
  readonly pageId: number;
  readonly declared: string;
  readonly checked: CheckedDomain | null;
};

/** The declared domains of the next pages after this page id, by ascending page id. */
export async function declaredDomains(
  { work }: Pick<Store, 'work'>,
  afterPage: number,
  limit: number,
): Promise<DeclaredDomain[]> {
  const rows = await work
    .selectFrom('status_pages as p')
    .leftJoin('page_domains as d', (on) =>
      on.onRef('d.page_id', '=', 'p.id').onRef('d.declared', '=', 'p.custom_domain'),
    )
    .select(['p.id', 'p.custom_domain', 'd.domain', 'd.state', 'd.problem', 'd.failures'])
    .select(['d.checked_at', 'd.verified_at'])
    .where('p.custom_domain', 'is not', null)
    .where('p.id', '>', afterPage)
    .orderBy('p.id')
    .limit(limit)
    .execute();
  return rows.map((row) => {
    const declared = row.custom_domain ?? '';
    const {
      id: pageId,
      domain,
      state,
      problem,
      failures,
      checked_at: checkedAt,
      verified_at: verifiedAt,
    } = row;
    const isChecked = domain !== null && state !== null && failures !== null && checkedAt !== null;
    return {
      pageId,
      declared,
      checked: isChecked
        ? { pageId, declared, domain, state, problem, failures, checkedAt, verifiedAt }
        : null,
    };
  });
}

/** Writes a check, unless the page was removed or declares another domain now. */
export async function writeCheckedDomain({ db }: Transaction, checked: CheckedDomain): Promise<void> {
  const { pageId, declared, domain, state, problem, failures } = checked;
  const page = await db
    .selectFrom('status_pages')
    .select('id')
    .where('id', '=', pageId)
    .where('custom_domain', '=', declared)
    .executeTakeFirst();
  if (page === undefined) return;
  const values = {
    declared,
    domain,
    state,
    problem,
    failures,
    checked_at: wholeMs(checked.checkedAt),
    verified_at: checked.verifiedAt === null ? null : wholeMs(checked.verifiedAt),
  };
  await db
    .insertInto('page_domains')
    .values({ page_id: pageId, ...values })
    .onConflict((conflict) => conflict.column('page_id').doUpdateSet(values))
    .execute();
}

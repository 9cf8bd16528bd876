import { sql } from 'kysely';
import { jsonMember } from '../dialect.ts';
import { type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Store, Transaction } from '../store.ts';

/** The last fetch of a page's icon. Instants are epoch ms. */
export type FetchedIcon = {
  readonly pageId: number;
  /** The icon's URL that was fetched. The page may declare another URL now. */
  readonly url: string;
  /** The `ETag` of the last answer with an image; null: it had no `ETag`, or there was no such answer. */
  readonly validator: string | null;
  /** Why the last fetch failed; null: it succeeded. */
  readonly problem: string | null;
  /** Number of consecutive failed fetches. */
  readonly failures: number;
  readonly triedAt: number;
};

/** The image of an icon, as pages serve it. */
export type IconImage = { readonly contentType: string; readonly content: Uint8Array };

/**
 * A published page that declares an icon. `fetched`: the last fetch
 * of this icon; null: it was not fetched yet.
 */
export type DeclaredIcon = {
  readonly pageId: number;
  readonly url: string;
  readonly fetched: FetchedIcon | null;
};

/** The declared icons of the next published pages after this page id, by ascending page id. */
export async function declaredIcons(
  { work }: Pick<Store, 'work'>,
  afterPage: number,
  limit: number,
): Promise<DeclaredIcon[]> {
  const icon = jsonMember(sql`p.attributes`, 'icon');
  const { rows } = await sql<{
    id: number;
    icon: string;
    url: string | null;
    validator: string | null;
    problem: string | null;
    failures: number | null;
    tried_at: number | null;
  }>`
    SELECT p.id, ${icon} AS icon, i.url, i.validator, i.problem, i.failures, i.tried_at
    FROM status_pages p LEFT JOIN page_icons i ON i.page_id = p.id AND i.url = ${icon}
    WHERE p.published = 1 AND ${icon} IS NOT NULL AND p.id > ${afterPage} ORDER BY p.id LIMIT ${limit}`.execute(
    work,
  );
  return rows.map(({ id: pageId, icon: declared, url, validator, problem, failures, tried_at: triedAt }) => ({
    pageId,
    url: declared,
    fetched:
      url === null || triedAt === null
        ? null
        : { pageId, url, validator, problem, failures: failures ?? 0, triedAt },
  }));
}

/**
 * Writes the result of a fetch, unless the page was removed. If the fetch brought no new image, a stored
 * image from the same URL stays. A stored image from another URL is removed.
 *
 * @param image null: the fetch brought no new image
 */
export async function writeFetchedIcon(
  { db }: Transaction,
  { pageId, url, validator, problem, failures, triedAt }: FetchedIcon,
  image: IconImage | null,
): Promise<void> {
  const page = await db.selectFrom('status_pages').select('id').where('id', '=', pageId).executeTakeFirst();
  if (page === undefined) return;
  await db.deleteFrom('page_icons').where('page_id', '=', pageId).where('url', '!=', url).execute();
  const tried = { validator, problem, failures, tried_at: wholeMs(triedAt) };
  const made =
    image === null
      ? {}
      : { content_type: image.contentType, content: image.content, fetched_at: wholeMs(triedAt) };
  await db
    .insertInto('page_icons')
    .values({ page_id: pageId, url, ...tried, ...made })
    .onConflict((conflict) => conflict.column('page_id').doUpdateSet({ ...tried, ...made }))
    .execute();
}

/** When the stored image of a page's icon was fetched from this URL, epoch ms; null: no image is stored. */
export async function iconFetchedAt(source: Readable, pageId: number, url: string): Promise<number | null> {
  const row = await readingOf(source)
    .selectFrom('page_icons')
    .select('fetched_at')
    .where('page_id', '=', pageId)
    .where('url', '=', url)
    .where('content', 'is not', null)
    .executeTakeFirst();
  return row?.fetched_at ?? null;
}

/** The stored image of a page's icon from this URL; null: no image is stored. */
export async function iconImage(source: Readable, pageId: number, url: string): Promise<IconImage | null> {
  const row = await readingOf(source)
    .selectFrom('page_icons')
    .select(['content_type', 'content'])
    .where('page_id', '=', pageId)
    .where('url', '=', url)
    .executeTakeFirst();
  const { content_type: contentType = null, content = null } = row ?? {};
  return contentType === null || content === null ? null : { contentType, content };
}

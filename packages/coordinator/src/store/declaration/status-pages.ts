import type { Transaction } from '../store.ts';

type Names = { readonly slug: string; readonly custom_domain: string | null };

/**
 * Answers which of a page's names another page has; null: none. Slugs are unique over all workspaces. A domain is unique
 * in its workspace only: whoever declares one has not shown that it is theirs.
 *
 * @param exceptId the page itself; 0 for a new one
 */
export async function takenName(
  { db }: Transaction,
  workspaceId: number,
  { slug, custom_domain }: Names,
  exceptId: number,
): Promise<keyof Names | null> {
  const taken = await db
    .selectFrom('status_pages')
    .select('slug')
    .where('id', '!=', exceptId)
    .where((page) =>
      page.or([
        page('slug', '=', slug),
        page.and([page('custom_domain', '=', custom_domain), page('workspace_id', '=', workspaceId)]),
      ]),
    )
    .execute();
  if (taken.length === 0) return null;
  return taken.some((page) => page.slug === slug) ? 'slug' : 'custom_domain';
}

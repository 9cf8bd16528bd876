import type { Transaction } from './store.ts';

type Names = { readonly slug: string; readonly custom_domain: string | null };

/**
 * Answers which of a page's names another page has, in any workspace; null: none.
 *
 * @param exceptId the page itself; 0 for a new one
 */
export async function takenName(
  { db }: Transaction,
  { slug, custom_domain }: Names,
  exceptId: number,
): Promise<keyof Names | null> {
  const taken = await db
    .selectFrom('status_pages')
    .select('slug')
    .where('id', '!=', exceptId)
    .where((page) => page.or([page('slug', '=', slug), page('custom_domain', '=', custom_domain)]))
    .execute();
  if (taken.length === 0) return null;
  return taken.some((page) => page.slug === slug) ? 'slug' : 'custom_domain';
}

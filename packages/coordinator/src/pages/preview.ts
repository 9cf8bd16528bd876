import type { StoredPage } from '../declaration/stored.ts';
import { statusPage } from './html/page.ts';
import { pageView } from './page-view.ts';
import { type PageReadingParts, readPage } from './read-page.ts';
import { wordsOf } from './words.ts';

/**
 * A page as its visitors see it, in English, whether it is published or not: for who edits it. The caller has asked
 * whether it may be shown.
 *
 * @param publicUrl SVC_PUBLIC_URL
 * @throws StoreError
 */
export async function previewOf(
  parts: PageReadingParts,
  page: StoredPage,
  publicUrl: string,
): Promise<string> {
  const { origin } = new URL(publicUrl);
  const place = {
    origin,
    path: `/status/${page.attributes.slug}`,
    words: wordsOf('en'),
    staleSince: null,
  };
  return statusPage(pageView(await readPage(parts, page)), place);
}

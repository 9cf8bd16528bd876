import { sql } from 'kysely';
import { jsonFlag, jsonMember } from '../dialect.ts';
import { factOrNew, readFact } from '../facts.ts';
import { type Readable, readingOf } from '../reading-of.ts';
import type { Transaction } from '../store.ts';
import { publishedOf } from './incident-news.ts';
import type { StoredWindow } from './maintenance-windows.ts';

/** What the subscribers of pages were told of maintenance windows. */

const FACT = 'windows_told_since';

/** The first start of a version that tells of windows, epoch ms; null: there was none. */
export async function windowsToldSince(source: Readable): Promise<number | null> {
  const since = await readFact(readingOf(source), FACT);
  return since === null ? null : Number(since);
}

/** Windows of before are not announced. @param now epoch ms */
export async function beginTellingWindows({ db }: Transaction, now: number): Promise<void> {
  await factOrNew(db, FACT, () => String(Math.floor(now)));
}

/** What was told of a window on a page. Instants are epoch ms. */
export type ToldWindow = {
  readonly pageId: number;
  readonly windowId: number;
  readonly announcedFrom: number | null;
  readonly begunFrom: number | null;
  readonly isOver: boolean;
};

/** By page and window. */
export async function toldWindows(source: Readable): Promise<ToldWindow[]> {
  const rows = await readingOf(source)
    .selectFrom('page_windows_told')
    .selectAll()
    .orderBy('page_id')
    .orderBy('window_id')
    .execute();
  return rows.map((row) => ({
    pageId: row.page_id,
    windowId: row.window_id,
    announcedFrom: row.announced_from,
    begunFrom: row.begun_from,
    isOver: row.is_over === 1,
  }));
}

export async function noteWindowTold({ db }: Transaction, told: ToldWindow): Promise<void> {
  const values = {
    announced_from: told.announcedFrom,
    begun_from: told.begunFrom,
    is_over: Number(told.isOver),
  };
  await db
    .insertInto('page_windows_told')
    .values({ page_id: told.pageId, window_id: told.windowId, ...values })
    .onConflict((conflict) => conflict.columns(['page_id', 'window_id']).doUpdateSet(values))
    .execute();
}

/** Published pages that show a window, each with the names of the affected components that it shows. */
export async function pagesOfWindow(
  source: Readable,
  { workspaceId, pageIds, componentIds, monitorIds }: StoredWindow,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const { rows } = await sql<{ page_id: number; name: string | null }>`
    SELECT c.page_id, coalesce(${jsonMember(sql`c.attributes`, 'name')}, m.name) AS name
    FROM components c JOIN status_pages p ON p.id = c.page_id LEFT JOIN monitors m ON m.id = c.monitor_id
    WHERE p.published = 1 AND p.workspace_id = ${workspaceId}
      AND (c.id IN (${sql.join([0, ...componentIds])}) OR c.monitor_id IN (${sql.join([0, ...monitorIds])}))
      AND (CASE WHEN m.id IS NULL THEN ${jsonMember(sql`c.attributes`, 'type')} = 'static'
        ELSE ${jsonMember(sql`p.attributes`, 'access_type')} <> 'public'
          OR ${jsonFlag(sql`m.attributes`, 'public')} = 1 END)
    ORDER BY c.page_id, c.id`.execute(readingOf(source));
  const found = new Map<number, readonly string[]>();
  for (const pageId of pageIds.length === 0 ? [] : await publishedOf(source, pageIds)) found.set(pageId, []);
  for (const { page_id: pageId, name } of rows)
    found.set(pageId, [...(found.get(pageId) ?? []), ...(name === null ? [] : [name])]);
  return found;
}

import { idChunks } from './id-chunks.ts';
import { type Readable, readingOf } from './reading-of.ts';
import type { OwnedRow } from './resources.ts';
import type { Transaction } from './store.ts';

/** The tables of the parts of status pages. */
export type PagePart = 'components' | 'component_groups';

export type ShownMonitor = OwnedRow & { readonly page_id: number; readonly monitor_id: number | null };

/** Components that show one of these monitors (500 at most), by ascending id. */
export function componentsOfMonitors(
  { db }: Transaction,
  monitorIds: readonly number[],
): Promise<ShownMonitor[]> {
  return db
    .selectFrom('components')
    .select(['id', 'page_id', 'monitor_id', 'owner', 'local_name'])
    .where('monitor_id', 'in', monitorIds)
    .orderBy('id')
    .execute();
}

/** Those of these components that exist, of any workspace, with the monitors that they show. */
export async function componentsByIds(
  source: Readable,
  ids: readonly number[],
): Promise<{ id: number; page_id: number; monitor_id: number | null }[]> {
  const found: { id: number; page_id: number; monitor_id: number | null }[] = [];
  for (const some of idChunks(ids)) {
    const query = readingOf(source).selectFrom('components').select(['id', 'page_id', 'monitor_id']);
    found.push(...(await query.where('id', 'in', some).execute()));
  }
  return found;
}

export async function removeComponents(tx: Transaction, ids: readonly number[]): Promise<void> {
  await tx.runEach(
    'DELETE FROM components WHERE id = ?',
    ids.map((id) => [id]),
  );
}

/**
 * Detaches components from their monitors: they stay on their pages and show nothing.
 *
 * @param now epoch ms
 */
export async function showNothing(tx: Transaction, ids: readonly number[], now: number): Promise<void> {
  await tx.runEach(
    'UPDATE components SET monitor_id = NULL, row_version = row_version + 1, updated_at = ? WHERE id = ?',
    ids.map((id) => [now, id]),
  );
}

export function componentsOfGroup({ db }: Transaction, groupId: number): Promise<OwnedRow[]> {
  return db
    .selectFrom('components')
    .select(['id', 'owner', 'local_name'])
    .where('group_id', '=', groupId)
    .execute();
}

/**
 * Takes the components out of a group: they stay on their page.
 *
 * @param now epoch ms
 */
export async function emptyGroup({ db }: Transaction, groupId: number, now: number): Promise<void> {
  await db
    .updateTable('components')
    .set((row) => ({ group_id: null, row_version: row('row_version', '+', 1), updated_at: now }))
    .where('group_id', '=', groupId)
    .execute();
}

export function partsOfPage({ db }: Transaction, part: PagePart, pageId: number): Promise<OwnedRow[]> {
  return db.selectFrom(part).select(['id', 'owner', 'local_name']).where('page_id', '=', pageId).execute();
}

export async function removePartsOfPage({ db }: Transaction, part: PagePart, pageId: number): Promise<void> {
  await db.deleteFrom(part).where('page_id', '=', pageId).execute();
}

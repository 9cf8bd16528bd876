import { type RawBuilder, sql } from 'kysely';
import { containsText, jsonMember, numbersAs } from '../dialect.ts';
import { idChunks, type Readable, readingOf } from '../queries.ts';
import type { Transaction } from '../store.ts';
import type { OwnedRow } from './resources.ts';

type Names = { readonly slug: string; readonly custom_domain: string | null };

/**
 * Returns which name of the page another page already has: its slug or its domain; null:
 * neither. Slugs are unique over all workspaces. A domain is unique only in its workspace,
 * because a declaration does not prove who owns the domain.
 *
 * @param exceptId the id of the page itself; 0 for a new page
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

/** The tables that have the parts of status pages. */
export type PagePart = 'components' | 'component_groups';

export type ShowingComponent = OwnedRow & { readonly page_id: number; readonly monitor_id: number | null };

/**
 * The components that show one of these monitors, by ascending id.
 *
 * @param monitorIds at most 500
 */
export function componentsOfMonitors(
  { db }: Transaction,
  monitorIds: readonly number[],
): Promise<ShowingComponent[]> {
  return db
    .selectFrom('components')
    .select(['id', 'page_id', 'monitor_id', 'owner', 'local_name'])
    .where('monitor_id', 'in', monitorIds)
    .orderBy('id')
    .execute();
}

/** The existing components with these ids, of any workspace, with the monitors that they show. */
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
 * Detaches components from their monitors. The components stay on their pages and show nothing.
 *
 * @param now epoch ms
 */
export async function detachFromMonitors(
  tx: Transaction,
  ids: readonly number[],
  now: number,
): Promise<void> {
  await tx.runEach(
    'UPDATE components SET monitor_id = NULL, row_version = row_version + 1, updated_at = ? WHERE id = ?',
    ids.map((id) => [now, id]),
  );
}

/**
 * The components of these groups, by ascending id.
 *
 * @param groupIds at most 500
 */
export function componentsOfGroups(
  { db }: Transaction,
  groupIds: readonly number[],
): Promise<(OwnedRow & { readonly group_id: number | null })[]> {
  return db
    .selectFrom('components')
    .select(['id', 'owner', 'local_name', 'group_id'])
    .where('group_id', 'in', groupIds)
    .orderBy('id')
    .execute();
}

/**
 * Takes all components out of these groups. The components stay on their pages.
 *
 * @param now epoch ms
 */
export async function emptyGroups(tx: Transaction, groupIds: readonly number[], now: number): Promise<void> {
  await tx.runEach(
    'UPDATE components SET group_id = NULL, row_version = row_version + 1, updated_at = ? WHERE group_id = ?',
    groupIds.map((id) => [now, id]),
  );
}

export function partsOfPage({ db }: Transaction, part: PagePart, pageId: number): Promise<OwnedRow[]> {
  return db.selectFrom(part).select(['id', 'owner', 'local_name']).where('page_id', '=', pageId).execute();
}

export async function removePartsOfPage({ db }: Transaction, part: PagePart, pageId: number): Promise<void> {
  await db.deleteFrom(part).where('page_id', '=', pageId).execute();
}

/** A component of any status page of a workspace, for lists to choose from. */
export type NamedComponent = {
  readonly id: number;
  readonly page_id: number;
  readonly page_title: string;
  readonly monitor_id: number | null;
  /** The component's own name, or else the name of its monitor; null: the component has neither. */
  readonly name: string | null;
};

export type ComponentSearch = {
  readonly workspaceId: number;
  readonly ids?: readonly number[] | undefined;
  readonly pageId?: number | undefined;
  readonly nameContains?: string | undefined;
  readonly limit: number;
  readonly offset: number;
};

/**
 * A part of the list of the workspace's components that match, by page and id, and the number of all that
 * match.
 */
export async function findComponents(
  source: Readable,
  { workspaceId, ids, pageId, nameContains, limit, offset }: ComponentSearch,
): Promise<{ rows: NamedComponent[]; total: number }> {
  const name = sql<string | null>`coalesce(${jsonMember(sql`c.attributes`, 'name')}, m.name)`;
  const conditions: RawBuilder<unknown>[] = [
    sql`c.workspace_id = ${workspaceId}`,
    ...(ids === undefined ? [] : [sql`c.id IN (SELECT value FROM ${numbersAs(ids, 'wanted')})`]),
    ...(pageId === undefined ? [] : [sql`c.page_id = ${pageId}`]),
    ...(nameContains === undefined ? [] : [containsText(name, nameContains)]),
  ];
  const found = sql`FROM components c LEFT JOIN monitors m ON m.id = c.monitor_id
    WHERE ${sql.join(conditions, sql` AND `)}`;
  const reading = readingOf(source);
  const { rows } = await sql<NamedComponent>`
    SELECT c.id, c.page_id, c.monitor_id, ${name} AS name,
      (SELECT ${jsonMember(sql`p.attributes`, 'title')} FROM status_pages p WHERE p.id = c.page_id) AS page_title
    ${found} ORDER BY c.page_id, c.id LIMIT ${limit} OFFSET ${offset}`.execute(reading);
  const counted = await sql<{ total: number }>`SELECT count(*) AS total ${found}`.execute(reading);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

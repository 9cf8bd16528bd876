import type { PageTheme } from './configuration.ts';
import { Conflict, NotFound } from './errors.ts';
import type { AttributesOf } from './kinds.ts';
import { pageAttributes, pageColumns } from './rows.ts';
import { sameAttributes } from './same-attributes.ts';
import {
  type ChangeScope,
  changesOwnership,
  refuseDeclared,
  requireVersion,
  revision,
  type WriteOptions,
  writable,
} from './scope.ts';

type StatusPage = AttributesOf<'svc_status_page'>;

export async function createPage(
  scope: ChangeScope,
  attributes: StatusPage,
  declared?: { localName: string },
): Promise<number> {
  await refuseTaken(scope, attributes, 0);
  const { insertId } = await scope.tx.db
    .insertInto('status_pages')
    .values({ ...pageColumns(scope.secrets, attributes), ...scope.creation(declared) })
    .executeTakeFirstOrThrow();
  return Number(insertId);
}

export async function updatePage(
  scope: ChangeScope,
  id: number,
  attributes: StatusPage,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'status_pages', id, await find(scope, id), options);
  const current = pageAttributes(scope.secrets, row, 'open');
  if (sameAttributes('svc_status_page', current, attributes) && !changesOwnership(row, options)) return;
  await refuseTaken(scope, attributes, id);
  await scope.tx.db
    .updateTable('status_pages')
    .set({ ...pageColumns(scope.secrets, attributes), ...revision(scope, row, options) })
    .where('id', '=', id)
    .execute();
}

export async function removePage(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'status_pages', id, await find(scope, id), options);
  for (const table of ['components', 'component_groups'] as const) {
    const parts = await scope.tx.db
      .selectFrom(table)
      .select(['id', 'owner', 'local_name'])
      .where('page_id', '=', id)
      .execute();
    for (const part of parts) refuseDeclared(scope, table, part, `status page ${id}`);
    await scope.tx.db.deleteFrom(table).where('page_id', '=', id).execute();
  }
  await scope.tx.db.deleteFrom('status_pages').where('id', '=', id).execute();
}

/** Not part of the declaration, so pages of the declared file take it too. */
export async function setPageAppearance(
  scope: ChangeScope,
  id: number,
  appearance: { published?: boolean; theme?: PageTheme },
  { expectedVersions }: { expectedVersions?: readonly number[] },
): Promise<void> {
  const row = await find(scope, id);
  if (row === undefined) throw new NotFound(`there is no status page ${id}`);
  requireVersion(`status page ${id}`, row.row_version, expectedVersions);
  const published = appearance.published === undefined ? row.published : Number(appearance.published);
  const theme = appearance.theme ?? row.theme;
  if (published === row.published && theme === row.theme) return;
  await scope.tx.db
    .updateTable('status_pages')
    .set({ published, theme, ...revision(scope, row, {}) })
    .where('id', '=', id)
    .execute();
}

/** Slugs and domains are unique across workspaces; nothing is told of the page that has it. */
async function refuseTaken(
  { tx }: ChangeScope,
  { slug, custom_domain }: StatusPage,
  exceptId: number,
): Promise<void> {
  for (const [column, value] of [
    ['slug', slug],
    ['custom_domain', custom_domain],
  ] as const) {
    if (value === null) continue;
    const taken = await tx.db
      .selectFrom('status_pages')
      .select('id')
      .where(column, '=', value)
      .where('id', '!=', exceptId)
      .executeTakeFirst();
    if (taken !== undefined) {
      throw new Conflict('taken', `"${value}" is the ${column} of another status page`, [column]);
    }
  }
}

function find({ tx, context }: ChangeScope, id: number) {
  return tx.db
    .selectFrom('status_pages')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
}

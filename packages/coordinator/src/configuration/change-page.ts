import { partsOfPage, removePartsOfPage } from '../store/components.ts';
import { findResource, insertResource, removeResource, updateResource } from '../store/resources.ts';
import { takenName } from '../store/status-pages.ts';
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
  const row = { ...pageColumns(scope.secrets, attributes), ...scope.creation(declared) };
  return insertResource(scope.tx, 'status_pages', row);
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
  const change = { ...pageColumns(scope.secrets, attributes), ...revision(scope, row, options) };
  await updateResource(scope.tx, 'status_pages', id, change);
}

export async function removePage(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'status_pages', id, await find(scope, id), options);
  for (const table of ['components', 'component_groups'] as const) {
    const parts = await partsOfPage(scope.tx, table, id);
    for (const part of parts) refuseDeclared(scope, table, part, `status page ${id}`);
    if (parts.length > 0) await removePartsOfPage(scope.tx, table, id);
  }
  await removeResource(scope.tx, 'status_pages', id);
}

/** Sets the appearance, which is not part of the declaration: pages of the declared file accept it too. */
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
  const change = { published, theme, ...revision(scope, row, {}) };
  await updateResource(scope.tx, 'status_pages', id, change);
}

/** Slugs and domains are unique across workspaces; the message reveals nothing about the other page. */
async function refuseTaken(scope: ChangeScope, attributes: StatusPage, exceptId: number): Promise<void> {
  const name = await takenName(scope.tx, attributes, exceptId);
  if (name === null) return;
  throw new Conflict('taken', `"${attributes[name]}" is the ${name} of another status page`, [name]);
}

function find({ tx, context }: ChangeScope, id: number) {
  return findResource(tx, 'status_pages', context.workspaceId, id);
}

import { Immutable, InvalidReference } from './errors.ts';
import type { AttributesOf } from './kinds.ts';
import { componentAttributes, componentColumns, groupAttributes, groupColumns } from './rows.ts';
import { sameAttributes } from './same-attributes.ts';
import {
  type ChangeScope,
  changesOwnership,
  refuseDeclared,
  revision,
  type WriteOptions,
  writable,
} from './scope.ts';

type Component = AttributesOf<'svc_status_page_component'>;
type Group = AttributesOf<'svc_status_page_component_group'>;

export async function createComponent(
  scope: ChangeScope,
  attributes: Component,
  declared?: { localName: string },
): Promise<number> {
  await checkReferences(scope, attributes);
  const { insertId } = await scope.tx.db
    .insertInto('components')
    .values({ ...componentColumns(attributes), ...scope.creation(declared) })
    .executeTakeFirstOrThrow();
  return Number(insertId);
}

export async function updateComponent(
  scope: ChangeScope,
  id: number,
  attributes: Component,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'components', id, await findComponent(scope, id), options);
  const current = componentAttributes(row);
  if (sameAttributes('svc_status_page_component', current, attributes) && !changesOwnership(row, options))
    return;
  refuseChange('component', id, current, attributes, 'page_id');
  refuseChange('component', id, current, attributes, 'type');
  await checkReferences(scope, attributes);
  await scope.tx.db
    .updateTable('components')
    .set({ ...componentColumns(attributes), ...revision(scope, row, options) })
    .where('id', '=', id)
    .execute();
}

export async function removeComponent(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'components', id, await findComponent(scope, id), options);
  await scope.tx.db.deleteFrom('components').where('id', '=', id).execute();
}

export async function createGroup(
  scope: ChangeScope,
  attributes: Group,
  declared?: { localName: string },
): Promise<number> {
  await checkPage(scope, attributes.page_id);
  const { insertId } = await scope.tx.db
    .insertInto('component_groups')
    .values({ ...groupColumns(attributes), ...scope.creation(declared) })
    .executeTakeFirstOrThrow();
  return Number(insertId);
}

export async function updateGroup(
  scope: ChangeScope,
  id: number,
  attributes: Group,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'component_groups', id, await findGroup(scope, id), options);
  const current = groupAttributes(row);
  if (
    sameAttributes('svc_status_page_component_group', current, attributes) &&
    !changesOwnership(row, options)
  ) {
    return;
  }
  refuseChange('component group', id, current, attributes, 'page_id');
  await scope.tx.db
    .updateTable('component_groups')
    .set({ ...groupColumns(attributes), ...revision(scope, row, options) })
    .where('id', '=', id)
    .execute();
}

/** Its components stay on the page, without a group. */
export async function removeGroup(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'component_groups', id, await findGroup(scope, id), options);
  const members = await scope.tx.db
    .selectFrom('components')
    .select(['id', 'owner', 'local_name'])
    .where('group_id', '=', id)
    .execute();
  for (const member of members) refuseDeclared(scope, 'components', member, `component group ${id}`);
  await scope.tx.db
    .updateTable('components')
    .set((row) => ({ group_id: null, row_version: row('row_version', '+', 1), updated_at: scope.now }))
    .where('group_id', '=', id)
    .execute();
  await scope.tx.db.deleteFrom('component_groups').where('id', '=', id).execute();
}

function refuseChange<A extends Component | Group>(
  noun: string,
  id: number,
  before: A,
  after: A,
  name: keyof A & string,
): void {
  if (before[name] === after[name]) return;
  throw new Immutable(`${name} of ${noun} ${id} cannot be changed: remove it and create another`, [name]);
}

async function checkReferences(scope: ChangeScope, attributes: Component): Promise<void> {
  const { page_id, monitor_id, group_id } = attributes;
  await checkPage(scope, page_id);
  if (monitor_id !== null) {
    const monitor = scope.monitor(Number(monitor_id));
    if (monitor?.workspaceId !== scope.context.workspaceId) {
      throw new InvalidReference(`there is no monitor ${monitor_id}`, ['monitor_id']);
    }
  }
  if (group_id !== null) {
    const group = await findGroup(scope, Number(group_id));
    if (group === undefined || String(group.page_id) !== page_id) {
      throw new InvalidReference(`status page ${page_id} has no component group ${group_id}`, ['group_id']);
    }
  }
}

async function checkPage({ tx, context }: ChangeScope, id: string): Promise<void> {
  const page = await tx.db
    .selectFrom('status_pages')
    .select('id')
    .where('id', '=', Number(id))
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
  if (page === undefined) throw new InvalidReference(`there is no status page ${id}`, ['page_id']);
}

function findComponent({ tx, context }: ChangeScope, id: number) {
  return tx.db
    .selectFrom('components')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
}

function findGroup({ tx, context }: ChangeScope, id: number) {
  return tx.db
    .selectFrom('component_groups')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
}

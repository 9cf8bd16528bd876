import { componentsOfGroup, emptyGroup } from '../store/components.ts';
import { findResource, insertResource, removeResource, updateResource } from '../store/resources.ts';
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
  const row = { ...componentColumns(attributes), ...scope.creation(declared) };
  return insertResource(scope.tx, 'components', row);
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
  const change = { ...componentColumns(attributes), ...revision(scope, row, options) };
  await updateResource(scope.tx, 'components', id, change);
}

export async function removeComponent(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'components', id, await findComponent(scope, id), options);
  await removeResource(scope.tx, 'components', id);
}

export async function createGroup(
  scope: ChangeScope,
  attributes: Group,
  declared?: { localName: string },
): Promise<number> {
  await checkPage(scope, attributes.page_id);
  const row = { ...groupColumns(attributes), ...scope.creation(declared) };
  return insertResource(scope.tx, 'component_groups', row);
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
  const change = { ...groupColumns(attributes), ...revision(scope, row, options) };
  await updateResource(scope.tx, 'component_groups', id, change);
}

/** Removes a group; its components stay on the page, without a group. */
export async function removeGroup(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'component_groups', id, await findGroup(scope, id), options);
  const members = await componentsOfGroup(scope.tx, id);
  for (const member of members) refuseDeclared(scope, 'components', member, `component group ${id}`);
  if (members.length > 0) await emptyGroup(scope.tx, id, scope.now);
  await removeResource(scope.tx, 'component_groups', id);
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
  if (monitor_id !== null && !(await scope.has('monitors', Number(monitor_id)))) {
    throw new InvalidReference(`there is no monitor ${monitor_id}`, ['monitor_id']);
  }
  if (group_id !== null) {
    const group = await findGroup(scope, Number(group_id));
    if (group === undefined || String(group.page_id) !== page_id) {
      throw new InvalidReference(`status page ${page_id} has no component group ${group_id}`, ['group_id']);
    }
  }
}

async function checkPage(scope: ChangeScope, id: string): Promise<void> {
  if (await scope.has('status_pages', Number(id))) return;
  throw new InvalidReference(`there is no status page ${id}`, ['page_id']);
}

function findComponent({ tx, context }: ChangeScope, id: number) {
  return findResource(tx, 'components', context.workspaceId, id);
}

function findGroup({ tx, context }: ChangeScope, id: number) {
  return findResource(tx, 'component_groups', context.workspaceId, id);
}

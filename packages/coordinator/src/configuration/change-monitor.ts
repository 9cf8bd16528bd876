import { probeFingerprint } from '@svc/shared/resources/check.ts';
import { componentsOfMonitors, removeComponents, showNothing } from '../store/components.ts';
import { StoreError } from '../store/errors.ts';
import {
  removeMonitors as deleteMonitors,
  insertMonitors,
  monitorsOf,
  type NewMonitor,
  standingsOf,
} from '../store/monitors.ts';
import { reviseChannels } from '../store/notifications.ts';
import { findResource, type Row, updateResource } from '../store/resources.ts';
import type { ShownBy } from './configuration.ts';
import { Conflict } from './errors.ts';
import type { AttributesOf, MonitorKind } from './kinds.ts';
import { targetOf } from './live-monitor.ts';
import { monitorAttributes, monitorColumns, monitorKindOf } from './rows.ts';
import { sameAttributes } from './same-attributes.ts';
import {
  type ChangeScope,
  changesOwnership,
  refuseDeclared,
  revision,
  type WriteOptions,
  writable,
} from './scope.ts';

type Monitor = AttributesOf<MonitorKind>;

/** Most components that a refusal names, of those that keep a monitor from being removed. */
const COMPONENTS_NAMED = 5;

/** Monitors that one statement writes or removes; each has a few kilobytes. */
const MONITORS_PER_WRITE = 250;

export async function createMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  attributes: Monitor,
  declared?: { localName: string },
): Promise<number> {
  const [id] = await createMonitors(scope, kind, [{ attributes, declared }]);
  if (id === undefined) throw new StoreError('store-error', 'a monitor was inserted without an id');
  return id;
}

/** Answers the new ids, in the order of the entries. */
export async function createMonitors(
  scope: ChangeScope,
  kind: MonitorKind,
  entries: readonly { attributes: Monitor; declared?: { localName: string } | undefined }[],
): Promise<number[]> {
  const made: number[] = [];
  for (let start = 0; start < entries.length; start += MONITORS_PER_WRITE) {
    const rows: NewMonitor[] = [];
    for (const { attributes, declared } of entries.slice(start, start + MONITORS_PER_WRITE)) {
      await scope.breathe();
      const columns = monitorColumns(scope.secrets, kind, attributes);
      rows.push({ ...columns, ...scope.creation(declared), activated_at: scope.now });
    }
    made.push(...(await insertMonitors(scope.tx, rows)));
  }
  for (const id of made) scope.changed({ kind: 'monitor', monitorId: id, removed: null });
  return made;
}

export async function updateMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  id: number,
  attributes: Monitor,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'monitors', id, await find(scope, id, kind), options);
  const current = monitorAttributes(scope.secrets, row, 'open');
  const isSame = sameAttributes(kind, current, attributes);
  if (isSame && !changesOwnership(row, options)) return;
  const isSameProbe = isSame || probeFingerprint(current) === probeFingerprint(attributes);
  // A monitor with changed probed attributes is checked at once too, even by a coordinator that starts
  // meanwhile.
  const isCheckedAnew = !isSameProbe || (attributes.active && !current.active);
  await updateResource(scope.tx, 'monitors', id, {
    ...monitorColumns(scope.secrets, kind, attributes),
    ...revision(scope, row, options),
    probe_version: row.probe_version + (isSameProbe ? 0 : 1),
    activated_at: isCheckedAnew ? scope.now : row.activated_at,
  });
  if (!isSame) scope.changed({ kind: 'monitor', monitorId: id, removed: null });
}

export async function removeMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  id: number,
  options: { shownBy?: ShownBy; expectedVersions?: readonly number[] },
): Promise<void> {
  const row = writable(scope, 'monitors', id, await find(scope, id, kind), options);
  await removeRows(scope, [row], options.shownBy ?? 'refuse');
}

/**
 * Removes monitors of any type, with the components that show them.
 *
 * @throws NotFound, Conflict `declared-in-file`
 */
export async function removeMonitors(scope: ChangeScope, ids: readonly number[]): Promise<void> {
  for (let start = 0; start < ids.length; start += MONITORS_PER_WRITE) {
    const some = ids.slice(start, start + MONITORS_PER_WRITE);
    const found = await monitorsOf(scope.tx, some);
    const own = found.filter((row) => row.workspace_id === scope.context.workspaceId);
    const byId = new Map(own.map((row) => [row.id, row]));
    await removeRows(
      scope,
      some.map((id) => writable(scope, 'monitors', id, byId.get(id))),
      'remove',
    );
  }
}

async function removeRows(
  scope: ChangeScope,
  rows: readonly Row<'monitors'>[],
  shownBy: ShownBy,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await settleComponentsOf(scope, ids, shownBy);
  const standings = await standingsOf(scope.tx, ids);
  const channels = new Set<number>();
  for (const row of rows) {
    await scope.breathe();
    const { incident = null, links = [] } = standings.get(row.id) ?? {};
    const target = targetOf(monitorAttributes(scope.secrets, row, 'masked'));
    const { workspace_id: workspaceId, type, name } = row;
    const removed = { workspaceId, type, name, target, incident, links: [...links] };
    scope.changed({ kind: 'monitor', monitorId: row.id, removed });
    for (const { notificationId } of links) channels.add(notificationId);
  }
  if (channels.size > 0) await reviseChannels(scope.tx, [...channels], scope.now);
  await deleteMonitors(scope.tx, ids);
}

async function settleComponentsOf(
  scope: ChangeScope,
  monitorIds: readonly number[],
  shownBy: ShownBy,
): Promise<void> {
  const components = await componentsOfMonitors(scope.tx, monitorIds);
  const [first] = components;
  if (first === undefined) return;
  if (shownBy === 'refuse') {
    throw new Conflict(
      'in-use',
      `monitor ${first.monitor_id} is shown by ${named(components)}: remove the components first, or repeat with ?cascade=true to remove them too, or with ?components=keep to leave it in place, showing nothing`,
    );
  }
  for (const component of components) {
    refuseDeclared(scope, 'components', component, `monitor ${component.monitor_id}`);
  }
  const ids = components.map(({ id }) => id);
  if (shownBy === 'remove') await removeComponents(scope.tx, ids);
  else await showNothing(scope.tx, ids, scope.now);
}

/** `component 3 of status page 2, component 4 of status page 2 and 5 more`. */
function named(components: readonly { id: number; page_id: number }[]): string {
  const shown = components
    .slice(0, COMPONENTS_NAMED)
    .map(({ id, page_id }) => `component ${id} of status page ${page_id}`);
  const others = components.length - shown.length;
  return `${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

/** A monitor of another type does not belong to this kind. */
async function find({ tx, context }: ChangeScope, id: number, kind: MonitorKind) {
  const row = await findResource(tx, 'monitors', context.workspaceId, id);
  return row !== undefined && monitorKindOf(row) === kind ? row : undefined;
}

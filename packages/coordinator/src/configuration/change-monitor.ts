import { probeFingerprint } from '@svc/shared/resources/check.ts';
import { componentsOfMonitor, removeComponentsOfMonitor } from '../store/components.ts';
import { standingOf } from '../store/monitors.ts';
import { reviseChannels } from '../store/notifications.ts';
import { findResource, insertResource, removeResource, updateResource } from '../store/resources.ts';
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

/** Of the components that keep a monitor from being removed, how many the refusal names. */
const COMPONENTS_NAMED = 5;

export async function createMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  attributes: Monitor,
  declared?: { localName: string },
): Promise<number> {
  const id = await insertResource(scope.tx, 'monitors', {
    ...monitorColumns(scope.secrets, kind, attributes),
    ...scope.creation(declared),
    activated_at: scope.now,
  });
  scope.changed({ kind: 'monitor', monitorId: id, removed: null });
  return id;
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
  const isActivated = attributes.active && !current.active;
  await updateResource(scope.tx, 'monitors', id, {
    ...monitorColumns(scope.secrets, kind, attributes),
    ...revision(scope, row, options),
    probe_version: row.probe_version + (isSameProbe ? 0 : 1),
    activated_at: isActivated ? scope.now : row.activated_at,
  });
  if (!isSame) scope.changed({ kind: 'monitor', monitorId: id, removed: null });
}

export async function removeMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  id: number,
  options: { cascade?: boolean; expectedVersions?: readonly number[] },
): Promise<void> {
  const row = writable(scope, 'monitors', id, await find(scope, id, kind), options);
  await removeComponentsOf(scope, id, options.cascade ?? false);
  const standing = await standingOf(scope.tx, id);
  const { type, name } = row;
  const target = targetOf(monitorAttributes(scope.secrets, row, 'masked'));
  const { workspaceId } = scope.context;
  scope.changed({
    kind: 'monitor',
    monitorId: id,
    removed: { workspaceId, type, name, target, ...standing, links: [...standing.links] },
  });
  const channels = standing.links.map(({ notificationId }) => notificationId);
  if (channels.length > 0) await reviseChannels(scope.tx, channels, scope.now);
  await removeResource(scope.tx, 'monitors', id);
}

async function removeComponentsOf(scope: ChangeScope, id: number, cascade: boolean): Promise<void> {
  const components = await componentsOfMonitor(scope.tx, id);
  if (components.length === 0) return;
  if (!cascade) {
    throw new Conflict(
      'in-use',
      `monitor ${id} is shown by ${named(components)}: remove what shows it first, or repeat with ?cascade=true`,
    );
  }
  for (const component of components) refuseDeclared(scope, 'components', component, `monitor ${id}`);
  await removeComponentsOfMonitor(scope.tx, id);
}

/** `component 3 of status page 2, component 4 of status page 2 and 5 more`. */
function named(components: readonly { id: number; page_id: number }[]): string {
  const shown = components
    .slice(0, COMPONENTS_NAMED)
    .map(({ id, page_id }) => `component ${id} of status page ${page_id}`);
  const others = components.length - shown.length;
  return `${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

/** A monitor of another type is none of this kind. */
async function find({ tx, context }: ChangeScope, id: number, kind: MonitorKind) {
  const row = await findResource(tx, 'monitors', context.workspaceId, id);
  return row !== undefined && monitorKindOf(row) === kind ? row : undefined;
}

import { probeFingerprint } from '@svc/shared/resources/check.ts';
import { Conflict } from './errors.ts';
import type { AttributesOf, MonitorKind } from './kinds.ts';
import { liveMonitor } from './live-monitor.ts';
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
  const { insertId } = await scope.tx.db
    .insertInto('monitors')
    .values({
      ...monitorColumns(scope.secrets, kind, attributes),
      ...scope.creation(declared),
      activated_at: scope.now,
    })
    .executeTakeFirstOrThrow();
  const id = Number(insertId);
  const { workspaceId } = scope.context;
  scope.replaceMonitor(
    null,
    liveMonitor({ id, workspaceId, version: 1, activatedAt: scope.now }, attributes),
  );
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
  if (sameAttributes(kind, current, attributes) && !changesOwnership(row, options)) return;
  const version = row.probe_version + (probeFingerprint(current) === probeFingerprint(attributes) ? 0 : 1);
  const isActivated = attributes.active && !current.active;
  const activatedAt = isActivated ? scope.now : row.activated_at;
  await scope.tx.db
    .updateTable('monitors')
    .set({
      ...monitorColumns(scope.secrets, kind, attributes),
      ...revision(scope, row, options),
      probe_version: version,
      activated_at: activatedAt,
    })
    .where('id', '=', id)
    .execute();
  const { workspaceId } = scope.context;
  scope.replaceMonitor(scope.monitor(id), liveMonitor({ id, workspaceId, version, activatedAt }, attributes));
}

export async function removeMonitor(
  scope: ChangeScope,
  kind: MonitorKind,
  id: number,
  options: { cascade?: boolean; expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'monitors', id, await find(scope, id, kind), options);
  await removeComponentsOf(scope, id, options.cascade ?? false);
  // The channels' list of monitors is part of what they answer, so their versions grow.
  await scope.tx.db
    .updateTable('notifications')
    .set((row) => ({ row_version: row('row_version', '+', 1), updated_at: scope.now }))
    .where('id', 'in', (row) =>
      row.selectFrom('links').select('notification_id').where('monitor_id', '=', id),
    )
    .execute();
  scope.replaceMonitor(scope.monitor(id), null);
  await scope.tx.db.deleteFrom('monitors').where('id', '=', id).execute();
}

async function removeComponentsOf(scope: ChangeScope, id: number, cascade: boolean): Promise<void> {
  const components = await scope.tx.db
    .selectFrom('components')
    .select(['id', 'page_id', 'owner', 'local_name'])
    .where('monitor_id', '=', id)
    .orderBy('id')
    .execute();
  if (components.length === 0) return;
  if (!cascade) {
    throw new Conflict(
      'in-use',
      `monitor ${id} is shown by ${named(components)}: remove what shows it first, or repeat with ?cascade=true`,
    );
  }
  for (const component of components) refuseDeclared(scope, 'components', component, `monitor ${id}`);
  await scope.tx.db.deleteFrom('components').where('monitor_id', '=', id).execute();
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
  const row = await tx.db
    .selectFrom('monitors')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
  return row !== undefined && monitorKindOf(row) === kind ? row : undefined;
}

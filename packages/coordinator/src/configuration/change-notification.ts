import { InvalidReference } from './errors.ts';
import type { AttributesOf } from './kinds.ts';
import { linkedMonitorIds } from './links.ts';
import { notificationAttributes, notificationColumns } from './rows.ts';
import { sameAttributes } from './same-attributes.ts';
import { type ChangeScope, changesOwnership, revision, type WriteOptions, writable } from './scope.ts';

type Notification = AttributesOf<'svc_notification'>;

/** Ids looked up in one query. */
const IDS_PER_QUERY = 500;

export async function createNotification(
  scope: ChangeScope,
  attributes: Notification,
  declared?: { localName: string },
): Promise<number> {
  const monitorIds = await existingMonitors(scope, attributes.monitor_ids);
  const { insertId } = await scope.tx.db
    .insertInto('notifications')
    .values({ ...notificationColumns(scope.secrets, attributes), ...scope.creation(declared) })
    .executeTakeFirstOrThrow();
  const id = Number(insertId);
  await relink(scope, id, [], monitorIds);
  return id;
}

export async function updateNotification(
  scope: ChangeScope,
  id: number,
  attributes: Notification,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'notifications', id, await find(scope, id), options);
  const linked = (await linkedMonitorIds(scope.tx.db, [id])).get(id) ?? [];
  const current = notificationAttributes(scope.secrets, row, linked, 'open');
  if (sameAttributes('svc_notification', current, attributes) && !changesOwnership(row, options)) return;
  const monitorIds = await existingMonitors(scope, attributes.monitor_ids);
  await scope.tx.db
    .updateTable('notifications')
    .set({
      ...notificationColumns(scope.secrets, attributes),
      ...revision(scope, row, options),
      // Whatever kept it from delivering may be mended now; it is found out again if not.
      state: 'ok',
      state_reason: null,
    })
    .where('id', '=', id)
    .execute();
  await relink(scope, id, linked, monitorIds);
}

export async function removeNotification(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'notifications', id, await find(scope, id), options);
  scope.effects.channelDeleted(scope.tx, id);
  await scope.tx.db.deleteFrom('notifications').where('id', '=', id).execute();
}

async function relink(
  scope: ChangeScope,
  id: number,
  before: readonly number[],
  after: readonly number[],
): Promise<void> {
  const [wasLinked, isLinked] = [new Set(before), new Set(after)];
  for (const monitorId of before) {
    if (isLinked.has(monitorId)) continue;
    scope.effects.unlinked(scope.tx, monitorId, id);
    await scope.breathe();
  }
  for (const monitorId of after) {
    if (wasLinked.has(monitorId)) continue;
    scope.effects.linked(scope.tx, monitorId, id);
    await scope.breathe();
  }
}

/** @throws InvalidReference for the first that is no monitor of this workspace */
async function existingMonitors(scope: ChangeScope, ids: readonly string[]): Promise<number[]> {
  for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
    const asked = ids.slice(start, start + IDS_PER_QUERY);
    const rows = await scope.tx.db
      .selectFrom('monitors')
      .select('id')
      .where('workspace_id', '=', scope.context.workspaceId)
      .where('id', 'in', asked.map(Number))
      .execute();
    await scope.breathe();
    const found = new Set(rows.map(({ id }) => String(id)));
    const missing = asked.findIndex((id) => !found.has(id));
    if (missing !== -1) {
      const path = ['monitor_ids', start + missing];
      throw new InvalidReference(`there is no monitor ${asked[missing]}`, path);
    }
  }
  return ids.map(Number);
}

function find({ tx, context }: ChangeScope, id: number) {
  return tx.db
    .selectFrom('notifications')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', context.workspaceId)
    .executeTakeFirst();
}

import { type ChannelLink, insertLinks, linksOfChannel, removeLinks } from '../store/links.ts';
import { existingMonitors } from '../store/monitors.ts';
import { findResource, insertResource, removeResource, updateResource } from '../store/resources.ts';
import { InvalidReference } from './errors.ts';
import type { AttributesOf } from './kinds.ts';
import { notificationAttributes, notificationColumns } from './rows.ts';
import { sameAttributes } from './same-attributes.ts';
import { type ChangeScope, changesOwnership, revision, type WriteOptions, writable } from './scope.ts';

type Notification = AttributesOf<'svc_notification'>;

export async function createNotification(
  scope: ChangeScope,
  attributes: Notification,
  declared?: { localName: string },
): Promise<number> {
  const monitorIds = await requireMonitors(scope, attributes.monitor_ids);
  const row = { ...notificationColumns(scope.secrets, attributes), ...scope.creation(declared) };
  const id = await insertResource(scope.tx, 'notifications', row);
  await link(scope, id, monitorIds);
  return id;
}

export async function updateNotification(
  scope: ChangeScope,
  id: number,
  attributes: Notification,
  options: WriteOptions,
): Promise<void> {
  const row = writable(scope, 'notifications', id, await find(scope, id), options);
  const links = await linksOfChannel(scope.tx, id);
  const linked = links.map(({ monitorId }) => monitorId);
  const current = notificationAttributes(scope.secrets, row, linked, 'open');
  if (sameAttributes('svc_notification', current, attributes) && !changesOwnership(row, options)) return;
  const monitorIds = await requireMonitors(scope, attributes.monitor_ids);
  await updateResource(scope.tx, 'notifications', id, {
    ...notificationColumns(scope.secrets, attributes),
    ...revision(scope, row, options),
    // The cause of failed deliveries may be fixed now; if not, the next delivery finds it again.
    state: 'ok',
    state_reason: null,
  });
  const [wasLinked, isLinked] = [new Set(linked), new Set(monitorIds)];
  const ended = links.filter(({ monitorId }) => !isLinked.has(monitorId));
  await unlink(scope, { id, providerType: row.provider_type }, ended);
  await link(
    scope,
    id,
    [...isLinked].filter((monitorId) => !wasLinked.has(monitorId)),
  );
}

/** Removes a channel with its links and deliveries. */
export async function removeNotification(
  scope: ChangeScope,
  id: number,
  options: { expectedVersions?: readonly number[] },
): Promise<void> {
  writable(scope, 'notifications', id, await find(scope, id), options);
  scope.changed({ kind: 'channel-removed', notificationId: id });
  await removeResource(scope.tx, 'notifications', id);
}

async function link(scope: ChangeScope, notificationId: number, monitorIds: readonly number[]) {
  if (monitorIds.length === 0) return;
  await insertLinks(scope.tx, notificationId, monitorIds);
  for (const monitorId of monitorIds) scope.changed({ kind: 'linked', monitorId, notificationId });
}

async function unlink(
  scope: ChangeScope,
  { id, providerType }: { id: number; providerType: string },
  links: readonly ChannelLink[],
): Promise<void> {
  if (links.length === 0) return;
  for (const { monitorId, announced, incident } of links) {
    const told = { providerType, announced, incident };
    scope.changed({ kind: 'unlinked', monitorId, notificationId: id, link: told });
  }
  await removeLinks(
    scope.tx,
    id,
    links.map(({ monitorId }) => monitorId),
  );
}

/** @throws InvalidReference for the first id that is not a monitor of this workspace */
async function requireMonitors(scope: ChangeScope, ids: readonly string[]): Promise<number[]> {
  const asked = ids.map(Number);
  const found = await existingMonitors(scope.tx, scope.context.workspaceId, asked);
  await scope.breathe();
  const missing = asked.findIndex((id) => !found.has(id));
  if (missing === -1) return asked;
  throw new InvalidReference(`there is no monitor ${ids[missing]}`, ['monitor_ids', missing]);
}

function find({ tx, context }: ChangeScope, id: number) {
  return findResource(tx, 'notifications', context.workspaceId, id);
}

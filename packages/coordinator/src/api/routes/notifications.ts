import type { Notification } from '@svc/shared/resources/registry.ts';
import { linkedMonitorIds } from '../../configuration/links.ts';
import type { Row } from '../../configuration/rows.ts';
import { unavailableReason } from '../../notify/registry.ts';
import { type Collection, collectionEndpoints } from '../collection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Endpoint } from '../endpoint.ts';
import { notificationView } from '../views.ts';

export function notificationEndpoints(dependencies: ApiDependencies): Endpoint[] {
  const { store, secrets } = dependencies;
  const collection: Collection<Row<'notifications'>> = {
    path: '/v1/notifications',
    tag: 'Notifications',
    noun: 'notification',
    kinds: ['svc_notification'],
    kindFor: () => 'svc_notification',
    kindOf: () => 'svc_notification',
    find: ({ workspaceId }, id) =>
      store.read
        .selectFrom('notifications')
        .selectAll()
        .where('id', '=', id)
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst(),
    async page({ workspaceId }, { limit, offset }) {
      const all = store.read.selectFrom('notifications').where('workspace_id', '=', workspaceId);
      const [rows, counted] = await Promise.all([
        all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
        all.select((from) => from.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
      ]);
      return { rows, total: counted.total };
    },
    async present(rows, shown) {
      const linked = await linkedMonitorIds(
        store.read,
        rows.map(({ id }) => id),
      );
      return rows.map((row) => notificationView(row, linked.get(row.id) ?? [], { secrets, shown }));
    },
    async written(change, id, attributes) {
      const reason = unavailableReason((attributes as Notification).provider_type);
      if (reason !== null) await change.setChannelState(id, 'failing', reason);
    },
  };
  return collectionEndpoints(collection, dependencies);
}

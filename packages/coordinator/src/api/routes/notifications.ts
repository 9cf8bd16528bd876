import type { Notification } from '@svc/shared/resources/registry.ts';
import type { StoredNotification } from '../../configuration/stored.ts';
import { unavailableReason } from '../../notify/registry.ts';
import { type Collection, collectionEndpoints } from '../collection.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Endpoint } from '../endpoint.ts';
import { notificationView } from '../views.ts';

export function notificationEndpoints(dependencies: ApiDependencies): Endpoint[] {
  const { reading } = dependencies;
  const collection: Collection<StoredNotification> = {
    path: '/v1/notifications',
    tag: 'Notifications',
    noun: 'notification',
    kinds: ['svc_notification'],
    kindFor: () => 'svc_notification',
    find: ({ workspaceId }, id, shown) => reading.notification(workspaceId, id, shown),
    page: ({ workspaceId }, query, shown) => reading.notifications(workspaceId, query, shown),
    present: (stored) => stored.map(notificationView),
    async written(change, id, attributes) {
      const reason = unavailableReason((attributes as Notification).provider_type);
      if (reason !== null) await change.setChannelState(id, 'failing', reason);
    },
  };
  return collectionEndpoints(collection, dependencies);
}

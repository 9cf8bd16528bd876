import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import type { Notification } from '@svc/shared/resources/registry.ts';
import type { ApiParts } from '../api-parts.ts';
import { type Collection, collectionEndpoints } from '../collection.ts';
import type { Endpoint } from '../endpoint.ts';
import { typeFilter } from '../filters.ts';
import { invalid } from '../problem.ts';
import { notificationView } from '../views.ts';

export function notificationEndpoints(parts: ApiParts): Endpoint[] {
  const { channelProblem } = parts;
  const collection: Collection<'notifications'> = {
    table: 'notifications',
    tag: 'Notifications',
    kinds: ['svc_notification'],
    named: 'name',
    type: typeFilter(CHANNEL_KINDS),
    removal: 'The deliveries of the channel are removed with it, also those that are pending.',
    present: (stored) => stored.map(notificationView),
    async written(change, id, attributes) {
      const { provider_type: kind, settings } = attributes as Notification;
      const problem = channelProblem(kind, settings);
      if (problem === null) return;
      const { message } = problem;
      if (problem.reason === 'setting-missing') throw invalid([{ path: ['provider_type'], message }]);
      if (problem.reason === 'address-denied') throw invalid([{ path: [kind, problem.attribute], message }]);
      await change.setChannelState(id, 'failing', message);
    },
  };
  return collectionEndpoints(collection, parts);
}

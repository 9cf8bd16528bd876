import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import type { Notification } from '@svc/shared/resources/registry.ts';
import { sameAttributes } from '../../declaration/kinds/kind-tables.ts';
import type { StoredNotification } from '../../declaration/stored.ts';
import type { ApiParts } from '../api-parts.ts';
import { instantTextOrNull } from '../body-members.ts';
import { defineResources, resourceView, serveResources } from '../collection.ts';
import type { ServedEndpoint } from '../endpoint.ts';
import { invalid } from '../problem.ts';

export const CHANNEL = defineResources('/v1/notifications', {
  tag: 'Notifications',
  kinds: ['svc_notification'],
  named: 'name',
  types: CHANNEL_KINDS,
  removal: 'The deliveries of the channel are removed with it, also those that are pending.',
});

export function notificationEndpoints(parts: ApiParts): ServedEndpoint[] {
  const { channelProblem } = parts;
  return serveResources(
    CHANNEL,
    {
      table: 'notifications',
      present: (stored) => stored.map(notificationView),
      async written(change, id, attributes, before) {
        const { provider_type: kind, settings } = attributes as Notification;
        const problem = channelProblem(kind, settings);
        if (problem === null) return;
        const { message } = problem;
        // The kind and the settings did not change. Such a change is accepted, so that
        // people can change the name and the monitors of a channel that cannot deliver.
        if (before !== null && isSentAlike(before as Notification, attributes as Notification)) {
          return change.setChannelState(id, 'failing', message);
        }
        if (problem.reason === 'setting-missing') throw invalid([{ path: ['provider_type'], message }]);
        if (problem.reason === 'address-denied')
          throw invalid([{ path: [kind, problem.attribute], message }]);
        await change.setChannelState(id, 'failing', message);
      },
    },
    parts,
  );
}

function isSentAlike(one: Notification, other: Notification): boolean {
  return one.provider_type === other.provider_type && sameAttributes(one.settings, other.settings);
}

function notificationView(stored: StoredNotification): object {
  const { state, stateReason, stoppedAt } = stored;
  return resourceView(stored, {
    state,
    state_reason: stateReason,
    stopped_at: instantTextOrNull(stoppedAt),
  });
}

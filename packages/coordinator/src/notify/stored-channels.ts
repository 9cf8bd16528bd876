import { storedChannel } from '@svc/shared/resources/stored-form.ts';
import { findChannel, openSettings } from '../store/channels.ts';
import { StoreError } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ChannelSource } from './turns.ts';

/** The declared channels. Their settings are opened for each attempt: in clear they are not kept. */
export function storedChannels(store: Store, secrets: Secrets): ChannelSource {
  return {
    async find(notificationId) {
      const channel = await findChannel(store, notificationId);
      if (channel === null) return null;
      const { workspaceId, kind, stoppedFor, groupsAlerts, kept, settingsSealed } = channel;
      return {
        workspaceId,
        kind,
        stoppedFor,
        groupsAlerts,
        kept,
        open() {
          const settings = openSettings(secrets, settingsSealed).reveal();
          const stored = storedChannel.safeParse({ kind, settings });
          if (stored.success) return stored.data;
          throw new StoreError(
            'store-unreadable',
            `database: the settings of channel ${notificationId} are of no kind`,
          );
        },
      };
    },
  };
}

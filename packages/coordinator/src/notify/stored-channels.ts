import { storedChannel } from '@svc/shared/resources/stored-form.ts';
import { findChannel, openSettings } from '../store/channels.ts';
import { StoreError } from '../store/errors.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ChannelSource } from './deliverer.ts';

/**
 * The declared channels. A channel is looked up for every attempt, so that a corrected address counts from
 * the next attempt on, and settings in clear text are not kept.
 */
export function storedChannels(store: Store, secrets: Secrets): ChannelSource {
  return {
    async find(notificationId) {
      const channel = await findChannel(store, notificationId);
      if (channel === null) return null;
      const settings = openSettings(secrets, channel.settingsSealed).reveal();
      const stored = storedChannel.safeParse({ kind: channel.kind, settings });
      if (stored.success) return stored.data;
      throw new StoreError(
        'store-unreadable',
        `database: the settings of channel ${notificationId} are of no kind`,
      );
    },
  };
}

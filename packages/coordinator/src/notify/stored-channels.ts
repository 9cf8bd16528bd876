import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { findChannel, openSettings } from '../store/channels.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import type { ChannelSource } from './deliverer.ts';
import type { StoredChannel } from './sender.ts';

/**
 * The declared channels. A channel is looked up for every attempt, so that a corrected address counts from
 * the next attempt on, and settings in clear text are not kept.
 */
export function storedChannels(store: Store, secrets: Secrets): ChannelSource {
  return {
    async find(notificationId) {
      const channel = await findChannel(store, notificationId);
      if (channel === null) return null;
      const kind = CHANNEL_KINDS.find((known) => known === channel.kind);
      if (kind === undefined) throw new RangeError(`channel ${notificationId} has an unknown kind`);
      // They were sealed after the resource's schema had normalized them.
      return { kind, settings: openSettings(secrets, channel.settingsSealed) } as StoredChannel;
    },
  };
}

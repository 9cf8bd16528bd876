import { storedChannel } from '@svc/shared/resources/stored-form.ts';
import { Secret } from '@svc/shared/secret.ts';
import { findChannel, openSettings, recipientOf } from '../store/declaration/channels.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { StoreError } from '../store/errors.ts';
import { findRecipient } from '../store/pages/page-recipients.ts';
import type { Store } from '../store/store.ts';
import type { ChannelSource, FoundChannel } from './sender.ts';

/**
 * Finds declared channels, and recipients of status pages, which are channels here. The settings of
 * a declared channel are decrypted for each attempt, and not kept in clear text.
 */
export function storedChannels(store: Store, secrets: Secrets): ChannelSource {
  return {
    async findChannel(notificationId) {
      const recipientId = recipientOf(notificationId);
      if (recipientId !== null) return recipientChannel(store, recipientId);
      const channel = await findChannel(store, notificationId);
      if (channel === null) return null;
      const { workspaceId, kind, stoppedFor, groupsAlerts, kept, settingsSealed } = channel;
      return {
        workspaceId,
        kind,
        stoppedFor,
        groupsAlerts,
        kept,
        openSettings() {
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

/**
 * Finds the mailbox of one recipient. Each mailbox is a channel
 * of its own, so that recipients do not wait for each other.
 */
async function recipientChannel(store: Store, recipientId: number): Promise<FoundChannel | null> {
  const recipient = await findRecipient({ read: store.work }, recipientId);
  if (recipient === null) return null;
  const { workspaceId, address, stoppedFor } = recipient;
  const channel = { kind: 'email', settings: new Secret({ email: address }) } as const;
  return {
    workspaceId,
    kind: channel.kind,
    stoppedFor,
    // A mail to a recipient is about one event, so mails are not grouped.
    groupsAlerts: false,
    kept: null,
    openSettings: () => channel,
  };
}

import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import type { Channel, SendContext, SendResult } from './channel.ts';
import { webhookChannel } from './channels/webhook.ts';

/** Kinds that this version can deliver to; the others are accepted and said to be failing. */
export const IMPLEMENTED_KINDS = ['webhook'] as const satisfies readonly ChannelKind[];
export type ImplementedKind = (typeof IMPLEMENTED_KINDS)[number];

export type Channels = { readonly [K in ImplementedKind]: Channel<K> };

/** All kinds, one line each. */
export function createChannels(post: HttpPost): Channels {
  return { webhook: webhookChannel(post) } satisfies { [K in ImplementedKind]: Channel<K> };
}

/** A declared channel as the deliverer needs it, settings in clear. */
export type StoredChannel = {
  [K in ChannelKind]: { readonly kind: K; readonly settings: ChannelSettings[K] };
}[ChannelKind];

export const NOT_AVAILABLE = 'not available in this version';

/**
 * Why nothing can be delivered to channels of this kind, or null. Whoever stores a channel (the API, the
 * declared file) sets its state to `failing` with this reason.
 */
export function unavailableReason(kind: ChannelKind): string | null {
  return isImplemented(kind) ? null : `${kind} channels are ${NOT_AVAILABLE}`;
}

/** One attempt through the channel's own kind. */
export async function sendThrough(
  channels: Channels,
  channel: StoredChannel,
  alert: Alert,
  context: SendContext,
): Promise<SendResult> {
  switch (channel.kind) {
    case 'webhook':
      return channels.webhook.send(channel.settings, alert, context);
    default:
      return {
        outcome: 'permanent-channel',
        error: unavailableReason(channel.kind) ?? `${channel.kind}: ${NOT_AVAILABLE}`,
      };
  }
}

function isImplemented(kind: ChannelKind): kind is ImplementedKind {
  return (IMPLEMENTED_KINDS as readonly ChannelKind[]).includes(kind);
}

import type { OperatorValues } from '@svc/coordinator/alerts/sender.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { DISCORD_PATH, Discord } from '../../support/vendors/discord.ts';
import { GOOGLE_CHAT_PATH, GoogleChat } from '../../support/vendors/google-chat.ts';
import type { HeldMessage } from '../../support/vendors/held-message.ts';
import { NTFY_GUARDED_TOPIC, NTFY_TOKEN, Ntfy } from '../../support/vendors/ntfy.ts';
import { SLACK_PATH, Slack } from '../../support/vendors/slack.ts';
import { TELEGRAM_CHATS, TELEGRAM_TOKEN, Telegram } from '../../support/vendors/telegram.ts';
import type { Vendor } from '../../support/vendors/vendor.ts';

/** A vendor that shows messages to people, and its channel. */
export type MessageVendor<K extends ChannelKind> = {
  create(): Vendor & { readonly messages: readonly HeldMessage[] };
  settings(url: string): ChannelSettings[K];
  operator(url: string): OperatorValues;
};

function webhook(path: string) {
  return { settings: (url: string) => ({ webhook_url: `${url}${path}` }), operator: () => ({}) };
}

/** Kinds that show people no message in which somebody could be called: `vendor-rules.test.ts` tests them. */
type OtherKind = 'email' | 'sms' | 'messenger_b' | 'webhook' | `incident_${string}`;

export type MessageKind = Exclude<ChannelKind, OtherKind>;

/** One entry for each kind whose fake tells whom a message notifies. */
export const MESSAGE_VENDORS: { readonly [K in MessageKind]: MessageVendor<K> } = {
  messenger_a: {
    create: () => new Telegram(),
    settings: () => ({ chat_id: TELEGRAM_CHATS.group }),
    operator: (url) => ({ telegramBotToken: new Secret(TELEGRAM_TOKEN), telegramBaseUrl: url }),
  },
  chat_a: { create: () => new Discord(), ...webhook(DISCORD_PATH) },
  chat_b: { create: () => new Slack(), ...webhook(SLACK_PATH) },
  chat_c: { create: () => new GoogleChat(), ...webhook(GOOGLE_CHAT_PATH) },
  push_a: {
    create: () => new Ntfy(),
    settings: () => ({ topic: NTFY_GUARDED_TOPIC, server_url: null, token: NTFY_TOKEN }),
    operator: (url) => ({ pushABaseUrl: url }),
  },
};

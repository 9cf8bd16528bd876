import { CHANNEL_KINDS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import type { Channel, ChannelFacts, ChannelWithoutSender } from './channel.ts';
import { chatA } from './channels/chat-a.ts';
import { chatB } from './channels/chat-b.ts';
import { chatC } from './channels/chat-c.ts';
import { email } from './channels/email.ts';
import { incidentA } from './channels/incident-a.ts';
import { incidentB } from './channels/incident-b.ts';
import { incidentC } from './channels/incident-c.ts';
import { messengerA } from './channels/messenger-a.ts';
import { messengerB } from './channels/messenger-b.ts';
import { pushA } from './channels/push-a.ts';
import { sms } from './channels/sms.ts';
import { webhook } from './channels/webhook.ts';

/**
 * All kinds, one line each. The type check fails for a kind that has settings but no line here.
 * There is no `switch` over kinds, in which a forgotten `case` would go unnoticed. Production,
 * test alerts and the conformance suite all use `createSender`, which indexes this object.
 */
export const CHANNELS = {
  email,
  webhook,
  sms,
  messenger_b: messengerB,
  messenger_a: messengerA,
  chat_a: chatA,
  chat_b: chatB,
  chat_c: chatC,
  incident_a: incidentA,
  incident_b: incidentB,
  incident_c: incidentC,
  push_a: pushA,
} satisfies Channels;

/** A registry of kinds. Production uses {@link CHANNELS}. */
export type Channels = { readonly [K in ChannelKind]: Channel<K, SettingsTable> | ChannelWithoutSender };

/** The kinds that this version can send to. */
export type SendingKind = {
  [K in ChannelKind]: (typeof CHANNELS)[K] extends ChannelWithoutSender ? never : K;
}[ChannelKind];

/** The operator's settings for all kinds. The coordinator reads these settings from its environment. */
export const CHANNEL_OPERATOR_SETTINGS: OperatorSettings = Object.assign(
  {},
  ...CHANNEL_KINDS.map((kind) => CHANNELS[kind].operatorSettings),
);

type TableOf<K extends ChannelKind> = (typeof CHANNELS)[K]['operatorSettings'];

/** The type of {@link CHANNEL_OPERATOR_SETTINGS}: it has the settings of every kind. */
type OperatorSettings = { [K in ChannelKind]: (table: TableOf<K>) => void }[ChannelKind] extends (
  table: infer All,
) => void
  ? All
  : never;

/** The properties of a stored kind; null: this version does not know the kind. */
export function factsOf(kind: string): ChannelFacts | null {
  const known = CHANNEL_KINDS.find((each) => each === kind);
  return known === undefined ? null : CHANNELS[known];
}

/**
 * Whether a channel of this kind gets the end of an incident that ends without a recovery.
 *
 * @param kind stored kind; false for a kind that this version does not know
 */
export function closesIncidents(kind: string): boolean {
  return factsOf(kind)?.closesIncidents ?? false;
}

/** The kinds of channels whose messages people read. */
export const HUMAN_KINDS: readonly ChannelKind[] = CHANNEL_KINDS.filter((kind) => CHANNELS[kind].isHuman);

import { CHANNEL_BLOCKS, type ChannelKind } from '@svc/shared/channels/settings.ts';
import { notification } from '@svc/shared/resources/notification.ts';
import type { AnswerOf } from '../../api/endpoint.ts';
import type { CHANNEL } from '../../api/routes/notifications.ts';
import { stateLabel } from '../../web/design/states.ts';
import type { Html } from '../../web/html.ts';
import { firstPhrase, formOf } from '../forms/fields.ts';

/** A channel in the API's answers. */
export type ChannelView = AnswerOf<typeof CHANNEL.read>;

/** Shape, word and colour of a channel's state. */
export function channelState({
  state,
  stopped_at: stoppedAt,
}: Pick<ChannelView, 'state' | 'stopped_at'>): Html {
  if (stoppedAt !== null) return stateLabel('down', 'Stopped');
  return state === 'ok' ? stateLabel('operational', 'Delivers') : stateLabel('degraded', 'Failing');
}

/** The name of a channel, or a substitute for an unnamed one. */
export function channelName({ id, name }: { readonly id?: unknown; readonly name?: unknown }): string {
  return typeof name === 'string' && name !== '' ? name : `Channel ${id}`;
}

export const CHANNEL_FORM = formOf(notification);

/** The services that a kind of channel posts to, under the names that people know. */
const SERVICES: Readonly<Record<ChannelKind, string>> = {
  email: 'any mailbox, by SMTP',
  webhook: 'any address that takes JSON',
  sms: 'Twilio',
  messenger_b: 'WhatsApp, by Twilio',
  messenger_a: 'Telegram',
  chat_a: 'Discord',
  chat_b: 'Slack',
  chat_c: 'Google Chat',
  incident_a: 'PagerDuty',
  incident_b: 'Opsgenie, Jira Service Management',
  incident_c: 'Grafana OnCall, Grafana Cloud IRM',
  push_a: 'ntfy',
};

/** The services of a kind for people: `Discord`. */
export function servicesOf(kind: ChannelKind): string {
  return SERVICES[kind];
}

/** The name of a kind for people: `Custom HTTP endpoint`. */
export function nameOfKind(kind: ChannelKind): string {
  return firstPhrase(CHANNEL_BLOCKS[kind].description);
}

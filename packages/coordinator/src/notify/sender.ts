import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { SettingsTable } from '@svc/shared/settings.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import { querySecrets } from '../outgoing/mask.ts';
import type { SendContext, SendResult } from './channel.ts';
import { CHANNELS, type Channels } from './registry.ts';

/** A declared channel in the form that sending needs. */
export type StoredChannelOf<K extends ChannelKind> = {
  readonly kind: K;
  readonly settings: Secret<ChannelSettings[K]>;
};
export type StoredChannel = { [K in ChannelKind]: StoredChannelOf<K> }[ChannelKind];

/** Makes one attempt through the channel's own kind. Whatever the receiver does is a result. */
export type Send = <K extends ChannelKind>(
  channel: StoredChannelOf<K>,
  alert: Alert,
  context: SendContext,
) => Promise<SendResult>;

/** Values of the operator's settings, by the keys of the tables that declare them. */
export type OperatorValues = Readonly<Record<string, unknown>>;

/**
 * Why nothing can be delivered to channels of a kind.
 *
 * - `no-sender`: this version cannot send to it. Such a channel may be declared.
 * - `setting-missing`: a setting of the operator has no value.
 */
export type ChannelProblem = { readonly reason: 'no-sender' | 'setting-missing'; readonly message: string };

/** Why nothing can be delivered to channels of this kind; null when it can. */
export type ChannelProblems = (kind: ChannelKind) => ChannelProblem | null;

/** Returns the problems by kind under these settings of the operator. */
export function channelProblems(operator: OperatorValues, channels: Channels = CHANNELS): ChannelProblems {
  return (kind) => {
    const { send, operatorSettings } = channels[kind];
    return send === null ? noSender(kind) : settingMissing(kind, operatorSettings, operator);
  };
}

/** Creates the one function through which alerts reach channels. */
export function createSender(
  { post, operator }: { readonly post: HttpPost; readonly operator: OperatorValues },
  channels: Channels = CHANNELS,
): Send {
  // It handles one kind, so that the compiler sees that settings and sender belong together.
  return async <K extends ChannelKind>(
    { kind, settings }: StoredChannelOf<K>,
    alert: Alert,
    context: SendContext,
  ): Promise<SendResult> => {
    const channel: Channels[K] = channels[kind];
    if (channel.send === null) return { outcome: 'permanent-message', error: noSender(kind).message };
    const missing = settingMissing(kind, channel.operatorSettings, operator);
    // The operator may set it within the day in which a delivery is tried.
    if (missing !== null) return { outcome: 'not-sent', error: missing.message };
    const heard = listening(withSecretsOf(alert, post));
    const result = await channel.send(settings.reveal(), alert, context, { post: heard.post, operator });
    const reply = result.reply ?? heard.reply();
    return reply === '' ? result : { ...result, reply };
  };
}

/** Keeps what the receiver answered last: its part that people may see. */
function listening(post: HttpPost): { readonly post: HttpPost; reply(): string } {
  let reply = '';
  return {
    post: async (request) => {
      const result = await post(request);
      reply = result.kind === 'answered' ? result.excerpt : '';
      return result;
    },
    reply: () => reply,
  };
}

/** Adds the secret parts of the alert, which must not appear in messages when a receiver repeats them. */
function withSecretsOf({ monitor }: Alert, post: HttpPost): HttpPost {
  const url = URL.parse(monitor.url);
  const secrets = url === null ? [] : querySecrets(url);
  return (request) => post({ ...request, secrets: [...request.secrets, ...secrets] });
}

function noSender(kind: ChannelKind): ChannelProblem {
  return { reason: 'no-sender', message: `${kind} channels are not available in this version` };
}

function settingMissing(
  kind: ChannelKind,
  table: SettingsTable,
  operator: OperatorValues,
): ChannelProblem | null {
  const missing = Object.entries(table).find(([key]) => operator[key] === undefined)?.[1];
  if (missing === undefined) return null;
  return { reason: 'setting-missing', message: `${missing.name} is not set: ${kind} channels need it` };
}

import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import { querySecrets } from '@svc/shared/masking/mask.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import type { SendMail } from '../outgoing/smtp/mail.ts';
import type { SendContext, SendResult } from './channel.ts';
import { type UrlRules, urlRefusal } from './declared-urls.ts';
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
 * - `address-denied`: the operator's rules do not let svc post to the declared address.
 */
export type ChannelProblem =
  | { readonly reason: 'no-sender' | 'setting-missing'; readonly message: string }
  | { readonly reason: 'address-denied'; readonly attribute: string; readonly message: string };

/**
 * Why nothing can be delivered to a channel of this kind with these settings; null when it can.
 */
export type ChannelProblems = (kind: ChannelKind, settings: object) => ChannelProblem | null;

/** Returns the problems of channels under these settings of the operator. */
export function channelProblems(
  { operator, urls }: Pick<SenderParts, 'operator' | 'urls'>,
  channels: Channels = CHANNELS,
): ChannelProblems {
  return (kind, settings) => {
    const { send, operatorSettings, declaredUrl } = channels[kind];
    const problem = send === null ? noSender(kind) : settingMissing(kind, operatorSettings, operator);
    if (problem !== null) return problem;
    const refusal = urlRefusal(declaredUrl, settings, urls);
    return refusal === null ? null : { reason: 'address-denied', ...refusal };
  };
}

export type SenderParts = {
  readonly urls: UrlRules;
  readonly post: HttpPost;
  readonly operatorPost: HttpPost;
  readonly sendMail: SendMail;
  readonly publicUrl: string;
  readonly operator: OperatorValues;
};

/** Creates the one function through which alerts reach channels. */
export function createSender(parts: SenderParts, channels: Channels = CHANNELS): Send {
  const { post, operatorPost, sendMail, operator, publicUrl, urls } = parts;
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
    const clear = settings.reveal();
    const refusal = urlRefusal(channel.declaredUrl, clear, urls);
    if (refusal !== null) {
      const error = `${refusal.attribute} ${refusal.message}`;
      return { outcome: 'retry', error, reason: 'unreachable' };
    }
    const heard = listener();
    const result = await channel.send(clear, alert, context, {
      post: heard.over(withSecretsOf(alert, post)),
      operatorPost: heard.over(withSecretsOf(alert, operatorPost)),
      sendMail,
      publicUrl,
      operator,
    });
    const reply = result.reply ?? heard.reply();
    return reply === '' ? result : { ...result, reply };
  };
}

/** Keeps what the receiver answered last: its part that people may see. */
function listener(): { over(post: HttpPost): HttpPost; reply(): string } {
  let reply = '';
  return {
    over: (post) => async (request) => {
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

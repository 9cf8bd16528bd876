import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { querySecrets } from '@svc/shared/masking/mask.ts';
import type { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import type { ValuesOf } from '@svc/shared/metrics/values.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { SettingsTable } from '@svc/shared/settings/environment.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import type { SendMail } from '../outgoing/smtp/mail.ts';
import { reasonOf, type SendContext, type SendResult } from './channel.ts';
import { type UrlRules, urlRefusal } from './declared-urls.ts';
import { CHANNELS, type Channels } from './registry.ts';
import { bytesUpTo, shortened } from './shortening.ts';

/** The kind and the settings of a channel, as {@link Send} needs them. */
export type StoredChannelOf<K extends ChannelKind> = {
  readonly kind: K;
  readonly settings: Secret<ChannelSettings[K]>;
};
export type StoredChannel = { [K in ChannelKind]: StoredChannelOf<K> }[ChannelKind];

/** A channel as a {@link ChannelSource} finds it. */
export type FoundChannel = {
  readonly workspaceId: number;
  /** The stored kind, which this version may not know. */
  readonly kind: string;
  /** Why the channel is stopped; null: it is not stopped. */
  readonly stoppedFor: string | null;
  /**
   * Whether svc combines the alerts of many monitors that change together in
   * one message. It does so only if people read the messages of the channel.
   */
  readonly groupsAlerts: boolean;
  /** See `SendContext.kept`. */
  readonly kept: string | null;
  /**
   * Decrypts the settings of the channel.
   *
   * @throws StoreError when the settings cannot be read
   */
  openSettings(): StoredChannel;
};

/** Finds a channel; null: the channel was removed. */
export interface ChannelSource {
  findChannel(notificationId: number): Promise<FoundChannel | null>;
}

/** Makes one attempt, with the code of the channel's kind. Every behaviour of the receiver gives a result. */
export type Send = <K extends ChannelKind>(
  channel: StoredChannelOf<K>,
  alert: Alert,
  context: SendContext,
) => Promise<SendResult>;

/** Values of the operator's settings, by the keys of the tables that declare them. */
export type OperatorValues = Readonly<Record<string, unknown>>;

/**
 * Why nothing can be delivered to a channel.
 *
 * - `no-sender`: this version cannot send to channels of this kind, although users may declare them.
 * - `setting-missing`: a setting of the operator has no value.
 * - `address-denied`: the operator's rules do not let svc post to the declared address.
 */
export type ChannelProblem =
  | { readonly reason: 'no-sender' | 'setting-missing'; readonly message: string }
  | { readonly reason: 'address-denied'; readonly attribute: string; readonly message: string };

/** Why nothing can be delivered to a channel of this kind with these settings; null: there is no problem. */
export type ChannelProblems = (kind: ChannelKind, settings: object) => ChannelProblem | null;

/** Creates the function that finds the problem of a channel under these settings of the operator. */
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
  readonly regionText: RegionText;
};

/** Creates the function that sends every alert to its channel. */
export function createSender(parts: SenderParts, channels: Channels = CHANNELS): Send {
  const { post, operatorPost, sendMail, operator, publicUrl, urls, regionText } = parts;
  // The type parameter shows the compiler that the settings and the sender are of the same kind.
  return async <K extends ChannelKind>(
    { kind, settings }: StoredChannelOf<K>,
    alert: Alert,
    context: SendContext,
  ): Promise<SendResult> => {
    const channel: Channels[K] = channels[kind];
    if (channel.send === null) return ownFault(noSender(kind).message);
    const missing = settingMissing(kind, channel.operatorSettings, operator);
    // The delivery is tried again, because the operator may add
    // the setting within the 24 h of the delivery's attempts.
    if (missing !== null) return { outcome: 'not-sent', error: missing.message };
    const clear = settings.reveal();
    const refusal = urlRefusal(channel.declaredUrl, clear, urls);
    if (refusal !== null) {
      const error = `${refusal.attribute} ${refusal.message}`;
      return { outcome: 'retry', error, reason: 'unreachable' };
    }
    const recorder = replyRecorder();
    const regions = alert.regions.map((each) => ({ ...each, text: regionText(each.region) }));
    const result = await channel.send(clear, { ...alert, regions }, context, {
      post: recorder.over(withSecretsOf(alert, post)),
      operatorPost: recorder.over(withSecretsOf(alert, operatorPost)),
      sendMail,
      publicUrl,
      operator,
    });
    const reply = result.reply ?? recorder.reply();
    return reply === '' ? result : { ...result, reply };
  };
}

/** Records the masked beginning of the answer to the request that ended last; '' if that request got no answer. */
function replyRecorder(): { over(post: HttpPost): HttpPost; reply(): string } {
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

/**
 * Returns a `post` that also masks the query of the monitor's
 * URL, because a receiver may repeat it in its answer.
 */
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

/** The result for a message that this version can never send. Nothing was sent, so it cannot have arrived. */
function ownFault(error: string): SendResult {
  return { outcome: 'permanent-message', reason: 'own', error };
}

const OWN_FAILURE: SendResult = {
  outcome: 'not-sent',
  error: 'svc could not send the alert: see the log of the coordinator',
};

/** Maximum length of the text of a failure, bytes. */
const ERROR_BYTES = 1_024;

type AttemptParts = {
  readonly send: Send;
  readonly clock: Clock;
  readonly log: Logger;
  readonly counters: ValuesOf<typeof DELIVERY_COUNTERS>;
};

/** Makes attempts and counts them. Every failure is returned as a result. */
export class Attempts {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** @param alert null: this version cannot read the stored alert */
  async makeAttempt(found: FoundChannel, alert: Alert | null, context: SendContext): Promise<SendResult> {
    const { clock, counters } = this.#parts;
    const startedAt = clock.monotonic();
    const result = bounded(await this.#sendTo(found, alert, context));
    const reason = reasonOf(result);
    if (reason !== null) counters.failures[reason] += 1;
    if (result.outcome !== 'not-sent') {
      counters.attempts[result.outcome] += 1;
      counters.attemptDuration.record((clock.monotonic() - startedAt) / 1_000);
    }
    return result;
  }

  /**
   * Logs a failure that the receiver did not cause, such as unreadable settings or a
   * defect, and returns its result. Only the log contains the text of the error.
   */
  logOwnFailure(error: unknown, ids: object): SendResult {
    this.#parts.log.error(
      { error: messageOf(error), ...ids },
      'sending an alert failed because of svc itself',
    );
    return OWN_FAILURE;
  }

  async #sendTo(found: FoundChannel, alert: Alert | null, context: SendContext): Promise<SendResult> {
    if (alert === null) return ownFault('this version of svc cannot read the stored alert');
    try {
      return await this.#parts.send(found.openSettings(), alert, context);
    } catch (error) {
      return this.logOwnFailure(error, { deliveryId: context.deliveryId });
    }
  }
}

function bounded(result: SendResult): SendResult {
  if (result.outcome === 'delivered') return result;
  return { ...result, error: shortened(result.error, bytesUpTo(ERROR_BYTES)) };
}

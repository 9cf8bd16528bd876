import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings/environment.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import type { SendMail } from '../outgoing/smtp/mail.ts';
import type { Rate } from '../verdict/rate.ts';

/** The input of an attempt, in addition to the settings, the alert and the tools. */
export type SendContext = {
  /**
   * Id of the message, by which receivers can drop repetitions. A message for one delivery has the uid of the
   * delivery on every attempt. A message for many has an id that is derived from the uids of all of them.
   */
  readonly deliveryId: string;
  /** Start of the attempt, epoch ms. */
  readonly attemptAt: number;
  /** Ends the attempt early when the deliverer stops. Without an answer by then, `send` returns `retry`. */
  readonly signal: AbortSignal;
  /**
   * The `thread` that the kind last returned for an alert of this incident on this channel, such as the id of
   * the opening message. Null: the kind returned none yet, or the message is for many deliveries whose threads
   * differ.
   */
  readonly thread: string | null;
  /**
   * The `kept` that was last returned for this channel, such as the new id of a chat; null: none was. If the
   * channel was changed since, `kept` may belong to former settings or to another kind.
   */
  readonly kept: string | null;
};

/** The tools that every kind sends with. */
export type SendTools<O extends SettingsTable> = {
  /** Posts to an address that users declare. The egress guard may deny it. */
  readonly post: HttpPost;
  /** Posts to an address that the operator sets. The egress guard does not judge it. */
  readonly operatorPost: HttpPost;
  /** Sends a mail by the operator's relay. */
  readonly sendMail: SendMail;
  /** The value of `SVC_PUBLIC_URL`, for links. */
  readonly publicUrl: string;
  /** Values of the kind's `operatorSettings`. Every setting has a value. */
  readonly operator: Present<SettingsOf<O>>;
};

type Present<Values> = { readonly [K in keyof Values]: Exclude<Values[K], undefined> };

/**
 * Why an attempt failed, for metrics, the ledger and the deliverer.
 *
 * - `rate-limited`: the receiver answered 429 (too many requests).
 * - `receiver`: the receiver failed (a status of 500 or more, or a temporary refusal of a mail).
 * - `refused`: the receiver refused the alert, its answer did not confirm the alert, or svc
 *   could make no request that the receiver would accept.
 * - `unanswered`: no answer came, or the connection broke. The receiver may have taken the alert.
 * - `unreachable`: svc may not connect to the address, or found no address, no connection or
 *   no trusted certificate. The receiver did not get the alert.
 * - `operator`: the operator's settings are at fault, such as credentials that the vendor refused. The channel
 *   is not at fault.
 * - `stopped`: the channel is stopped because its address is dead, so nothing was sent.
 * - `own`: svc could not send, or the link of the mail has expired.
 */
export const FAILURE_REASONS = [
  'rate-limited',
  'receiver',
  'refused',
  'unanswered',
  'unreachable',
  'operator',
  'stopped',
  'own',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

type Answer = {
  statusCode?: number;
  /**
   * Beginning of the receiver's answer, masked, at most 900 bytes. `createSender` adds it after an HTTP answer
   * that is not empty.
   */
  reply?: string;
};

type Failure = Answer & {
  /** Text for people, without a secret of the settings. `Attempts` shortens it to 1 KiB of UTF-8. */
  error: string;
  /** Left out: {@link reasonOf} derives the reason from the outcome and the status code. */
  reason?: FailureReason;
};

/**
 * How one attempt ended.
 *
 * - `delivered`: the receiver accepted the alert.
 * - `retry`: the receiver may accept the alert later, for example after no answer, overload, a fault of the
 *   receiver, or a fault of the operator's settings (`reason: 'operator'`).
 * - `permanent-message`: this message can never be delivered, but others may be.
 * - `permanent-channel`: the address or the credential in the channel's settings is dead. The receiver will
 *   accept nothing until these settings change. This stops the channel.
 * - `not-sent`: svc could not send. A queued delivery is tried again, and this does not count as an attempt.
 */
export type SendResult =
  | (Answer & {
      outcome: 'delivered';
      /**
       * Text that is stored for later alerts of the incident on
       * this channel, at most 1 KiB: see `SendContext.thread`.
       */
      thread?: string;
      /** Text that is stored for all later alerts on this channel, at most 1 KiB: see `SendContext.kept`. */
      kept?: string;
    })
  | (Failure & {
      outcome: 'retry';
      /**
       * Wait before the next message to the channel, ms, such as the wait of `Retry-After`. svc waits for an hour
       * at most.
       */
      retryAfterMs?: number;
      /**
       * Whether the result may mean that the address is dead. If the deliverer gets such a result again at
       * least 5 minutes after the first one, and nothing was delivered in between, the result counts as
       * `permanent-channel`. The results of tests do not count.
       */
      mayBeDead?: boolean;
    })
  | (Failure & { outcome: 'permanent-message' | 'permanent-channel' | 'not-sent' });

export type SendOutcome = SendResult['outcome'];

/** Why an attempt failed; null: it did not fail. */
export function reasonOf(result: SendResult): FailureReason | null {
  if (result.outcome === 'delivered') return null;
  if (result.reason !== undefined) return result.reason;
  if (result.outcome === 'not-sent') return 'own';
  const { statusCode } = result;
  if (statusCode === undefined) return 'unanswered';
  if (statusCode === 429) return 'rate-limited';
  return statusCode >= 500 ? 'receiver' : 'refused';
}

/** A settings table that has no settings. */
export type NoSettings = Readonly<Record<never, never>>;

/**
 * Maximum rates at which svc sends to a vendor. Tests are sent at once even if they exceed a rate. The counts
 * are in memory, so each new leader begins with a full burst.
 */
export type Rates = {
  /** Rate for one channel; left out: no limit is known. */
  readonly channel?: Rate;
  /**
   * Rate for all channels of the kind together, if they share
   * the operator's account; left out: there is no such rate.
   */
  readonly kind?: Rate;
};

/**
 * Properties of a kind of channel. A kind has them even if this version cannot send to its channels.
 */
export interface ChannelFacts {
  /**
   * Whether the receiver keeps an incident open until svc reports the end of the incident. Only such a kind
   * also gets the end of an incident that ends without a recovery. While several alerts of an incident wait,
   * svc sends only the newest of them, and those that a person has replayed.
   */
  readonly closesIncidents: boolean;
  /**
   * Whether people read the messages (mail, messengers, chats, push, SMS). Only such kinds get notices about
   * monitors and about other channels, and messages that combine the alerts of many monitors.
   */
  readonly isHuman: boolean;
  /**
   * Whether an alert that has waited for more than an hour is left out if a newer alert of its monitor waits.
   * Notices do not count as newer alerts, and a replayed alert is never left out.
   */
  readonly dropsOld: boolean;
  readonly rate: Rates;
  /** The setting that contains the address to post to; null or left out: users declare no address. */
  readonly declaredUrl?: DeclaredUrl | null;
}

/** The setting in which users declare an address to post to, and the hosts that the address may have. */
export type DeclaredUrl = {
  /** Name of the setting. The setting may be unset. */
  readonly attribute: string;
  /**
   * The vendor's hosts in lower case. svc posts only to these hosts, over TLS, and to the hosts in
   * `SVC_CHAT_HOSTS`, where `*` stands for every host. `any`: svc posts to every host that the guard allows.
   */
  readonly hosts: readonly string[] | 'any';
};

/**
 * One kind of channel.
 *
 * @typeParam O the operator's settings that the kind reads, see `operatorSettings`
 */
export interface Channel<K extends ChannelKind, O extends SettingsTable = NoSettings> extends ChannelFacts {
  /**
   * The operator's settings that the kind reads. Nothing is sent while one of them
   * has no value, so an optional setting needs a default. Kinds may share settings.
   */
  readonly operatorSettings: O;
  /**
   * Makes one attempt to deliver one alert of any status. Every behaviour
   * of the receiver gives a result. If the method throws, svc has a defect.
   */
  send(
    settings: ChannelSettings[K],
    alert: Alert,
    context: SendContext,
    tools: SendTools<O>,
  ): Promise<SendResult>;
}

/** A kind that can be declared, but to which this version cannot send. */
export interface ChannelWithoutSender extends ChannelFacts {
  readonly operatorSettings: NoSettings;
  readonly send: null;
}

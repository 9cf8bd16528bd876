import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings/environment.ts';
import type { HttpPost } from '../outgoing/http-post.ts';
import type { SendMail } from '../outgoing/smtp/mail.ts';
import type { Rate } from '../verdict/rate.ts';

/** The means that an attempt gets in addition to the alert. */
export type SendContext = {
  /**
   * Id of the delivery, the same on every attempt, so that receivers can drop repetitions. A message for many
   * deliveries has an id of its own.
   */
  readonly deliveryId: string;
  /** Epoch ms. */
  readonly attemptAt: number;
  /** Ends the attempt early when the coordinator stops. The channel then returns `retry`. */
  readonly signal: AbortSignal;
  /**
   * The `thread` that the kind last returned for an alert of this incident on this channel (the id of the
   * opening message, say); null: none yet.
   */
  readonly thread: string | null;
  /** The `kept` that the kind last returned for this channel (the new id of a chat, say); null: none yet. */
  readonly kept: string | null;
};

/** The tools that every kind sends with. */
export type SendTools<O extends SettingsTable> = {
  /** Posts to an address that users declare. The guard judges it. */
  readonly post: HttpPost;
  /** Posts to an address that the operator sets. The guard lets it pass. */
  readonly operatorPost: HttpPost;
  /** Hands a mail to the operator's relay. */
  readonly sendMail: SendMail;
  /** `SVC_PUBLIC_URL`, for links. */
  readonly publicUrl: string;
  /** Values of the kind's `operatorSettings`. None is missing. */
  readonly operator: Present<SettingsOf<O>>;
};

type Present<Values> = { readonly [K in keyof Values]: Exclude<Values[K], undefined> };

/**
 * Why an attempt failed, for metrics, the ledger and the deliverer.
 *
 * - `rate-limited`: the receiver takes it later. The whole channel waits.
 * - `receiver`: the receiver failed (a status of 500 or more, a broken answer).
 * - `refused`: the receiver refused it.
 * - `unanswered`: no answer came, or the connection broke. The receiver may have taken the alert.
 * - `unreachable`: no name, no connection, no trusted certificate. The receiver did not get the alert.
 * - `operator`: the vendor refused the operator's own credentials. The channel is not to blame.
 * - `stopped`: a dead address; nothing was sent.
 * - `own`: svc could not send.
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
  /** What the receiver answered, masked, at most 900 bytes. The sender sets it wherever `post` was used. */
  reply?: string;
};

type Failure = Answer & {
  /** For people, without any secret of the settings. What is beyond 1 KiB in UTF-8 is cut off. */
  error: string;
  /** Left out where it follows from the status code: 429, 500 and more, another; without one `unanswered`. */
  reason?: FailureReason;
};

/**
 * How one attempt ended.
 *
 * - `delivered`: the receiver accepted the alert.
 * - `retry`: the receiver may accept it later (no answer, overload, a fault of its own, or the credentials of
 *   the operator are refused: `reason: 'operator'`).
 * - `permanent-message`: the receiver never accepts this message; it may accept others.
 * - `permanent-channel`: the address is dead: the receiver accepts nothing until the channel's settings
 *   change. It stops the channel.
 * - `not-sent`: svc could not send. It is no attempt: nothing is counted against the receiver.
 */
export type SendResult =
  | (Answer & {
      outcome: 'delivered';
      /** Kept for later alerts of the incident on this channel, at most 1 KiB: see `SendContext.thread`. */
      thread?: string;
      /** Kept for all later alerts on this channel, at most 1 KiB: see `SendContext.kept`. */
      kept?: string;
    })
  | (Failure & {
      outcome: 'retry';
      /** Wait that the receiver asked for, ms. It holds the whole channel. */
      retryAfterMs?: number;
      /**
       * The answer says that the address is dead, and is known to be wrong at times. The same again some
       * minutes later, without a delivery in between, counts as `permanent-channel`.
       */
      mayBeDead?: boolean;
    })
  | (Failure & { outcome: 'permanent-message' | 'permanent-channel' | 'not-sent' });

export type SendOutcome = SendResult['outcome'];

/** Why an attempt failed; null: it did not. */
export function reasonOf(result: SendResult): FailureReason | null {
  if (result.outcome === 'delivered') return null;
  if (result.reason !== undefined) return result.reason;
  if (result.outcome === 'not-sent') return 'own';
  const { statusCode } = result;
  if (statusCode === undefined) return 'unanswered';
  if (statusCode === 429) return 'rate-limited';
  return statusCode >= 500 ? 'receiver' : 'refused';
}

/** A settings table without a setting. */
export type NoSettings = Readonly<Record<never, never>>;

/**
 * The rates that a vendor accepts. The deliverer keeps to both limits.
 */
export type Rates = {
  /** For one channel; left out: no limit is known. */
  readonly channel?: Rate;
  /** For all channels of the kind together, where they share the operator's account; left out: none. */
  readonly kind?: Rate;
};

/** Facts about a kind of channel, whether or not this version can send to it. */
export interface ChannelFacts {
  /**
   * Whether the receiver keeps an incident open until it is told of its end. Such a kind is also told of an
   * incident that ends without a recovery; the others are not. Of alerts that wait, it gets the newest of each
   * incident.
   */
  readonly closesIncidents: boolean;
  /**
   * Whether people read it (mail, messengers, chats, push, SMS). Only such kinds are told about other
   * channels, and get one message for many alerts.
   */
  readonly isHuman: boolean;
  /** Whether an alert that waited for an hour and has a successor is left out. */
  readonly dropsOld: boolean;
  readonly rate: Rates;
  /** The setting that holds the address to post to; null or left out: users declare none. */
  readonly declaredUrl?: DeclaredUrl | null;
}

/** An address that users declare. */
export type DeclaredUrl = {
  /** Name of the setting; it may be unset. */
  readonly attribute: string;
  /**
   * The vendor's hosts in lower case: svc posts to these only, over TLS, and to those of `SVC_CHAT_HOSTS`.
   * `any`: to every host that the guard allows.
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
   * The operator's settings that the kind reads. While one of them has no value, nothing can be sent, so a
   * setting that may stay unset needs a default. Kinds may share settings.
   */
  readonly operatorSettings: O;
  /**
   * Makes one attempt to deliver one alert, for every status. Whatever the receiver does is a result. It
   * throws only because of a defect of svc.
   */
  send(
    settings: ChannelSettings[K],
    alert: Alert,
    context: SendContext,
    tools: SendTools<O>,
  ): Promise<SendResult>;
}

/** A kind that can be declared and that this version cannot send to. */
export interface ChannelWithoutSender extends ChannelFacts {
  readonly operatorSettings: NoSettings;
  readonly send: null;
}

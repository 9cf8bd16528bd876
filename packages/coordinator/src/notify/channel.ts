import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings.ts';
import type { HttpPost } from '../outgoing/http-post.ts';

/** What an attempt gets in addition to the alert. */
export type SendContext = {
  /** Id of the delivery, the same on every attempt, so that receivers can drop repetitions. */
  readonly deliveryId: string;
  /** Epoch ms. */
  readonly attemptAt: number;
  /** Ends the attempt early when the coordinator stops. The channel then returns `retry`. */
  readonly signal: AbortSignal;
};

/** The tools that every kind sends with. */
export type SendTools<O extends SettingsTable> = {
  /** Posts to an address that users declare. The guard judges it. */
  readonly post: HttpPost;
  /** Posts to an address that the operator sets. The guard lets it pass. */
  readonly operatorPost: HttpPost;
  /** `SVC_PUBLIC_URL`, for links. */
  readonly publicUrl: string;
  /** Values of the kind's `operatorSettings`. None is missing. */
  readonly operator: Present<SettingsOf<O>>;
};

type Present<Values> = { readonly [K in keyof Values]: Exclude<Values[K], undefined> };

/**
 * How one attempt ended.
 *
 * - `delivered`: the receiver accepted the alert.
 * - `retry`: the receiver may accept it later (no answer, overload, a fault of its own).
 * - `permanent-message`: the receiver never accepts this message; it may accept others.
 * - `permanent-channel`: the receiver accepts nothing until the channel's settings change.
 *
 * `error` is for people: bounded, and without any secret of the settings.
 */
export type SendResult =
  | { outcome: 'delivered'; statusCode?: number }
  | { outcome: 'retry'; error: string; statusCode?: number; retryAfterMs?: number }
  | { outcome: 'permanent-message' | 'permanent-channel'; error: string; statusCode?: number };

export type SendOutcome = SendResult['outcome'];

/** A settings table without a setting. */
export type NoSettings = Readonly<Record<never, never>>;

/** Facts about a kind of channel, whether or not this version can send to it. */
interface ChannelFacts {
  /**
   * Whether the receiver keeps an incident open until it is told of its end. Such a kind is also told of an
   * incident that ends without a recovery; the others are not.
   */
  readonly closesIncidents: boolean;
}

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

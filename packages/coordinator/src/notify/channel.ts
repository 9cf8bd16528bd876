import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/shared/settings.ts';
import type { HttpPost } from '../outgoing/http-post.ts';

/** What an attempt knows besides the alert. */
export type SendContext = {
  /** The same on every attempt of one delivery, so that receivers can drop repeats. */
  readonly deliveryId: string;
  /** Epoch ms. */
  readonly attemptAt: number;
  /** Ends the attempt early: the coordinator stops. The channel then answers `retry`. */
  readonly signal: AbortSignal;
};

/** What every kind sends with. */
export type SendTools<O extends SettingsTable> = {
  readonly post: HttpPost;
  /** Values of the kind's `operatorSettings`: none is missing. */
  readonly operator: Present<SettingsOf<O>>;
};

type Present<Values> = { readonly [K in keyof Values]: Exclude<Values[K], undefined> };

/**
 * How one attempt ended.
 *
 * - `delivered`: the receiver took it.
 * - `retry`: the receiver may take it later (no answer, overload, its own fault).
 * - `permanent-message`: it never takes this message; others may pass.
 * - `permanent-channel`: it takes nothing until the channel's settings are changed.
 *
 * `error` is for people: bounded, and without any secret of the settings.
 */
export type SendResult =
  | { outcome: 'delivered'; statusCode?: number }
  | { outcome: 'retry'; error: string; statusCode?: number; retryAfterMs?: number }
  | { outcome: 'permanent-message' | 'permanent-channel'; error: string; statusCode?: number };

export type SendOutcome = SendResult['outcome'];

/** A table without a setting. */
export type NoSettings = Readonly<Record<never, never>>;

/** What is known of a kind of channel, whether or not this version can send to it. */
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
 * @typeParam O the settings of the operator that the kind reads, see `operatorSettings`
 */
export interface Channel<K extends ChannelKind, O extends SettingsTable = NoSettings> extends ChannelFacts {
  /**
   * Settings of the operator that the kind reads. While one of them has no value, nothing can be sent: a
   * setting that may stay unset has a default. Kinds may share settings.
   */
  readonly operatorSettings: O;
  /**
   * One attempt to deliver one alert, for every status. Whatever the receiver does is a result. It
   * throws only by a defect of our own.
   */
  send(
    settings: ChannelSettings[K],
    alert: Alert,
    context: SendContext,
    tools: SendTools<O>,
  ): Promise<SendResult>;
}

/** A kind that can be declared, and that this version cannot send to. */
export interface ChannelWithoutSender extends ChannelFacts {
  readonly operatorSettings: NoSettings;
  readonly send: null;
}

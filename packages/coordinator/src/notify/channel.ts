import type { Alert } from '@svc/shared/channels/alert.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';

/** What an attempt knows besides the alert. */
export type SendContext = {
  /** The same on every attempt of one delivery, so that receivers can drop repeats. */
  readonly deliveryId: string;
  /** Epoch ms. */
  readonly attemptAt: number;
  /** Ends the attempt early: the coordinator stops. The channel then answers `retry`. */
  readonly signal: AbortSignal;
};

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

/** Longest `error` of a {@link SendResult}, UTF-16 code units. */
export const SEND_ERROR_LENGTH = 1_024;

/** One kind of channel. */
export interface Channel<K extends ChannelKind> {
  /**
   * One attempt to deliver one alert, for every status. Whatever the receiver does is a result; it
   * throws only by a defect of our own.
   */
  send(settings: ChannelSettings[K], alert: Alert, context: SendContext): Promise<SendResult>;
}

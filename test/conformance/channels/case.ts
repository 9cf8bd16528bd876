import type { SendOutcome } from '@svc/coordinator/alerts/channel.ts';
import type { OperatorValues } from '@svc/coordinator/alerts/sender.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import type { ReceivedRequest } from '../../support/receiver.ts';

/** Expected verdict per status code, for a body that is not the vendor's. */
export type Verdicts = Readonly<Record<number, SendOutcome>>;

/** The promises of one kind of channel, in addition to those of all kinds. */
export type Case<K extends ChannelKind> = {
  settings(receiverUrl: string): ChannelSettings[K];
  /** Values of the operator's settings that it reads. */
  operator?(receiverUrl: string): OperatorValues;
  /** Texts that no error may contain. */
  readonly secrets: readonly string[];
  /** Path of the request, with its query. */
  readonly path: string;
  /** Body for `FULL_ALERT`, as `bodyOf` reads it. */
  readonly payload: unknown;
  /** Reads a body that is no JSON. */
  bodyOf?(request: ReceivedRequest): unknown;
  /** The text of a request that the page of the kind shows; undefined: its JSON. */
  shownOf?(request: ReceivedRequest): unknown;
  readonly verdicts: Verdicts;
  /** The status of a success; without it 200. */
  readonly taken?: number;
  /** The body of a success; without it none. */
  readonly takenBody?: string;
};

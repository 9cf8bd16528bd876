import type { OperatorValues } from '@svc/coordinator/alerts/sender.ts';
import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';

/** The fake of a vendor on loopback, for the life of an incident on one channel. */
export type VendorSide<K extends ChannelKind> = {
  readonly settings: ChannelSettings[K];
  readonly operator: OperatorValues;
  /**
   * The texts that the vendor shows to people at the end. A service that keeps incidents has one text for
   * each incident: `open critical`, `resolved`. Others have the status of each message, in order.
   */
  held(): readonly string[];
  /** Nothing gets through until the outage ends. */
  goDown(): void;
  comeBack(): void;
  /** Accepts the next request, and delays its answer until the returned function is called. */
  holdNext(): { readonly taken: Promise<void>; release(): void };
  close(): Promise<void>;
};

/** What `held` is after each of the stories. */
export type Ends = Readonly<Record<Story, readonly string[]>>;

export type Life<K extends ChannelKind> = {
  readonly start: () => Promise<VendorSide<K>>;
  readonly ends: Ends;
};

/** Whether the vendor keeps an incident until it is told of its end: three alerts of one incident leave one text. */
export function keepsIncidents({ ends }: { readonly ends: Ends }): boolean {
  return ends['error, degraded, recovered'].length === 1;
}

/** The stories of an incident. `lives.test.ts` plays each of them. */
export const STORIES = [
  'error, degraded, recovered',
  'an escalation from degraded to error',
  'recovered during an outage of the vendor that began before the incident',
  'recovered during an outage of the vendor that began within the incident',
  'ended without a recovery',
  'killed between the commit and the send',
  'killed between the send and its record',
  'two incidents, one after the other',
  'a test',
] as const;
export type Story = (typeof STORIES)[number];

/** The first word of a message's title as a status. */
export function statusOf(text: string): string {
  return /^\s*(Error|Degraded|Recovered|Closed|Test)\b/.exec(text)?.[1]?.toLowerCase() ?? text;
}

/** The expected ends for a kind that sends people one message for each alert. */
export const ENDS_OF_MESSAGES: Ends = {
  'error, degraded, recovered': ['error', 'degraded', 'recovered'],
  'an escalation from degraded to error': ['degraded', 'error'],
  // People are told late of what happened.
  'recovered during an outage of the vendor that began before the incident': ['error', 'recovered'],
  'recovered during an outage of the vendor that began within the incident': [
    'error',
    'degraded',
    'recovered',
  ],
  'ended without a recovery': ['error'],
  'killed between the commit and the send': ['error'],
  'killed between the send and its record': ['error', 'error'],
  'two incidents, one after the other': ['error', 'recovered', 'error'],
  'a test': ['test'],
};

/** The expected ends for a service that keeps incidents, with its words for their states. */
export function endsOfIncidents(words: {
  readonly error: string;
  readonly degraded: string;
  /** After degraded, then error. */
  readonly escalated: string;
  readonly over: string;
}): Ends {
  const { error, escalated, over } = words;
  return {
    'error, degraded, recovered': [over],
    'an escalation from degraded to error': [escalated],
    // Nobody is told of an end whose beginning never arrived.
    'recovered during an outage of the vendor that began before the incident': [],
    'recovered during an outage of the vendor that began within the incident': [over],
    'ended without a recovery': [over],
    'killed between the commit and the send': [error],
    'killed between the send and its record': [error],
    'two incidents, one after the other': [over, error],
    'a test': [over],
  };
}

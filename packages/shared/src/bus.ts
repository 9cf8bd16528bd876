import type { Region } from './regions.ts';

/**
 * The one place that knows the NATS client. Everything else sees this interface.
 *
 * Core publishing is at most once: nothing is kept while disconnected (`publish` then throws
 * {@link BusDisconnected} instead of filling a buffer that the client throws away).
 */
export interface Bus {
  readonly isConnected: boolean;
  /** @throws BusDisconnected when there is no connection. */
  publish(subject: string, data: Uint8Array | string, options?: PublishOptions): void;
  /** `handler` runs synchronously per message, in order; what it throws is logged and goes no further. */
  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options?: { queue?: string },
  ): BusSubscription;
  /**
   * Subscribes over a further connection to the same servers. Where more comes over it than is read, the server cuts
   * off that one alone. Tried once and not connected again. Resolves when it is connected; {@link
   * ApartSubscription.flush} tells when the server has the subscription.
   *
   * @param onEnd called once, when the connection has ended for another reason than `close`
   * @throws what connecting failed with
   */
  subscribeApart(
    subject: string,
    handler: (message: BusMessage) => void,
    onEnd: () => void,
  ): Promise<ApartSubscription>;
  /** Resolves when the server has answered a round trip: all it had sent before was handled. Rejects when disconnected. */
  flush(): Promise<void>;
  /** A fresh subject below this connection's inbox prefix. */
  inbox(): string;
  /** Called at every change, not at registration. Returns a function that unregisters. */
  onConnection(listener: (isConnected: boolean) => void): () => void;
  /** Subscriptions are drained, pending publishes flushed, then the connection closed. Never rejects. */
  close(): Promise<void>;
}

export type PublishOptions = { reply?: string; messageId?: string };

export type BusMessage = {
  subject: string;
  data: Uint8Array;
  /** Subject an answer would go to, '' when none. */
  reply: string;
  /** Of the data and the headers, which are passed over unread. */
  bytes: number;
  /** True for the server's immediate 503: nobody listens to the subject the message was published to. */
  isNoResponders: boolean;
};

export interface BusSubscription {
  /** At once; messages that are on their way are not handled any more. */
  close(): void;
  /**
   * Asks the server for no more and resolves when all it had sent was handled. Without a connection it
   * closes at once. Never rejects.
   */
  drain(): Promise<void>;
}

export interface ApartSubscription {
  /** As {@link Bus.flush}, for this connection. Rejects also when it is closed meanwhile. */
  flush(): Promise<void>;
  /** Ends the connection at once: what the server or the socket still holds is dropped. May be called twice. */
  close(): Promise<void>;
}

/**
 * JetStream's streams of results, one for each region, as their single reader (the coordinator) sees them.
 * All streams are named by `resultsStream(region)`, the one of before by `FORMER_RESULTS_STREAM`.
 */
export interface ResultStreams {
  /** The streams of results that there are, by name, as they were at one moment after the call. */
  list(): Promise<ReadonlyMap<string, StreamInfo>>;
  /**
   * Makes the region's stream where it is missing, and gives it this limit where it has another one. A limit
   * is never lowered below what the stream holds: call again when it holds less. Where NATS has no room for it a
   * stream that is there keeps the limit that it has, and a new one gets a half of it, a quarter and so on, down to
   * 4 MiB: results in a small stream are better than none.
   *
   * @throws StreamTooLarge, FormerStreamInTheWay
   */
  ensure(region: Region, limits: { maxBytes: number }): Promise<StreamInfo>;
  /**
   * Has the former stream take no more messages, so that the regions' streams can take their place. Publishers
   * are told that nobody keeps their messages until those are made; they send again.
   *
   * @returns what the former stream holds; null when there is none
   */
  retireFormer(): Promise<StreamInfo | null>;
  /** Deletes the former stream. */
  removeFormer(): Promise<void>;
  /** The stored message, or null when it is gone. */
  message(stream: string, sequence: number): Promise<StreamMessage | null>;
  /**
   * Reads in order from `fromSequence` on, without acknowledgements. `handler` is called per message; while
   * the promise it returns is pending no further message is handled and none is asked for: what has been
   * asked for and not handled is at most {@link READ_AHEAD_BYTES}. `onEnd` is called when reading ended for any reason but
   * `close` (connection lost, stream deleted or emptied, consumer lost): the caller looks at the stream again and starts anew.
   */
  read(
    stream: string,
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
  ): Promise<StreamReading>;
  /** Drops messages below `sequence`; with 1 or less there are none. */
  purge(stream: string, belowSequence: number): Promise<void>;
}

/**
 * What one reading may have asked for and not handled, bytes: one message of the largest size, with its
 * headers and subjects. All 28 regions together stay below 8 MiB, above which a NATS server set up by
 * `deploy/nats` cuts a connection off.
 */
export const READ_AHEAD_BYTES = 264 * 1_024;

/** `bytes`: what it holds now; `maxBytes`: its limit, beyond which the oldest messages are dropped. */
export type StreamInfo = {
  created: string;
  firstSequence: number;
  lastSequence: number;
  bytes: number;
  maxBytes: number;
};

export type StreamMessage = {
  sequence: number;
  subject: string;
  data: Uint8Array;
  /** When the server stored it, epoch ms. */
  time: number;
  /** `Nats-Msg-Id`, '' when none. */
  messageId: string;
  /** Messages that the stream holds after it; 0 where that is not known. */
  pending?: number;
};

export interface StreamReading {
  close(): Promise<void>;
}

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

/** The JetStream stream of results, as its single reader (the coordinator) sees it. */
export interface ResultStream {
  /** Creates the stream when it is missing (at every connect). */
  ensure(limits: { maxBytes: number }): Promise<StreamInfo>;
  info(): Promise<StreamInfo>;
  /** The stored message, or null when it is gone. */
  message(sequence: number): Promise<StreamMessage | null>;
  /**
   * Reads in order from `fromSequence` on, without acknowledgements, across reconnects. `handler` is
   * called per message; while the promise it returns is pending no further message is handled
   * (back-pressure; the client holds at most a bounded number). `onEnd` is called when reading ended for any reason but
   * `close` (stream deleted or emptied, consumer lost): the caller looks at the stream again and starts anew.
   */
  read(
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
  ): Promise<StreamReader>;
  /** Drops messages below `sequence`. */
  purge(belowSequence: number): Promise<void>;
}

export type StreamInfo = { created: string; firstSequence: number; lastSequence: number; bytes: number };

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

export interface StreamReader {
  close(): Promise<void>;
}

import type { Region } from '../regions.ts';

/**
 * The message bus. Agents and coordinators reach NATS only through it and through {@link ResultStreams}.
 *
 * A published message arrives at most once, because core NATS stores nothing. Without a connection, `publish`
 * throws `BusDisconnected`; the client would buffer the message and might lose it.
 */
export interface Bus {
  readonly isConnected: boolean;
  /** @throws BusDisconnected when there is no connection. */
  publish(subject: string, data: Uint8Array | string, options?: PublishOptions): void;
  /**
   * Calls `handler` synchronously for each message, in order. An
   * error that `handler` throws is logged and goes no further.
   */
  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options?: SubscribeOptions,
  ): BusSubscription;
  /**
   * Sets the maximum number of regions that are read, for one shard. Call it before the first reading. All
   * readings together then stay below the bytes at which NATS closes a connection (`read-ahead.ts`).
   */
  expectRegions(regions: number): void;
  /**
   * Reads the heartbeats of a region's agents: first the newest heartbeat of each agent, which NATS keeps,
   * and then new heartbeats.
   *
   * `handler` is called for each heartbeat. While its promise is pending, no further heartbeat is handled or
   * requested, and NATS keeps only the newest of each agent. `onEnd` is called once, when the reading ends
   * for any other reason than `close`: connection lost, stream or consumer gone. The caller then starts
   * another reading.
   *
   * @param isAnew whether the region's stream is deleted and created again if NATS is a cluster, because the
   *   present stream may store nothing more. The agents send their heartbeats again within 2 s
   * @throws BusDisconnected, or the error that the server answered
   */
  readHeartbeats(
    region: Region,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
    isAnew?: boolean,
  ): Promise<HeartbeatReading>;
  /**
   * Removes the streams of heartbeats of all regions but these, where no coordinator reads them. The agents
   * of these regions learn by it that nobody does.
   *
   * @returns the regions of removed streams with agents that were alive within the last 10 s
   * @throws BusDisconnected, or the error that the server answered
   */
  removeOtherHeartbeats(regions: readonly Region[]): Promise<Region[]>;
  /**
   * Sends a ping, and resolves at the server's answer. All messages that the server sent
   * before its answer have been handled by then. Rejects when the connection is lost.
   */
  flush(): Promise<void>;
  /** A fresh subject below this connection's inbox prefix. */
  inbox(): string;
  /**
   * Calls `listener` at every change of `isConnected`, but not at
   * registration. Returns a function that unregisters the listener.
   */
  onConnection(listener: (isConnected: boolean) => void): () => void;
  /** Drains subscriptions, flushes pending publishes and closes the connection. Never rejects. */
  close(): Promise<void>;
}

/** `max`: number of messages after which the subscription ends, also at the server. */
export type SubscribeOptions = { queue?: string; max?: number };

export type PublishOptions = { reply?: string; messageId?: string };

export type BusMessage = {
  subject: string;
  data: Uint8Array;
  /** Subject for an answer; '' when there is none. */
  reply: string;
  /** Size of the data and of the headers together, bytes. It is found without reading the headers. */
  bytes: number;
  /**
   * Whether this is the server's answer 503: the subject that a request was published to has no subscriber.
   */
  isNoResponders: boolean;
};

export interface BusSubscription {
  /** Closes the subscription at once. Messages on their way are no longer handled. */
  close(): void;
  /**
   * Asks the server for no more messages, and resolves when all that it had sent were handled. Without a
   * connection it closes at once. Never rejects.
   */
  drain(): Promise<void>;
}

/**
 * The JetStream streams of results, one for each region and shard. The leader of a shard uses them and is
 * their only reader. `resultsStream(region, shard)` names a stream.
 */
export interface ResultStreams {
  /**
   * The existing streams of results, by name. Null: NATS does not answer for the stream now, mostly because the
   * servers of a cluster choose the stream's leader.
   *
   * @param isWanted whether the stream is asked for; left out: all streams are
   */
  list(isWanted?: (stream: string) => boolean): Promise<ReadonlyMap<string, StreamInfo | null>>;
  /**
   * The streams with these names that exist. Null: NATS does not answer for the stream now, which
   * may not exist.
   */
  states(names: readonly string[]): Promise<ReadonlyMap<string, StreamInfo | null>>;
  /**
   * Creates the region's stream where it is missing, and sets its limit.
   *
   * The limit is never lowered below what the stream holds: call again when the stream holds less. Where
   * NATS has no room for the limit, an existing stream keeps its old limit, and a new stream gets half of
   * the limit, a quarter and so on, down to 4 MiB, because results in a small stream are better than none.
   *
   * @throws StreamTooLarge, TooFewServers
   */
  ensure(region: Region, config: StreamSettings): Promise<StreamInfo>;
  /**
   * Publishes a message to the region's stream of the shard. Resolves when the stream has stored it.
   *
   * @throws SvcError or NatsError when the stream has not confirmed it
   */
  publish(region: Region, shard: number, data: Uint8Array): Promise<void>;
  /** The stored message, or null when it is gone. */
  message(stream: string, sequence: number): Promise<StreamMessage | null>;
  /**
   * Reads in order from `fromSequence` on, without acknowledgements.
   *
   * `handler` is called for each message. While its promise is pending, no further message is handled
   * or requested. At most {@link READ_AHEAD_BYTES} are requested and not yet handled. `onEnd` is
   * called when the reading ends for any other reason than `close`: connection lost, stream deleted
   * or emptied, consumer lost. The caller then looks at the stream again and starts another reading.
   *
   * @param created creation time of the stream that `fromSequence` belongs to. If the stream
   *   was created at another time, it is not read. Left out: any stream of the name is read
   * @throws SvcError `stream-read-ended` when the stream is another one
   */
  read(
    stream: string,
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
    created?: string,
  ): Promise<StreamReading>;
  /** Deletes the messages below `belowSequence`. A `belowSequence` of 1 or less deletes nothing. */
  purge(stream: string, belowSequence: number): Promise<void>;
}

/**
 * Maximum number of bytes that one reading of results has requested and not yet handled. It has room for the
 * largest message with its headers and subjects. With many streams on one connection, it is less
 * (`read-ahead.ts`).
 */
export const READ_AHEAD_BYTES = 264 * 1_024;

/** Maximum number of bytes that one reading of heartbeats has requested and not yet handled. */
export const HEARTBEATS_AHEAD_BYTES = 16 * 1_024;

/** How a stream of results is set up. */
export type StreamSettings = {
  readonly maxBytes: number;
  /** The id of the shard; left out: 0. */
  readonly shard?: number;
  /**
   * Whether the region also has streams of other shards. If not, the stream of shard 0 also keeps
   * the messages on the subjects of other shards. Left out: the region has no such streams.
   */
  readonly hasOthers?: boolean;
};

/**
 * `bytes`: present size of the stream. `maxBytes`: limit
 * of its size; beyond it, the oldest messages are deleted.
 */
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
  /** When the server stored the message, epoch ms. */
  time: number;
  /** `Nats-Msg-Id` of the message; '' when it has none. */
  messageId: string;
  /**
   * Number of messages that the stream had after this one
   * at delivery. Left out by {@link ResultStreams.message}.
   */
  pending?: number;
};

export interface StreamReading {
  close(): Promise<void>;
}

export interface HeartbeatReading extends StreamReading {
  /**
   * Whether the stream has the leader that it had when the reading began, and this leader hears most of the
   * stream's servers. If not, NATS may have lost heartbeats, although the reading itself goes on.
   *
   * @throws BusDisconnected, or an error while the stream has no leader
   */
  isGapless(): Promise<boolean>;
}

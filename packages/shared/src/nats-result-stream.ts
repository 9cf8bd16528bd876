import {
  type Consumer,
  type ConsumerMessages,
  type JetStreamManager,
  type JsMsg,
  NatsError,
  type StreamInfo as NatsStreamInfo,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { ResultStream, StreamInfo, StreamMessage, StreamReader } from './bus.ts';
import { SvcError } from './errors.ts';
import { ALL_RESULTS, RESULTS_STREAM } from './messages/subjects.ts';
import type { NatsBus } from './nats-bus.ts';

/** Reading of the result stream ended without being asked to: look at the stream again and read anew. */
export class StreamReadEnded extends SvcError {
  readonly retryable = true;

  constructor(why: string, options?: { cause?: unknown }) {
    super('stream-read-ended', `reading stream ${RESULTS_STREAM} ended: ${why}`, options);
  }
}

/** NATS keeps files of a stream's whole bound free when it is made, and has not that much. */
export class StreamTooLarge extends SvcError {
  readonly retryable = true;

  constructor(maxBytes: number, options?: { cause?: unknown }) {
    super(
      'stream-too-large',
      `NATS has no room for ${maxBytes} bytes of results: give it more, or make SVC_RESULTS_MAX_BYTES smaller`,
      options,
    );
  }
}

/** JetStream error code "no message found". */
const NO_MESSAGE_FOUND = 10037;
/** JetStream error code "insufficient storage resources available". */
const STORAGE_EXCEEDED = 10047;
/** JetStream error code "stream not found". */
const STREAM_NOT_FOUND = 10059;
/** What the client may hold before the handler has taken it: some 16 MB at the largest batch size. */
const MESSAGES_AHEAD = 64;

/**
 * {@link ResultStream} over JetStream.
 *
 * Reading uses an ordered consumer: nothing is acknowledged, the reader's own stored position decides.
 * A durable consumer with "skip what is below the position" lost results in tests, because after a
 * restart new messages arrive before the unacknowledged old ones.
 */
export class NatsResultStream implements ResultStream {
  readonly #bus: NatsBus;
  #manager: JetStreamManager | null = null;

  constructor(bus: NatsBus) {
    this.#bus = bus;
  }

  async ensure(limits: { maxBytes: number }): Promise<StreamInfo> {
    const manager = await this.#jetStream();
    try {
      return toStreamInfo(await manager.streams.info(RESULTS_STREAM));
    } catch (error) {
      if (jetStreamCode(error) !== STREAM_NOT_FOUND) throw error;
    }
    try {
      const created = await manager.streams.add({
        name: RESULTS_STREAM,
        subjects: [ALL_RESULTS],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        max_bytes: limits.maxBytes,
        duplicate_window: nanos(120_000),
      });
      return toStreamInfo(created);
    } catch (error) {
      if (jetStreamCode(error) !== STORAGE_EXCEEDED) throw error;
      throw new StreamTooLarge(limits.maxBytes, { cause: error });
    }
  }

  async info(): Promise<StreamInfo> {
    const manager = await this.#jetStream();
    return toStreamInfo(await manager.streams.info(RESULTS_STREAM));
  }

  async message(sequence: number): Promise<StreamMessage | null> {
    const manager = await this.#jetStream();
    try {
      const stored = await manager.streams.getMessage(RESULTS_STREAM, { seq: sequence });
      return {
        sequence: stored.seq,
        subject: stored.subject,
        data: stored.data,
        time: stored.time.getTime(),
        messageId: stored.header.get('Nats-Msg-Id'),
      };
    } catch (error) {
      if (jetStreamCode(error) === NO_MESSAGE_FOUND) return null;
      throw error;
    }
  }

  async purge(belowSequence: number): Promise<void> {
    const manager = await this.#jetStream();
    await manager.streams.purge(RESULTS_STREAM, { seq: belowSequence });
  }

  async read(
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
  ): Promise<StreamReader> {
    // `opt_start_seq` alone: the client turns a deliver policy beside it into a request that hangs.
    const consumer = await this.#bus.connection
      .jetstream()
      .consumers.get(RESULTS_STREAM, { opt_start_seq: Math.max(1, fromSequence) });
    const reading = new Reading(this.#bus, consumer, handler, onEnd);
    await reading.start();
    return reading;
  }

  async #jetStream(): Promise<JetStreamManager> {
    this.#manager ??= await this.#bus.connection.jetstreamManager({ checkAPI: false });
    return this.#manager;
  }
}

/** One run of an ordered consumer. It ends at the first sign of trouble; its owner starts the next one. */
class Reading implements StreamReader {
  readonly #bus: NatsBus;
  readonly #consumer: Consumer;
  readonly #handler: (message: StreamMessage) => Promise<void> | void;
  readonly #onEnd: (error: unknown) => void;
  #messages: ConsumerMessages | null = null;
  #stopWatching: () => void = () => {};
  #end: { error: unknown } | null = null;
  #isClosed = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(
    bus: NatsBus,
    consumer: Consumer,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
  ) {
    this.#bus = bus;
    this.#consumer = consumer;
    this.#handler = handler;
    this.#onEnd = onEnd;
  }

  async start(): Promise<void> {
    const messages = await this.#consumer.consume({ max_messages: MESSAGES_AHEAD });
    this.#messages = messages;
    // A consumer survives a reconnect, but the stream behind it may be another one by then.
    this.#stopWatching = this.#bus.onConnection((isConnected) => {
      if (!isConnected) this.#stop(new StreamReadEnded('the connection was lost'));
    });
    void this.#watch(messages);
    this.#loop = this.#run(messages);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop(null);
    await this.#loop;
  }

  async #run(messages: ConsumerMessages): Promise<void> {
    try {
      for await (const message of messages) {
        if (this.#end !== null) break;
        await this.#handler(toStreamMessage(message));
      }
    } catch (error) {
      this.#stop(error);
    }
    this.#stopWatching();
    if (!this.#isClosed) this.#onEnd(this.#end?.error ?? new StreamReadEnded('the consumer ended'));
  }

  async #watch(messages: ConsumerMessages): Promise<void> {
    for await (const status of await messages.status()) {
      if (status.type.endsWith('_not_found') || status.type === 'consumer_deleted') {
        this.#stop(new StreamReadEnded(status.type.replaceAll('_', ' ')));
      }
    }
  }

  #stop(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#messages?.stop();
  }
}

function jetStreamCode(error: unknown): number | null {
  return error instanceof NatsError ? (error.api_error?.err_code ?? null) : null;
}

function toStreamInfo(info: NatsStreamInfo): StreamInfo {
  return {
    created: info.created,
    firstSequence: info.state.first_seq,
    lastSequence: info.state.last_seq,
    bytes: info.state.bytes,
  };
}

function toStreamMessage(message: JsMsg): StreamMessage {
  return {
    sequence: message.seq,
    subject: message.subject,
    data: message.data,
    time: Math.floor(message.info.timestampNanos / 1e6),
    messageId: message.headers?.get('Nats-Msg-Id') ?? '',
    pending: message.info.pending,
  };
}

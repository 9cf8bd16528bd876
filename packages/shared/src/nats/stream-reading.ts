import {
  AckPolicy,
  DeliverPolicy,
  ErrorCode,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  NatsError,
  nanos,
} from 'nats';
import { SvcError } from '../errors.ts';
import { type Bus, READ_AHEAD_BYTES, type StreamMessage, type StreamReading } from './bus.ts';
import { messageBytes, messageIdOf } from './headers.ts';
import type { ReadAhead } from './read-ahead.ts';

/**
 * A reading of a stream failed, or ended although `close` was not called. Whoever started it must look at the
 * stream again and start another reading.
 */
class StreamReadEnded extends SvcError {
  readonly retryable = true;

  constructor(stream: string, why: string, options?: { cause?: unknown }) {
    super('stream-read-ended', `reading stream ${stream} ended: ${why}`, options);
  }
}

/** Maximum number of messages of one request. Their bytes are limited too, see {@link ReadingOptions}. */
const MOST_MESSAGES = 256;
/** Time for which the server keeps one request open, ms. */
const EXPIRES_MS = 30_000;
/** Interval at which the server confirms an open request while it has nothing to deliver, ms. */
const HEARTBEAT_MS = 1_500;
/**
 * After a silence of this length the consumer counts as gone, ms. In a cluster, the consumer's server may
 * fail while the connection, which goes to another server, stays up. A reading of heartbeats must notice the
 * failure before the agents count as gone, after 6.5 s.
 */
const SILENCE_MS = 3 * HEARTBEAT_MS;
/** The server removes a consumer that gets no request for this long, ms. */
const INACTIVE_MS = 300_000;

const WAITING = { expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };

/**
 * Maximum time that the server may take for an answer about streams and consumers, ms. While a
 * cluster elects the leader of a stream, requests about the stream get no answer, so a longer wait
 * would only delay the next try.
 */
export const JETSTREAM_ANSWER_MS = 2_000;

/**
 * Maximum times that the server may take to make a consumer, at the first, second and third try, ms. A cluster
 * places a consumer on a random server of the stream, for two minutes also on one that was killed, which gives
 * no answer. The next try may find another server.
 */
const CONSUMER_ANSWERS_MS = [500, 1_000, JETSTREAM_ANSWER_MS];

/**
 * The client's manager of streams and consumers.
 *
 * @param timeout maximum time that the server may take for an answer, ms
 */
export function jetStreamManager(
  connection: NatsConnection,
  timeout = JETSTREAM_ANSWER_MS,
): Promise<JetStreamManager> {
  return connection.jetstreamManager({ checkAPI: false, timeout });
}

/** The part of the bus that a reading needs. */
export type ReadableBus = Pick<Bus, 'isConnected' | 'publish' | 'inbox' | 'onConnection'> & {
  readonly connection: NatsConnection;
  /** Divides the bytes that may be on the way among the readings of the connection. */
  readonly readAhead: ReadAhead;
  /** Asks the server. Rejects as soon as the connection is lost. */
  unlessLost<T>(ask: () => Promise<T>): Promise<T>;
};

export type ReadingOptions = {
  /**
   * When the stream to read was created, in the server's notation. Left out: any stream of the name is read.
   */
  created?: string | undefined;
  /**
   * Maximum number of bytes that are requested and not yet handled, while
   * the connection reads few streams. Default {@link READ_AHEAD_BYTES}.
   */
  readAheadBytes?: number;
};

export type MessageHandler = (message: StreamMessage) => Promise<void> | void;

/**
 * Reads a stream from a sequence on. The contract is that of `ResultStreams.read`.
 *
 * A reading asks a consumer without acknowledgements for messages, with one request at a time:
 *
 *     asking ── as many messages or bytes as requested came, or the request expired ──▶ working
 *        ▲                                                                                 │
 *        └────────────────────── all of the messages are handled ──────────────────────────┘
 *
 * With many streams on one connection, a request is for fewer bytes ({@link ReadAhead}). If the next message
 * is larger, the reading waits for a turn, and requests this message alone with its full bound.
 *
 * The client's own ordered consumer is not used. It requests more whenever messages
 * arrive, handled or not. So a backlog came as fast as the server could send it, the
 * server's buffer for this connection filled up, and the server cut the connection off.
 *
 * A durable consumer that skips messages below the position is not used either. It lost results in tests,
 * because new messages arrive before the unacknowledged old ones after a restart. So the reader's own
 * stored position decides. A reading ends at the first sign of trouble, and its owner starts the next one.
 *
 * @throws NatsError when the stream does not exist
 * @throws StreamReadEnded when the stream was not created at `created`
 */
export async function readStream(
  bus: ReadableBus,
  stream: string,
  fromSequence: number,
  handler: MessageHandler,
  onEnd: (error: unknown) => void,
  { created, readAheadBytes = READ_AHEAD_BYTES }: ReadingOptions = {},
): Promise<StreamReading> {
  const manager = await jetStreamManager(bus.connection);
  const consumer = await makeConsumer(bus, stream, fromSequence);
  const reading = new Reading({ bus, manager, stream, consumer, handler, onEnd, readAheadBytes });
  if (created !== undefined) {
    // If the stream was created again before the consumer, these sequences belong to other messages. Servers
    // up to 2.10 then begin after the newest message, and 2.15 delivers nothing until there are as many
    // messages as before (findings/nats-consumer-of-a-replaced-stream.sh). A consumer ends with its stream.
    // So if the present stream is the right one, the consumer reads no other stream.
    const info = await bus.unlessLost(() => manager.streams.info(stream));
    if (info.created !== created) {
      await reading.close();
      throw new StreamReadEnded(stream, 'it was made anew before its consumer was made');
    }
  }
  reading.start();
  return reading;
}

/** Makes a consumer of the stream, and returns its name. A consumer whose answer was lost ends by itself. */
async function makeConsumer(bus: ReadableBus, stream: string, fromSequence: number): Promise<string> {
  const config = {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(1, fromSequence),
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(INACTIVE_MS),
  };
  for (let tries = 1; ; tries += 1) {
    const { consumers } = await jetStreamManager(bus.connection, CONSUMER_ANSWERS_MS[tries - 1]);
    try {
      return (await bus.unlessLost(() => consumers.add(stream, config))).name;
    } catch (error) {
      const isSilence = error instanceof NatsError && error.code === ErrorCode.Timeout;
      if (!isSilence || tries === CONSUMER_ANSWERS_MS.length) throw error;
    }
  }
}

type ReadingParts = {
  readonly bus: ReadableBus;
  readonly manager: JetStreamManager;
  readonly stream: string;
  readonly consumer: string;
  readonly handler: MessageHandler;
  readonly onEnd: (error: unknown) => void;
  /** See {@link ReadingOptions}. It is the size of the largest message or more. */
  readonly readAheadBytes: number;
};

/** One consumer from its creation to its end. */
class Reading implements StreamReading {
  readonly #parts: ReadingParts;
  readonly #inbox: string;
  #unsubscribe: () => void = () => {};
  #stopWatching: () => void = () => {};
  #stopTimer: () => void = () => {};
  /** Messages that were delivered and not handled yet. */
  #waiting: StreamMessage[] = [];
  /** Whether the server may still deliver messages of the last request. */
  #isAsking = false;
  /** Maximum number of messages that the last request may still bring. */
  #wanted = 0;
  /**
   * Number of bytes of messages that the last request may still bring. When the next message is
   * larger than this number, the server reports so. When no bytes are left, it reports nothing.
   */
  #wantedBytes = 0;
  /** Whether the last request was for as many bytes as the largest message may have. */
  #isFullRequest = false;
  /** Whether the reading has a turn for a large message, see {@link ReadAhead}. */
  #hasTurn = false;
  /** Whether the last request has brought a message. */
  #hasDelivered = false;
  /** Number of messages that the consumer has delivered. */
  #serial = 0;
  #heardAt = performance.now();
  #end: { error: unknown } | null = null;
  #isClosed = false;
  #isWorking = false;
  #worked: Promise<void> = Promise.resolve();

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    this.#inbox = parts.bus.inbox();
  }

  start(): void {
    const { bus } = this.#parts;
    const subscription = bus.connection.subscribe(this.#inbox, {
      callback: (error, message) => this.#takeMessage(error, message),
    });
    this.#unsubscribe = () => subscription.unsubscribe();
    // The reading ends with the connection, because after a reconnect another stream may have this name.
    this.#stopWatching = bus.onConnection((isConnected) => {
      if (!isConnected) this.#fail('the connection was lost');
    });
    const timer = setInterval(() => this.#checkSilence(), HEARTBEAT_MS).unref();
    this.#stopTimer = () => clearInterval(timer);
    this.#requestMessages();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop(null);
    await this.#worked;
  }

  #requestMessages(): void {
    const { bus, stream, consumer, readAheadBytes } = this.#parts;
    this.#isAsking = true;
    this.#wanted = this.#hasTurn ? 1 : MOST_MESSAGES;
    this.#wantedBytes = this.#hasTurn ? readAheadBytes : bus.readAhead.shareOf(readAheadBytes);
    this.#isFullRequest = this.#wantedBytes === readAheadBytes;
    this.#hasDelivered = false;
    this.#heardAt = performance.now();
    const request = JSON.stringify({ batch: this.#wanted, max_bytes: this.#wantedBytes, ...WAITING });
    try {
      bus.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, { reply: this.#inbox });
    } catch (error) {
      this.#stop(error);
    }
  }

  readonly #requestLargeMessage = (): void => {
    this.#hasTurn = true;
    this.#requestMessages();
  };

  #giveTurnBack(): void {
    if (!this.#hasTurn) return;
    this.#hasTurn = false;
    this.#parts.bus.readAhead.giveTurnBack();
  }

  #takeMessage(error: NatsError | null, message: Msg): void {
    if (this.#end !== null) return;
    this.#heardAt = performance.now();
    if (error !== null) this.#stop(error);
    else if (message.subject === this.#inbox) this.#takeStatus(message);
    else this.#deliver(message);
  }

  /** Handles a status message about the request, as opposed to a message of the stream. */
  #takeStatus(message: Msg): void {
    const code = message.headers?.code ?? 0;
    const description = message.headers?.description.toLowerCase() ?? '';
    if (code === 100) return;
    if (code === 400 || code === 503 || description.includes('consumer') || description.includes('stream')) {
      this.#fail(description === '' ? `the server answered ${code}` : description);
      return;
    }
    this.#isAsking = false;
    if (description.includes('maxbytes') && !this.#hasDelivered) {
      if (this.#isFullRequest) this.#fail('a message is larger than any of ours');
      else this.#parts.bus.readAhead.takeTurn(this.#requestLargeMessage);
      return;
    }
    // The request has expired, or the next message is larger than the bytes that are left of the request.
    this.#askAgain();
  }

  #deliver(message: Msg): void {
    const delivery = parseDelivery(message.reply ?? '');
    if (delivery === null) {
      this.#fail('a message without its place in the stream');
      return;
    }
    this.#serial += 1;
    if (delivery.serial !== this.#serial) {
      this.#fail('a message of the stream was lost on its way');
      return;
    }
    this.#hasDelivered = true;
    this.#wanted -= 1;
    this.#wantedBytes -= messageBytes(message);
    if (this.#wanted === 0 || this.#wantedBytes <= 0) this.#isAsking = false;
    this.#waiting.push(toStreamMessage(message, delivery));
    if (!this.#isWorking) this.#worked = this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    try {
      for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) {
        const handled = this.#parts.handler(message);
        if (handled !== undefined) await handled;
        if (this.#end !== null) break;
      }
    } catch (error) {
      this.#stop(error);
    }
    this.#isWorking = false;
    this.#askAgain();
  }

  /** Sends the next request when all messages are handled and the last request can bring no more. */
  #askAgain(): void {
    if (!this.#isAsking && !this.#isWorking && this.#waiting.length === 0 && this.#end === null) {
      this.#giveTurnBack();
      this.#requestMessages();
    }
  }

  /**
   * Ends the reading after too long a silence. Silence counts
   * only while a request is open and no message is being handled.
   */
  #checkSilence(): void {
    if (!this.#isAsking || this.#isWorking) this.#heardAt = performance.now();
    else if (performance.now() - this.#heardAt > SILENCE_MS) this.#fail('the server is silent');
  }

  #fail(why: string): void {
    this.#stop(new StreamReadEnded(this.#parts.stream, why));
  }

  #stop(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#waiting = [];
    const { readAhead } = this.#parts.bus;
    readAhead.leaveQueue(this.#requestLargeMessage);
    this.#giveTurnBack();
    this.#stopWatching();
    this.#stopTimer();
    this.#unsubscribe();
    this.#removeConsumer();
    if (!this.#isClosed) void this.#worked.then(() => this.#reportEnd(error));
  }

  #reportEnd(error: unknown): void {
    if (!this.#isClosed) this.#parts.onEnd(error);
  }

  /** Removes the consumer. Without this, the server removes it after {@link INACTIVE_MS}. */
  #removeConsumer(): void {
    const { bus, manager, stream, consumer } = this.#parts;
    if (!bus.isConnected) return;
    // An error is ignored: the consumer is gone already, or the connection was lost meanwhile.
    manager.consumers.delete(stream, consumer).catch(() => {});
  }
}

type Delivery = { sequence: number; serial: number; time: number; pending: number };

/**
 * Reads a message's place from its reply subject,
 * `$JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<serial>.<ns>.<pending>`, or
 * `$JS.ACK.<domain>.<account>.<stream>.…` with or without one more token at the end (NATS ADR-15).
 */
function parseDelivery(reply: string): Delivery | null {
  const tokens = reply.split('.');
  const at = tokens.length === 9 ? 5 : tokens.length >= 11 ? 7 : -1;
  if (at === -1 || tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  const delivery = {
    sequence: Number(tokens[at]),
    serial: Number(tokens[at + 1]),
    // The text is cut, not divided: as a number it would be rounded, at times to the next millisecond.
    time: Number(tokens[at + 2]?.slice(0, -6)),
    pending: Number(tokens[at + 3]),
  };
  return Object.values(delivery).every(Number.isSafeInteger) ? delivery : null;
}

function toStreamMessage(message: Msg, { sequence, time, pending }: Delivery): StreamMessage {
  return {
    sequence,
    subject: message.subject,
    data: message.data,
    time,
    messageId: messageIdOf(message),
    pending,
  };
}

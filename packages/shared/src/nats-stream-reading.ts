import { AckPolicy, DeliverPolicy, type JetStreamManager, type Msg, type NatsError, nanos } from 'nats';
import { READ_AHEAD_BYTES, type StreamMessage, type StreamReading } from './bus.ts';
import { SvcError } from './errors.ts';
import type { NatsBus } from './nats-bus.ts';
import { messageIdOf } from './nats-headers.ts';

/** Reading of a stream ended without being asked to: look at the stream again and read anew. */
class StreamReadEnded extends SvcError {
  readonly retryable = true;

  constructor(stream: string, why: string, options?: { cause?: unknown }) {
    super('stream-read-ended', `reading stream ${stream} ended: ${why}`, options);
  }
}

/** Most messages of one request; `READ_AHEAD_BYTES` is the other bound. */
const MOST_MESSAGES = 256;
/** How long the server keeps a request open, ms. */
const EXPIRES_MS = 30_000;
/** While it has nothing to deliver the server says this often that the request stands, ms. */
const HEARTBEAT_MS = 5_000;
/** Without any word for so long the consumer is gone, ms. */
const SILENCE_MS = 3 * HEARTBEAT_MS;
/** A consumer that nobody asks for messages is removed by the server after this time, ms. */
const INACTIVE_MS = 300_000;

const WAITING = { expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
const ASK = JSON.stringify({ batch: MOST_MESSAGES, max_bytes: READ_AHEAD_BYTES, ...WAITING });
/** For a message that is larger than all that may be read ahead: the former stream had no bound but the server's. */
const ASK_ONE = JSON.stringify({ batch: 1, ...WAITING });

export type MessageHandler = (message: StreamMessage) => Promise<void> | void;

/**
 * Reads a stream from a sequence on; the contract is `ResultStreams.read`.
 *
 * A consumer without acknowledgements is asked for messages, one request at a time:
 *
 *     asking ── as many messages or bytes as asked for, or the request expired ──▶ working
 *        ▲                                                                            │
 *        └──────────────────── all of them are handled ───────────────────────────────┘
 *
 * The client's own ordered consumer asks for more whenever messages arrive, whether they are handled or not:
 * a backlog then came as fast as the server could send, filled its buffer for this connection, and the
 * server cut the connection off.
 *
 * A durable consumer with "skip what is below the position" lost results in tests, because after a restart
 * new messages arrive before the unacknowledged old ones. So the reader's own stored position decides, and
 * a reading ends at the first sign of trouble; its owner starts the next one.
 *
 * @throws NatsError when there is no such stream
 */
export async function readStream(
  bus: NatsBus,
  stream: string,
  fromSequence: number,
  handler: MessageHandler,
  onEnd: (error: unknown) => void,
): Promise<StreamReading> {
  const manager = await bus.connection.jetstreamManager({ checkAPI: false });
  const { name } = await manager.consumers.add(stream, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(1, fromSequence),
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(INACTIVE_MS),
  });
  const reading = new Reading({ bus, manager, stream, consumer: name, handler, onEnd });
  reading.start();
  return reading;
}

type ReadingOptions = {
  readonly bus: NatsBus;
  readonly manager: JetStreamManager;
  readonly stream: string;
  readonly consumer: string;
  readonly handler: MessageHandler;
  readonly onEnd: (error: unknown) => void;
};

/** One life of a consumer. */
class Reading implements StreamReading {
  readonly #options: ReadingOptions;
  readonly #inbox: string;
  #unsubscribe: () => void = () => {};
  #stopWatching: () => void = () => {};
  #stopTimer: () => void = () => {};
  /** Delivered and not handled. */
  #waiting: StreamMessage[] = [];
  /** The server may still deliver messages of the last request. */
  #isAsking = false;
  /** What the last request may still bring; the server counts bytes itself. */
  #wanted = 0;
  /** It has brought something. */
  #hasDelivered = false;
  /** Messages of the consumer so far. */
  #serial = 0;
  #heardAt = performance.now();
  #end: { error: unknown } | null = null;
  #isClosed = false;
  #isWorking = false;
  #worked: Promise<void> = Promise.resolve();

  constructor(options: ReadingOptions) {
    this.#options = options;
    this.#inbox = options.bus.inbox();
  }

  start(): void {
    const { bus } = this.#options;
    const subscription = bus.connection.subscribe(this.#inbox, {
      callback: (error, message) => this.#received(error, message),
    });
    this.#unsubscribe = () => subscription.unsubscribe();
    // The stream may be another one after a reconnect.
    this.#stopWatching = bus.onConnection((isConnected) => {
      if (!isConnected) this.#fail('the connection was lost');
    });
    const timer = setInterval(() => this.#checkSilence(), HEARTBEAT_MS).unref();
    this.#stopTimer = () => clearInterval(timer);
    this.#ask();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop(null);
    await this.#worked;
  }

  #ask(request = ASK, messages = MOST_MESSAGES): void {
    const { bus, stream, consumer } = this.#options;
    this.#isAsking = true;
    this.#wanted = messages;
    this.#hasDelivered = false;
    this.#heardAt = performance.now();
    try {
      bus.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, request, { reply: this.#inbox });
    } catch (error) {
      this.#stop(error);
    }
  }

  #received(error: NatsError | null, message: Msg): void {
    if (this.#end !== null) return;
    this.#heardAt = performance.now();
    if (error !== null) this.#stop(error);
    else if (message.subject === this.#inbox) this.#told(message);
    else this.#deliver(message);
  }

  /** A word about the request, not a message of the stream. */
  #told(message: Msg): void {
    const code = message.headers?.code ?? 0;
    const description = message.headers?.description.toLowerCase() ?? '';
    if (code === 100) return;
    if (code === 400 || code === 503 || description.includes('consumer') || description.includes('stream')) {
      this.#fail(description === '' ? `the server answered ${code}` : description);
      return;
    }
    if (description.includes('maxbytes') && !this.#hasDelivered) {
      this.#ask(ASK_ONE, 1);
      return;
    }
    // It has expired, or the next message does not fit into what is left of it.
    this.#isAsking = false;
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
    if (this.#wanted === 0) this.#isAsking = false;
    this.#waiting.push(toStreamMessage(message, delivery));
    if (!this.#isWorking) this.#worked = this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    try {
      for (let message = this.#waiting.shift(); message !== undefined; message = this.#waiting.shift()) {
        const handled = this.#options.handler(message);
        if (handled !== undefined) await handled;
        if (this.#end !== null) break;
      }
    } catch (error) {
      this.#stop(error);
    }
    this.#isWorking = false;
    this.#askAgain();
  }

  /** Once all is handled and no more can come by itself. */
  #askAgain(): void {
    if (!this.#isAsking && !this.#isWorking && this.#waiting.length === 0 && this.#end === null) {
      this.#ask();
    }
  }

  /** While messages are handled nothing is asked for, and nothing is said. */
  #checkSilence(): void {
    if (!this.#isAsking || this.#isWorking) this.#heardAt = performance.now();
    else if (performance.now() - this.#heardAt > SILENCE_MS) this.#fail('the server is silent');
  }

  #fail(why: string): void {
    this.#stop(new StreamReadEnded(this.#options.stream, why));
  }

  #stop(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#waiting = [];
    this.#stopWatching();
    this.#stopTimer();
    this.#unsubscribe();
    this.#removeConsumer();
    if (!this.#isClosed) void this.#worked.then(() => this.#tellEnd(error));
  }

  #tellEnd(error: unknown): void {
    if (!this.#isClosed) this.#options.onEnd(error);
  }

  /** It would go by itself some time later. */
  #removeConsumer(): void {
    const { bus, manager, stream, consumer } = this.#options;
    if (!bus.isConnected) return;
    // Where it is gone already, or the connection is lost meanwhile, nothing is left to do.
    manager.consumers.delete(stream, consumer).catch(() => {});
  }
}

type Delivery = { sequence: number; serial: number; time: number; pending: number };

/**
 * Place of a message, from its reply subject: `$JS.ACK.<stream>.<consumer>.<tries>.<sequence>.<serial>.<ns>.<pending>`,
 * or `$JS.ACK.<domain>.<account>.<stream>.…` with or without a last token more (NATS ADR-15).
 */
function parseDelivery(reply: string): Delivery | null {
  const tokens = reply.split('.');
  const at = tokens.length === 9 ? 5 : tokens.length >= 11 ? 7 : -1;
  if (at === -1 || tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  const delivery = {
    sequence: Number(tokens[at]),
    serial: Number(tokens[at + 1]),
    // Cut, not divided: as a number it would be rounded, at times to the next millisecond.
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

import {
  type JetStreamManager,
  NatsError,
  type StreamInfo as NatsStreamInfo,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { z } from 'zod';
import { SvcError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { RESULTS_STREAMS, resultsStream, resultsSubject, resultsSubjects } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import type { ResultStreams, StreamInfo, StreamMessage, StreamReading, StreamSettings } from './bus.ts';
import { messageIdIn } from './headers.ts';
import type { NatsBus } from './nats-bus.ts';
import { JETSTREAM_ANSWER_MS, jetStreamManager, readStream } from './stream-reading.ts';
import { CLUSTER_REPLICAS, replicasAt, TOO_FEW_PEERS } from './stream-replicas.ts';

/**
 * NATS has no room for even a small stream. NATS reserves disk space for the maximum size of a
 * stream when the stream is created.
 */
export class StreamTooLarge extends SvcError {
  readonly retryable = true;

  constructor(maxBytes: number, options?: { cause?: unknown }) {
    super(
      'stream-too-large',
      `NATS has no room for ${maxBytes} bytes of a region's results: give NATS more disk space, or lower SVC_RESULTS_MAX_BYTES`,
      options,
    );
  }
}

/**
 * The cluster has fewer running servers than a stream has replicas, so the stream cannot be created or
 * changed. An existing stream works while most of its servers run.
 */
export class TooFewServers extends SvcError {
  readonly retryable = true;

  constructor(options?: { cause?: unknown }) {
    super(
      'too-few-nats-servers',
      `a stream lies on ${CLUSTER_REPLICAS} servers of a NATS cluster, and fewer of them are running: start the others`,
      options,
    );
  }
}

/** A stream has not stored a message that svc published to it. */
class ResultsRefused extends SvcError {
  readonly retryable = true;

  constructor(subject: string, why: string) {
    super('results-refused', `results could not be published to ${subject}: ${why}`);
  }
}

/** A stored message could not be read. */
class StreamUnreadable extends SvcError {
  readonly retryable = true;

  constructor(stream: string, sequence: number, why: string) {
    super('stream-unreadable', `message ${sequence} of stream ${stream} cannot be read: ${why}`);
  }
}

/**
 * The server's answer to a request for a stored message. It is parsed here, because the client's own parser
 * reads all headers.
 */
const storedMessage = z.object({
  error: z.object({ err_code: z.number().optional(), description: z.string().optional() }).optional(),
  message: z
    .object({
      seq: z.number(),
      subject: z.string(),
      time: z.string(),
      data: z.string().default(''),
      hdrs: z.string().default(''),
    })
    .optional(),
});

/** The server's answer to a message that was published to a stream. */
const acknowledgement = z.object({ error: z.object({ description: z.string().optional() }).optional() });

/** The subjects whose messages a stream keeps. */
function subjectsOf(region: Region, shard: number, hasOthers: boolean): string[] {
  if (shard > 0) return [resultsSubject(region, shard)];
  return hasOthers ? [resultsSubject(region), `${resultsSubject(region)}.0`] : [...resultsSubjects(region)];
}

/** JetStream error code "no message found". */
const NO_MESSAGE_FOUND = 10037;
/** JetStream error code "insufficient storage resources available". */
const STORAGE_EXCEEDED = 10047;
/** JetStream error code "maximum storage of the account exceeded". */
const ACCOUNT_STORAGE_EXCEEDED = 10028;
/** JetStream error code "stream name already in use with a different configuration". */
const STREAM_NAME_TAKEN = 10058;
/** JetStream error code "stream not found". */
const STREAM_NOT_FOUND = 10059;
/**
 * Maximum size of a message with its headers, bytes. Agents send no larger
 * messages. The server refuses larger messages, so that they cannot fill a stream.
 */
const MAX_MESSAGE_BYTES = LIMITS.messageBytes + 1_024;
/** Minimum size of a new stream, bytes. If NATS has less room, the region gets no stream. */
const LEAST_STREAM_BYTES = 4 * 1024 ** 2;
/**
 * How long the server remembers a message id, ms.
 *
 * Within this time, the server drops results that an agent sends again; the primary key of the
 * database drops the others. The time must not be longer: the server keeps whole ids in memory,
 * and only the bandwidth of a region's connection limits the number and the length of its ids.
 */
const DUPLICATE_WINDOW_MS = 5_000;

/** Configuration that the streams of all regions share. */
const COMMON = {
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  max_msg_size: MAX_MESSAGE_BYTES,
  duplicate_window: nanos(DUPLICATE_WINDOW_MS),
} satisfies Partial<StreamConfig>;

/** {@link ResultStreams} over JetStream. */
export class NatsResultStreams implements ResultStreams {
  readonly #bus: NatsBus;
  #manager: JetStreamManager | null = null;

  constructor(bus: NatsBus) {
    this.#bus = bus;
  }

  async list(isWanted = (_stream: string) => true): Promise<ReadonlyMap<string, StreamInfo | null>> {
    // Only names are listed: a cluster does not answer for all streams while one of them has no leader.
    const names = await this.#asked(async ({ streams }) => {
      const found: string[] = [];
      for await (const name of streams.names())
        if (name.startsWith(RESULTS_STREAMS) && isWanted(name)) found.push(name);
      return found;
    });
    return this.states(names);
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, StreamInfo | null>> {
    const infos = new Map<string, StreamInfo | null>();
    await Promise.all(
      names.map(async (name) => {
        try {
          const info = await this.#info(name);
          if (info !== null) infos.set(name, toStreamInfo(info));
        } catch (error) {
          if (!(error instanceof NatsError)) throw error;
          infos.set(name, null);
        }
      }),
    );
    return infos;
  }

  async ensure(region: Region, { maxBytes, shard = 0, hasOthers }: StreamSettings): Promise<StreamInfo> {
    const name = resultsStream(region, shard);
    const subjects = subjectsOf(region, shard, hasOthers === true);
    const info = await this.#info(name);
    if (info !== null) return this.#change(subjects, info, maxBytes);
    try {
      return await this.#create(name, subjects, maxBytes);
    } catch (error) {
      if (jetStreamCode(error) !== STREAM_NAME_TAKEN) throw error;
      // Another process has created the stream in the meantime, with another limit.
      const made = await this.#info(name);
      if (made === null) throw error;
      return this.#change(subjects, made, maxBytes);
    }
  }

  async publish(region: Region, shard: number, data: Uint8Array): Promise<void> {
    const { connection } = this.#bus;
    const subject = resultsSubject(region, shard);
    const answer = await this.#bus.unlessLost(() =>
      connection.request(subject, data, { timeout: JETSTREAM_ANSWER_MS }),
    );
    const { error } = acknowledgement.parse(answer.json());
    if (error !== undefined) throw new ResultsRefused(subject, error.description ?? '');
  }

  async message(stream: string, sequence: number): Promise<StreamMessage | null> {
    const request = JSON.stringify({ seq: sequence });
    const { connection } = this.#bus;
    const answer = await this.#bus.unlessLost(() =>
      connection.request(`$JS.API.STREAM.MSG.GET.${stream}`, request, { timeout: JETSTREAM_ANSWER_MS }),
    );
    const { error, message } = storedMessage.parse(answer.json());
    if (error?.err_code === NO_MESSAGE_FOUND) return null;
    if (message === undefined) throw new StreamUnreadable(stream, sequence, error?.description ?? '');
    return {
      sequence: message.seq,
      subject: message.subject,
      data: new Uint8Array(Buffer.from(message.data, 'base64')),
      time: Date.parse(message.time),
      messageId: messageIdIn(Buffer.from(message.hdrs, 'base64')),
    };
  }

  async purge(stream: string, belowSequence: number): Promise<void> {
    // The server reads "below 1" as everything.
    if (belowSequence <= 1) return;
    await this.#asked(({ streams }) => streams.purge(stream, { seq: belowSequence }));
  }

  read(
    stream: string,
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
    created?: string,
  ): Promise<StreamReading> {
    return readStream(this.#bus, stream, fromSequence, handler, onEnd, { created });
  }

  async #create(name: string, subjects: string[], maxBytes: number): Promise<StreamInfo> {
    const config = {
      name,
      subjects,
      num_replicas: replicasAt(this.#bus.connection),
      ...COMMON,
    };
    const create = (max_bytes: number) =>
      withRoom(maxBytes, async () =>
        toStreamInfo(await this.#asked(({ streams }) => streams.add({ ...config, max_bytes }))),
      );
    for (let bytes = maxBytes; ; bytes = Math.floor(bytes / 2)) {
      try {
        return await create(bytes);
      } catch (error) {
        if (!(error instanceof StreamTooLarge) || bytes / 2 < LEAST_STREAM_BYTES) throw error;
      }
    }
  }

  async #change(subjects: string[], info: NatsStreamInfo, maxBytes: number): Promise<StreamInfo> {
    const { config, state } = info;
    const wanted = Math.max(maxBytes, Math.min(config.max_bytes, state.bytes));
    try {
      return await this.#update(subjects, info, wanted);
    } catch (error) {
      if (!(error instanceof StreamTooLarge) || wanted <= config.max_bytes) throw error;
      return this.#update(subjects, info, config.max_bytes);
    }
  }

  async #update(subjects: string[], info: NatsStreamInfo, maxBytes: number): Promise<StreamInfo> {
    const { config } = info;
    const replicas = replicasAt(this.#bus.connection);
    const isRight =
      config.max_bytes === maxBytes &&
      config.num_replicas === replicas &&
      config.max_msg_size === COMMON.max_msg_size &&
      config.duplicate_window === COMMON.duplicate_window &&
      config.subjects.join() === subjects.join();
    if (isRight) return toStreamInfo(info);
    const change = {
      subjects,
      max_bytes: maxBytes,
      max_msg_size: COMMON.max_msg_size,
      duplicate_window: COMMON.duplicate_window,
      num_replicas: replicas,
    };
    return withRoom(maxBytes, async () =>
      toStreamInfo(await this.#asked(({ streams }) => streams.update(config.name, change))),
    );
  }

  /** The state of a stream; null when there is no such stream. */
  async #info(name: string): Promise<NatsStreamInfo | null> {
    try {
      return await this.#asked(({ streams }) => streams.info(name));
    } catch (error) {
      if (jetStreamCode(error) === STREAM_NOT_FOUND) return null;
      throw error;
    }
  }

  /**
   * Sends JetStream a request. The promise rejects as soon as the
   * connection is lost, without waiting for the client's time-out.
   */
  #asked<T>(ask: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    return this.#bus.unlessLost(async () => {
      this.#manager ??= await jetStreamManager(this.#bus.connection);
      return ask(this.#manager);
    });
  }
}

/** Translates the failures of creating or changing a stream that an operator can act on. */
async function withRoom(maxBytes: number, change: () => Promise<StreamInfo>): Promise<StreamInfo> {
  try {
    return await change();
  } catch (error) {
    const code = jetStreamCode(error);
    if (code === STORAGE_EXCEEDED || code === ACCOUNT_STORAGE_EXCEEDED) {
      throw new StreamTooLarge(maxBytes, { cause: error });
    }
    if (code === TOO_FEW_PEERS) throw new TooFewServers({ cause: error });
    throw error;
  }
}

function jetStreamCode(error: unknown): number | null {
  return error instanceof NatsError ? (error.api_error?.err_code ?? null) : null;
}

function toStreamInfo({ created, config, state }: NatsStreamInfo): StreamInfo {
  return {
    created,
    firstSequence: state.first_seq,
    lastSequence: state.last_seq,
    bytes: state.bytes,
    maxBytes: config.max_bytes,
  };
}

import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import {
  type ConnectionOptions,
  connect,
  createInbox,
  ErrorCode,
  Events,
  headers,
  type NatsConnection,
  NatsError,
  RequestStrategy,
  type StreamInfo,
} from 'nats';
import { SvcError } from '../errors.ts';
import { isNoResponders } from './headers.ts';
import { type BusParts, connectionOptionsOf, explainedFailure } from './nats-bus.ts';
import { jetStreamManager } from './stream-reading.ts';

/** Maximum time for one answer of the server, ms. */
const ANSWER_MS = 5_000;
/** Shortest time-out of a handshake, which may be with a server on another continent, ms. */
const LEAST_MS = 1_600;

export type TrialParts = Omit<BusParts, 'log'> & {
  /**
   * Whether any certificate is accepted. Set this only to ask a server on this machine whether it knows a
   * key. No secret is sent to that server.
   */
  readonly trustsAnyServer?: boolean;
  /** The address (`host:port`) of the only server of the URL that is tried. */
  readonly server?: string;
};

/**
 * How a subject's stream answers a message that it must refuse. `reached`: it answered. `refused`: the server
 * forbids the key to publish on the subject. `unanswered`: there is no stream, or it does not answer; a client
 * of another account cannot tell which.
 */
export type StreamAnswer = 'reached' | 'refused' | 'unanswered';

/**
 * One connection that tries out what the key of the settings may do, for the command line. It does not
 * reconnect. Callers must send only messages that no stream stores and no part of svc reads.
 */
export class NatsTrial {
  readonly #connection: NatsConnection;
  readonly #inboxPrefix: string | undefined;
  /** Subjects that the server refused, as `publish svc.jobs.hosta-fra`. */
  readonly #refused = new Set<string>();

  private constructor(connection: NatsConnection, inboxPrefix: string | undefined) {
    this.#connection = connection;
    this.#inboxPrefix = inboxPrefix;
    void this.#watch();
  }

  /**
   * Connects once to each server until one accepts the connection, or to the given one.
   *
   * @throws SvcError `nats-refused` (the server knows no
   *   such key) or `nats-unreachable`; the message says why
   */
  static async open(parts: TrialParts): Promise<NatsTrial> {
    const usual = connectionOptionsOf(parts);
    const options: ConnectionOptions = {
      ...usual,
      waitOnFirstConnect: false,
      reconnect: false,
      ignoreAuthErrorAbort: false,
      // This maximum applies to each server, because the servers are tried one after the other.
      timeout: Math.max(LEAST_MS, ANSWER_MS / (parts.server === undefined ? parts.url.split(',').length : 1)),
      ...(parts.server === undefined ? {} : { servers: [parts.server] }),
      ...(parts.trustsAnyServer === true ? { tls: ANY_SERVER } : {}),
    };
    try {
      return new NatsTrial(await connect(options), parts.inboxPrefix);
    } catch (error) {
      const isRefused = error instanceof NatsError && error.code === ErrorCode.AuthorizationViolation;
      throw new SvcError(isRefused ? 'nats-refused' : 'nats-unreachable', explainedFailure(error), {
        cause: error,
      });
    }
  }

  /** The server's version and id, and whether the connection is encrypted, JetStream is there, and others form a cluster with it. */
  get server(): {
    version: string;
    id: string;
    hasJetStream: boolean;
    isEncrypted: boolean;
    isInCluster: boolean;
  } {
    const { info } = this.#connection;
    return {
      version: info?.version ?? '',
      id: info?.server_id ?? '',
      hasJetStream: info?.jetstream === true,
      isEncrypted: info?.tls_required === true,
      isInCluster: info?.cluster !== undefined,
    };
  }

  /**
   * Time of one round trip, ms.
   *
   * @throws SvcError `nats-unreachable` when the server does not answer
   */
  async roundTripMs(): Promise<number> {
    return await answered(this.#connection.rtt());
  }

  /**
   * Whether the server lets this key publish on the subject. If so, `payload` is sent.
   *
   * @throws SvcError `nats-unreachable` when the server does not answer
   */
  async mayPublish(subject: string, payload = ''): Promise<boolean> {
    this.#connection.publish(subject, payload);
    await this.#answered();
    return !this.#refused.has(`publish ${subject}`);
  }

  /**
   * Sends `payload`, and returns whether a stream or a subscriber gets messages of the subject. The server
   * answers at once if there is none.
   *
   * @throws SvcError `nats-unreachable` when the server does not answer
   */
  async hasReceiver(subject: string, payload: string): Promise<boolean> {
    let isReceived = true;
    const reply = createInbox(this.#inboxPrefix);
    const answers = this.#connection.subscribe(reply, {
      callback: (_error, message) => {
        if (isNoResponders(message)) isReceived = false;
      },
    });
    this.#connection.publish(subject, payload, { reply });
    await this.#answered();
    answers.unsubscribe();
    return isReceived;
  }

  /**
   * Whether the server lets this key subscribe to the subject. The subscription ends in the same packet in
   * which it begins, so it takes no message away from others.
   *
   * @throws SvcError `nats-unreachable` when the server does not answer
   */
  async maySubscribe(subject: string, queue?: string): Promise<boolean> {
    let isRefused = false;
    const subscription = this.#connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error) => {
        if (error !== null) isRefused = true;
      },
    });
    subscription.unsubscribe();
    await this.#answered();
    return !isRefused && !this.#refused.has(`subscription ${subject}`);
  }

  /** Sends a message that the stream of the subject must refuse, and returns how it answers. */
  async streamAnswer(subject: string): Promise<StreamAnswer> {
    const conditions = headers();
    conditions.set('Nats-Expected-Stream', 'svc-doctor-expects-no-such-stream');
    try {
      await this.#connection.request(subject, '', { headers: conditions, timeout: ANSWER_MS });
      return 'reached';
    } catch (error) {
      await setImmediate();
      if (this.#refused.has(`publish ${subject}`)) return 'refused';
      if (!(error instanceof NatsError)) throw error;
      return error.code === ErrorCode.PermissionsViolation ? 'refused' : 'unanswered';
    }
  }

  /**
   * The answers of the cluster's servers that arrive before a short silence, as texts. The list is empty when
   * the server refuses the question, or when no server answers.
   */
  async askAll(subject: string, payload: object): Promise<string[]> {
    const answers: string[] = [];
    try {
      const found = await this.#connection.requestMany(subject, JSON.stringify(payload), {
        maxWait: ANSWER_MS,
        // After this silence, all servers count as having answered.
        jitter: 300,
        strategy: RequestStrategy.JitterTimer,
      });
      for await (const message of found) answers.push(message.string());
    } catch (error) {
      if (!(error instanceof NatsError)) throw error;
    }
    return answers;
  }

  /**
   * The names of all streams of the account, and of those that lack a current copy: a server is away, or has not
   * fetched yet what it lacks. A stream that does not answer is one of these. Null when the servers do not say
   * which streams there are.
   */
  async copies(): Promise<{
    readonly all: readonly string[];
    readonly incomplete: readonly string[];
  } | null> {
    try {
      const { streams } = await jetStreamManager(this.#connection);
      const all: string[] = [];
      for await (const name of streams.names()) all.push(name);
      const infos = await Promise.all(all.map((name) => streams.info(name).catch(() => null)));
      const incomplete = all.filter((_, index) => !isComplete(infos[index] ?? null));
      return { all, incomplete };
    } catch (error) {
      if (!(error instanceof NatsError)) throw error;
      return null;
    }
  }

  /** Resolves when the server has checked all that was sent, and its refusals have been read. */
  async #answered(): Promise<void> {
    await answered(this.#connection.flush());
    await setImmediate();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #watch(): Promise<void> {
    for await (const { type, permissionContext } of this.#connection.status()) {
      if (type !== Events.Error || permissionContext === undefined) continue;
      this.#refused.add(`${permissionContext.operation} ${permissionContext.subject}`);
    }
  }
}

function isComplete(info: StreamInfo | null): boolean {
  const { leader, replicas = [] } = info?.cluster ?? {};
  return (
    info !== null &&
    leader !== undefined &&
    1 + replicas.filter(({ current, offline }) => current && offline !== true).length >=
      info.config.num_replicas
  );
}

/**
 * Limits the wait for an answer. The client itself would wait for ever for a hanging server, because it
 * settles none of its promises when it gives up the connection.
 */
async function answered<T>(answer: Promise<T>): Promise<T> {
  const bound = new AbortController();
  const tooLate = delay(ANSWER_MS, undefined, { signal: bound.signal }).then((): never => {
    throw new SvcError('nats-unreachable', `no answer within ${ANSWER_MS / 1_000} s`);
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    bound.abort();
  }
}

/** The client's type does not have this option, but the client passes it on to Node's TLS socket. */
const ANY_SERVER = { rejectUnauthorized: false } as NonNullable<ConnectionOptions['tls']>;

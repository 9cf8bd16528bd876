import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  ErrorCode,
  headers,
  type Msg,
  type NatsConnection,
  NatsError,
  nkeyAuthenticator,
  type Subscription,
} from 'nats';
import { messageOf, SvcError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { MAX_AGENT_MESSAGE_BYTES } from '../messages/heartbeat.ts';
import type { Region } from '../regions.ts';
import type { Secret } from '../secret.ts';
import type {
  Bus,
  BusMessage,
  BusSubscription,
  HeartbeatReading,
  PublishOptions,
  StreamMessage,
  SubscribeOptions,
} from './bus.ts';
import { headerBytes, isNoResponders } from './headers.ts';
import { readHeartbeats, removeOtherHeartbeats } from './heartbeat-stream.ts';
import { ReadAhead } from './read-ahead.ts';
import { type NatsServers, parseNatsServers, shownServers } from './servers.ts';

/**
 * There is no connection, or it was lost before the server
 * answered. `publish` throws this error only when nothing was sent.
 */
export class BusDisconnected extends SvcError {
  readonly retryable = true;

  constructor() {
    super('bus-disconnected', 'not connected to NATS');
  }
}

export type BusParts = {
  /**
   * Addresses `tls://host:port`, `nats://host:port` or `host:port`, separated by commas. With `tls://` there
   * is no connection without TLS, whatever the server or a proxy in front of it says. Credentials in the URL
   * are passed on.
   */
  url: string;
  /** Name of the connection in the server's list of connections. */
  name: string;
  log: Logger;
  /**
   * Prefix of the subjects of answers. With one account for each region it is `_INBOX_<region>`. Default
   * `_INBOX`.
   */
  inboxPrefix?: string;
  /** Path of a `.creds` file. */
  credentialsFile?: string;
  /** An nkey seed (`SU…`). */
  nkeySeed?: Secret;
  /** The CA certificate: its path, or its PEM text. With a CA certificate, TLS is required. */
  ca?: string;
};

/**
 * Connects to NATS and keeps connecting: it waits for a server that is not up yet, and reconnects for ever.
 *
 * The options follow measurements against servers 2.9 to 2.15. A dead connection is noticed when two pings in
 * a row had no answer, 20 to 30 s after it died. The client tries to reconnect every 0.5 to 1 s (with TLS:
 * 0.5 to 1.5 s). An authentication error does not end the client, because the operator may be replacing keys.
 */
export async function connectBus(parts: BusParts): Promise<NatsBus> {
  const connectionOptions = connectionOptionsOf(parts);
  const connected = explainWaiting(connectionOptions, shownServers(parseNatsServers(parts.url)), parts.log);
  try {
    return new NatsBus(await connect(connectionOptions), connectionOptions, parts.log);
  } finally {
    connected();
  }
}

/** The options of a connection, for this module and `trial.ts`. */
export function connectionOptionsOf(parts: Omit<BusParts, 'log'>): ConnectionOptions {
  const servers = parseNatsServers(parts.url);
  const connectionOptions: ConnectionOptions = {
    servers: [...servers.addresses],
    name: parts.name,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: 500,
    reconnectJitter: 500,
    reconnectJitterTLS: 1_000,
    pingInterval: 10_000,
    maxPingOut: 2,
    timeout: 5_000,
    ignoreAuthErrorAbort: true,
    ...(parts.inboxPrefix === undefined ? {} : { inboxPrefix: parts.inboxPrefix }),
    ...tlsOf(servers, parts.ca),
    ...credentialsOf(servers),
  };
  const authenticator = authenticatorOf(parts);
  if (authenticator !== null) connectionOptions.authenticator = authenticator;
  return connectionOptions;
}

/** Time after which a missing first connection is explained in the log, ms. */
const EXPLAIN_AFTER_MS = 1_000;
/** Interval of further explanations, ms. */
const EXPLAIN_EVERY_MS = 30_000;

/**
 * Logs why the first connection is still missing, because the client waits for it in
 * silence. To learn the reason, this function tries a second connection from time to time.
 *
 * @returns a function to call when the wait is over
 */
function explainWaiting(connectionOptions: ConnectionOptions, servers: string, log: Logger): () => void {
  let isOver = false;
  let hasExplained = false;
  const explain = async (): Promise<void> => {
    try {
      const other = await connect({ ...connectionOptions, waitOnFirstConnect: false, reconnect: false });
      await other.close();
    } catch (error) {
      if (isOver) return;
      hasExplained = true;
      log.warn({ servers, error: explainedFailure(error) }, 'waiting for NATS');
    }
    if (!isOver) timer = setTimeout(() => void explain(), EXPLAIN_EVERY_MS).unref();
  };
  let timer = setTimeout(() => void explain(), EXPLAIN_AFTER_MS).unref();
  return () => {
    isOver = true;
    clearTimeout(timer);
    if (hasExplained) log.info({ event: 'recovered' }, 'connected to NATS');
  };
}

/** Why a connection failed, for people. */
export function explainedFailure(error: unknown): string {
  if (error instanceof NatsError && error.code === ErrorCode.ServerOptionNotAvailable) {
    return 'the server does not offer TLS, or a proxy in between removes it; a tls:// URL needs TLS';
  }
  return messageOf(error);
}

/**
 * The TLS options of the client; none if TLS is not required. With `tls` set it connects and reconnects only
 * over TLS.
 */
function tlsOf({ hosts, requiresTls }: NatsServers, ca: string | undefined): Pick<ConnectionOptions, 'tls'> {
  if (!requiresTls && ca === undefined) return {};
  const tls = {
    ...authorityOf(ca),
    // The client passes no host when it dials an address, and Node would then check for "localhost".
    checkServerIdentity: (_host: string, certificate: PeerCertificate) => identityProblem(hosts, certificate),
  };
  return { tls };
}

function authorityOf(ca: string | undefined): { ca?: string; caFile?: string } {
  if (ca === undefined) return {};
  return ca.trimStart().startsWith('-----BEGIN CERTIFICATE-----') ? { ca } : { caFile: ca };
}

/** Why the certificate is valid for none of the named servers; undefined when it is valid for one of them. */
function identityProblem(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const problems = hosts.map((host) => checkServerIdentity(host, certificate));
  return problems.includes(undefined) ? undefined : problems[0];
}

function credentialsOf({ credentials }: NatsServers): Pick<ConnectionOptions, 'user' | 'pass' | 'token'> {
  if (credentials === null) return {};
  if ('token' in credentials) return { token: credentials.token };
  return { user: credentials.user, pass: credentials.password };
}

function authenticatorOf(parts: Pick<BusParts, 'credentialsFile' | 'nkeySeed'>): Authenticator | null {
  const text = new TextEncoder();
  if (parts.credentialsFile !== undefined) return credsAuthenticator(readFileSync(parts.credentialsFile));
  if (parts.nkeySeed !== undefined) return nkeyAuthenticator(text.encode(parts.nkeySeed.reveal()));
  return null;
}

/**
 * Whether the client gave up a request because its connection was lost.
 * The client usually gives up its requests before it reports the loss.
 */
function isLoss(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.Disconnect;
}

/** {@link Bus} over one NATS connection. Made by {@link connectBus}. */
export class NatsBus implements Bus {
  /** For `heartbeat-stream.ts`, `result-streams.ts` and `stream-reading.ts` only. */
  readonly connection: NatsConnection;
  /** For `stream-reading.ts` only. */
  readonly readAhead = new ReadAhead();
  readonly #options: ConnectionOptions;
  readonly #log: Logger;
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  /**
   * For each request that waits for an answer: the function
   * that rejects it, called when the connection is lost.
   */
  readonly #asked = new Set<(reason: unknown) => void>();
  #isConnected = true;

  /** @param options the options with which `connection` was made */
  constructor(connection: NatsConnection, options: ConnectionOptions, log: Logger) {
    this.connection = connection;
    this.#options = options;
    this.#log = log;
    this.#checkPayload();
    void this.#watch();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  publish(subject: string, data: Uint8Array | string, options: PublishOptions = {}): void {
    if (!this.#isConnected) throw new BusDisconnected();
    const { reply, messageId } = options;
    if (reply === undefined && messageId === undefined) {
      this.connection.publish(subject, data);
      return;
    }
    const messageHeaders = messageId === undefined ? undefined : headers();
    messageHeaders?.set('Nats-Msg-Id', messageId ?? '');
    this.connection.publish(subject, data, {
      ...(reply === undefined ? {} : { reply }),
      ...(messageHeaders === undefined ? {} : { headers: messageHeaders }),
    });
  }

  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options: SubscribeOptions = {},
  ): BusSubscription {
    const subscription = this.connection.subscribe(subject, {
      ...options,
      callback: guardedHandler(subject, handler, this.#log),
    });
    return { close: () => subscription.unsubscribe(), drain: () => this.#drain(subscription) };
  }

  expectRegions(regions: number): void {
    this.readAhead.expectRegions(regions);
  }

  readHeartbeats(
    region: Region,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
    isAnew?: boolean,
  ): Promise<HeartbeatReading> {
    return readHeartbeats(this, region, handler, onEnd, isAnew);
  }

  removeOtherHeartbeats(regions: readonly Region[]): Promise<Region[]> {
    return removeOtherHeartbeats(this, regions);
  }

  async #drain(subscription: Subscription): Promise<void> {
    if (subscription.isClosed()) return;
    try {
      if (this.#isConnected) await this.unlessLost(() => subscription.drain());
    } catch (error) {
      this.#log.debug({ error: messageOf(error) }, 'draining a NATS subscription was cut short');
    }
    subscription.unsubscribe();
  }

  flush(): Promise<void> {
    return this.unlessLost(() => this.connection.flush());
  }

  /**
   * Sends a request with `ask`, and resolves with the server's answer. Only
   * `heartbeat-stream.ts`, `result-streams.ts`, `stream-reading.ts` and this file may call it.
   *
   * @throws BusDisconnected without a connection, and as soon as it is lost,
   *   because the client would wait for an answer that can no longer come
   */
  async unlessLost<T>(ask: () => Promise<T>): Promise<T> {
    if (!this.#isConnected) throw new BusDisconnected();
    // Promise.race with one long-lived promise would keep a reaction for every request ever sent.
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#asked.add(reject);
    ask().then(resolve, (error: unknown) => reject(isLoss(error) ? new BusDisconnected() : error));
    try {
      return await promise;
    } finally {
      this.#asked.delete(reject);
    }
  }

  inbox(): string {
    return `${this.#options.inboxPrefix ?? '_INBOX'}.${randomUUID().replaceAll('-', '')}`;
  }

  onConnection(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.connection.isClosed()) return;
    try {
      // Draining waits for the server. Without a connection there is nothing to drain.
      await (this.#isConnected ? this.connection.drain() : this.connection.close());
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'closing the NATS connection failed');
    }
    await this.connection.closed();
  }

  async #watch(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') this.#change(false);
      else if (status.type === 'reconnect') this.#change(true);
      else if (status.type === 'error')
        this.#log.error({ error: String(status.data) }, 'NATS reported an error');
    }
    this.#change(false);
  }

  /**
   * Logs an error when the server refuses messages of the size that svc sends. A server
   * accepts 1 MB by default. Under a smaller maximum, larger messages are refused for ever.
   */
  #checkPayload(): void {
    const maxPayload = this.connection.info?.max_payload ?? 0;
    const needed = MAX_AGENT_MESSAGE_BYTES;
    if (maxPayload >= needed) return;
    this.#log.error(
      { maxPayload, needed },
      'the NATS server refuses messages of the size that svc sends, so checks are not run and results are lost: raise max_payload to 1MB',
    );
  }

  #change(isConnected: boolean): void {
    if (this.#isConnected === isConnected) return;
    this.#isConnected = isConnected;
    if (isConnected) {
      this.#log.info({ event: 'recovered', server: this.connection.getServer() }, 'connected to NATS again');
      this.#checkPayload();
    } else {
      for (const reject of this.#asked) reject(new BusDisconnected());
      if (!this.connection.isClosed()) this.#log.warn('lost the connection to NATS');
    }
    for (const listener of this.#listeners) listener(isConnected);
  }
}

/**
 * Makes a callback for the NATS client that catches every failure of `handler`: it logs the failure and drops
 * the message.
 */
function guardedHandler(
  subject: string,
  handler: (message: BusMessage) => void,
  log: Logger,
): (error: NatsError | null, message: Msg) => void {
  return (error, message) => {
    if (error) {
      log.error({ subject, error: messageOf(error) }, 'NATS subscription failed');
      return;
    }
    try {
      handler(toBusMessage(message));
    } catch (failure) {
      log.error({ subject, error: failure }, 'handling a NATS message failed; the message is dropped');
    }
  };
}

function toBusMessage(message: Msg): BusMessage {
  return {
    subject: message.subject,
    data: message.data,
    reply: message.reply ?? '',
    bytes: message.data.length + headerBytes(message),
    isNoResponders: isNoResponders(message),
  };
}

import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { isLoopbackHost } from '../network/own-addresses.ts';
import { type DnsMessage, decodeMessage, encodeQuery } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import type { ServerAddress } from './servers.ts';

/**
 * How long first queries to a server have no EDNS after the server failed on EDNS, ms. A
 * server that answered a query with EDNS within this time does not count as failing on EDNS.
 */
const PLAIN_MS = 600_000;
/** Interval between two tests of a silent server, ms. */
const RETRIAL_MS = 30_000;

/**
 * A DNS server, and what a client remembers about it between questions:
 * whether it answers at all, and whether it answers queries with EDNS.
 *
 * Without this memory, a dead first server would cost every check
 * half a second. So would an old server that drops queries with EDNS.
 */
export class KnownServer {
  readonly address: ServerAddress;
  readonly udp: UdpServer;
  readonly #now: () => number;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #answeredEdnsAt = Number.NEGATIVE_INFINITY;
  #plainUntil = Number.NEGATIVE_INFINITY;
  /**
   * When the silent server is tested next, ms on the clock `now`; infinity while the server is not silent.
   */
  #retrialAt = Number.POSITIVE_INFINITY;

  /** @param now a monotonic clock, ms */
  constructor(address: ServerAddress, now: () => number) {
    this.address = address;
    this.udp = new UdpServer(address, now);
    this.#now = now;
  }

  /**
   * Whether this server is silent: another server answered a question that this
   * server had left unanswered, and this server has answered nothing since.
   */
  get isSilent(): boolean {
    return this.#retrialAt !== Number.POSITIVE_INFINITY;
  }

  /**
   * Returns true when the server is silent and is due to be
   * tested. The next test is then due after {@link RETRIAL_MS}.
   */
  takeRetrial(): boolean {
    if (this.#now() < this.#retrialAt) return false;
    this.#retrialAt = this.#now() + RETRIAL_MS;
    return true;
  }

  /** Whether the first query of a question has EDNS when it goes to this server. */
  get takesEdns(): boolean {
    return this.#now() >= this.#plainUntil;
  }

  /** Records that the server has answered a question. */
  recordReply(): void {
    this.#answeredAt = this.#now();
    this.#retrialAt = Number.POSITIVE_INFINITY;
  }

  /** Records that the server answered a query with EDNS. */
  answeredEdns(): void {
    this.#answeredEdnsAt = this.#now();
    this.#plainUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * Records that the server answered a query without EDNS after it had failed to answer
   * one with EDNS: it sent nothing, or FORMERR, SERVFAIL or NOTIMP. The record has no
   * effect when the server answered a query with EDNS within the last ten minutes, because
   * a datagram is lost now and then, and a slow look-up may succeed at its second try.
   */
  answeredPlainOnly(): void {
    if (this.#now() - this.#answeredEdnsAt > PLAIN_MS) this.#plainUntil = this.#now() + PLAIN_MS;
  }

  /**
   * Records that another server answered a question that this server was asked too.
   * This server now counts as silent, unless it has answered a question since `sentAt`.
   *
   * @param sentAt when this server was first asked that question, ms on the clock `now`
   */
  leftUnanswered(sentAt: number): void {
    if (this.#answeredAt < sentAt && !this.isSilent) this.#retrialAt = this.#now() + RETRIAL_MS;
  }
}

/**
 * Number of source ports for new queries to a server. Each query takes one of them at random.
 */
const PORTS = 4;
/** A port is replaced after this number of queries, or after {@link PORT_LIFE_MS}. */
const QUERIES_PER_PORT = 512;
const PORT_LIFE_MS = 30_000;
/**
 * Maximum number of replaced ports that still wait for answers.
 * When there are so many, no further port is replaced.
 */
const MAX_RETIRED = 32;
/**
 * Maximum number of pending queries on one port. Further queries fail with `EBUSY`. Up
 * to this number, most ids are free, so a random id is usually free at the first draw.
 */
const MAX_PENDING_PER_PORT = 16_384;

/**
 * Sends queries to one server over UDP.
 *
 * The sockets are connected, so the kernel drops datagrams from any other address, and
 * reports when nothing listens at the server's port. Four sockets with random ports serve all
 * queries, and are replaced often. Decision 0030 compares this with one socket per query.
 */
class UdpServer {
  readonly #address: ServerAddress;
  readonly #now: () => number;
  readonly #ports: (Port | undefined)[] = new Array<undefined>(PORTS).fill(undefined);
  readonly #retired = new Set<Port>();

  /** @param now a monotonic clock, ms */
  constructor(address: ServerAddress, now: () => number) {
    this.#address = address;
    this.#now = now;
  }

  /**
   * Sends a query.
   *
   * @param notBefore the query leaves from a port that was not opened before this instant, if one can be opened, ms
   *   on the clock `now`
   */
  send(query: Query, notBefore = Number.NEGATIVE_INFINITY): Cancel {
    return this.#pick(notBefore).send(query);
  }

  /** Closes the sockets. Pending queries fail with `ECANCELLED`. */
  async close(): Promise<void> {
    const open = [...this.#ports, ...this.#retired].filter((port) => port !== undefined);
    this.#ports.fill(undefined);
    this.#retired.clear();
    await Promise.all(open.map((port) => port.close()));
  }

  #pick(notBefore: number): Port {
    const index = randomInt(PORTS);
    const current = this.#ports[index];
    const isUsable = current?.isOpen && !current.isWorn && current.openedAt >= notBefore;
    if (current?.isOpen && (isUsable || this.#retired.size >= MAX_RETIRED)) return current;
    if (current !== undefined) this.#retire(current);
    const fresh = new Port(this.#address, this.#now);
    this.#ports[index] = fresh;
    return fresh;
  }

  #retire(port: Port): void {
    this.#retired.add(port);
    port.closeWhenIdle(() => this.#retired.delete(port));
  }
}

type Pending = {
  /**
   * Undefined once the query has ended. A growing `Map` replaces its internal
   * table, and the old table may live until the next full garbage collection.
   * It would keep the attempt alive through this member (decision 0020).
   */
  query: Query | undefined;
  readonly packet: Buffer;
};

/** One connected socket and the queries that wait for an answer on it. */
class Port {
  readonly #host: string;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #now: () => number;
  /** Ms on the clock `now`. */
  readonly openedAt: number;
  readonly #closed = Promise.withResolvers<void>();
  #sent = 0;
  #isConnected = false;
  #onIdle: (() => void) | undefined;
  isOpen = true;

  constructor({ host, port }: ServerAddress, now: () => number) {
    this.#host = host;
    this.#now = now;
    this.openedAt = now();
    this.#socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    this.#socket.on('message', (data) => this.#received(data));
    this.#socket.on('error', this.#failed);
    this.#socket.on('connect', () => this.#connected());
    this.#socket.on('close', () => this.#closed.resolve());
    this.#socket.connect(port, host);
  }

  get isWorn(): boolean {
    return this.#sent >= QUERIES_PER_PORT || this.#now() - this.openedAt > PORT_LIFE_MS;
  }

  send(query: Query): Cancel {
    if (this.#pending.size >= MAX_PENDING_PER_PORT) {
      process.nextTick(query.failed, 'EBUSY');
      return () => {};
    }
    let id = randomInt(0x1_0000);
    while (this.#pending.has(id)) id = randomInt(0x1_0000);
    const packet = encodeQuery(id, query.question, query.withEdns);
    this.#pending.set(id, { query, packet });
    this.#sent += 1;
    if (this.#isConnected) this.#socket.send(packet, this.#sendDone);
    return () => {
      if (this.#pending.get(id)?.query === query) this.#endQuery(id);
    };
  }

  closeWhenIdle(closed: () => void): void {
    this.#onIdle = () => {
      closed();
      void this.close();
    };
    if (this.#pending.size === 0) this.#onIdle();
  }

  close(): Promise<void> {
    if (this.isOpen) {
      this.isOpen = false;
      this.#socket.close();
      this.#failAll('ECANCELLED');
    }
    return this.#closed.promise;
  }

  #connected(): void {
    if (this.#leavesFromLoopback()) {
      this.#failed({ code: 'EADDRNOTAVAIL' });
      return;
    }
    this.#isConnected = true;
    for (const { packet } of this.#pending.values()) this.#socket.send(packet, this.#sendDone);
  }

  /**
   * Whether no answer can arrive, because the socket sends from `::1` to another machine. The kernel
   * chooses `::1` while this machine's IPv6 address is tentative, and the socket would keep it.
   */
  #leavesFromLoopback(): boolean {
    return !isLoopbackHost(this.#host) && this.#socket.address().address === '::1';
  }

  #received(data: Buffer): void {
    if (data.length < 2) return;
    const id = data.readUInt16BE(0);
    const query = this.#pending.get(id)?.query;
    if (query === undefined) return;
    const message = decodeOrNull(data);
    if (message === null || !isAnswerTo(message, query.question)) {
      query.garbage();
      return;
    }
    this.#endQuery(id);
    query.answered(message);
  }

  /**
   * Handles an error of the socket: an ICMP error, a missing route, or a lack of ports or
   * descriptors. All queries on this port fail, because the error concerns each of them.
   */
  readonly #failed = ({ code = 'EUNKNOWN' }: Pick<NodeJS.ErrnoException, 'code'>): void => {
    if (!this.isOpen) {
      // A socket that could not be bound does not emit `close`.
      this.#closed.resolve();
    } else {
      // The port is closed before the queries fail. Otherwise
      // a caller that asks again at once would get this port.
      this.isOpen = false;
      this.#socket.close();
    }
    this.#failAll(code);
  };

  /**
   * Handles the result of a send. Without a callback, Node would drop
   * the error. It may be an ICMP error that an earlier query caused.
   */
  readonly #sendDone = (error: NodeJS.ErrnoException | null): void => {
    if (error !== null && this.isOpen) this.#failed(error);
  };

  #failAll(code: string): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of all) {
      const { query } = pending;
      pending.query = undefined;
      query?.failed(code);
    }
    this.#checkIdle();
  }

  /** Removes a query and frees its id. Later messages with this id do not reach the query. */
  #endQuery(id: number): void {
    const pending = this.#pending.get(id);
    if (pending !== undefined) pending.query = undefined;
    this.#pending.delete(id);
    this.#checkIdle();
  }

  #checkIdle(): void {
    if (this.#pending.size > 0 || this.#onIdle === undefined) return;
    const onIdle = this.#onIdle;
    this.#onIdle = undefined;
    onIdle();
  }
}

function decodeOrNull(data: Uint8Array): DnsMessage | null {
  try {
    return decodeMessage(data);
  } catch {
    // The bytes are not a DNS message. The query counts them as garbage.
    return null;
  }
}

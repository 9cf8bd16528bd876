import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { isLoopbackHost } from '../network/own-addresses.ts';
import { type DnsMessage, decodeMessage, encodeQuery } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import type { ServerAddress } from './servers.ts';

/** How long a server is asked without EDNS before EDNS is tried again, ms. */
const PLAIN_MS = 600_000;
/** Interval between two tests of a silent server, ms. */
const RETRIAL_MS = 30_000;

/**
 * What a client remembers of one server between questions: whether it answers at all, and whether it answers
 * queries with EDNS.
 *
 * Without this memory, a dead first server would cost every check half a second, and so would an old server
 * that drops queries with EDNS. Times are ms on `now`'s clock.
 */
export class KnownServer {
  readonly address: ServerAddress;
  readonly udp: UdpServer;
  readonly #now: () => number;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #answeredEdnsAt = Number.NEGATIVE_INFINITY;
  #plainUntil = Number.NEGATIVE_INFINITY;
  /** When the silent server is tested next; infinity while the server answers. */
  #retrialAt = Number.POSITIVE_INFINITY;

  /** @param now a monotonic clock, ms */
  constructor(address: ServerAddress, now: () => number) {
    this.address = address;
    this.udp = new UdpServer(address);
    this.#now = now;
  }

  /**
   * Whether this server left a question unanswered that another server answered, and has sent nothing since.
   */
  get isSilent(): boolean {
    return this.#retrialAt !== Number.POSITIVE_INFINITY;
  }

  /** Whether a silent server is due to be tested; true once per interval. */
  takeRetrial(): boolean {
    if (this.#now() < this.#retrialAt) return false;
    this.#retrialAt = this.#now() + RETRIAL_MS;
    return true;
  }

  /** Whether the first query to this server has EDNS. */
  get takesEdns(): boolean {
    return this.#now() >= this.#plainUntil;
  }

  /** Records that the server has sent a message, whatever it says. */
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
   * Records that the server answered a query without EDNS after a query with EDNS had got no answer or
   * SERVFAIL. The record has no effect when the server answered a query with EDNS within the last ten
   * minutes: a datagram is lost now and then, and a slow look-up may succeed at its second try.
   */
  answeredPlainOnly(): void {
    if (this.#now() - this.#answeredEdnsAt > PLAIN_MS) this.#plainUntil = this.#now() + PLAIN_MS;
  }

  /**
   * Records that another server answered a question before this one.
   *
   * @param sentAt when this server was asked that question
   */
  leftUnanswered(sentAt: number): void {
    if (this.#answeredAt < sentAt && !this.isSilent) this.#retrialAt = this.#now() + RETRIAL_MS;
  }
}

/** Source ports in use for each server at one time. Each query takes one at random. */
const PORTS = 4;
/** A port is replaced after this many queries or this long (ms), whichever comes first. */
const QUERIES_PER_PORT = 512;
const PORT_LIFE_MS = 30_000;
/**
 * Maximum number of replaced ports that still wait for answers. Beyond that number, the ports in use are kept
 * for longer.
 */
const MAX_RETIRED = 32;
/**
 * Maximum number of pending queries on one port. Below this number, a random id is
 * usually free at the first draw.
 */
const MAX_PENDING_PER_PORT = 16_384;

/**
 * Sends queries to one server over UDP.
 *
 * The sockets are connected, so the kernel drops datagrams from any other address and reports when nothing
 * listens there. A handful of sockets with random ports serves all queries and is replaced often. Decision
 * 0030 compares this with one socket per query.
 */
class UdpServer {
  readonly #address: ServerAddress;
  readonly #ports: (Port | undefined)[] = new Array<undefined>(PORTS).fill(undefined);
  readonly #retired = new Set<Port>();

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  send(query: Query): Cancel {
    return this.#pick().send(query);
  }

  /** Closes the sockets. Pending queries fail with `ECANCELLED`. */
  async close(): Promise<void> {
    const open = [...this.#ports, ...this.#retired].filter((port) => port !== undefined);
    this.#ports.fill(undefined);
    this.#retired.clear();
    await Promise.all(open.map((port) => port.close()));
  }

  #pick(): Port {
    const index = randomInt(PORTS);
    const current = this.#ports[index];
    if (current?.isOpen && (!current.isWorn || this.#retired.size >= MAX_RETIRED)) return current;
    if (current !== undefined) this.#retire(current);
    const fresh = new Port(this.#address);
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
   * Undefined once the query has ended. The tables that a growing `Map` has outgrown may live until the next
   * full garbage collection, and would keep the attempt alive through this member (decision 0020).
   */
  query: Query | undefined;
  readonly packet: Buffer;
};

/** One connected socket and the queries that wait for an answer on it. */
class Port {
  readonly #host: string;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #createdAt = performance.now();
  readonly #closed = Promise.withResolvers<void>();
  #sent = 0;
  #isConnected = false;
  #onIdle: (() => void) | undefined;
  isOpen = true;

  constructor({ host, port }: ServerAddress) {
    this.#host = host;
    this.#socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    this.#socket.on('message', (data) => this.#received(data));
    this.#socket.on('error', this.#failed);
    this.#socket.on('connect', () => this.#connected());
    this.#socket.on('close', () => this.#closed.resolve());
    this.#socket.connect(port, host);
  }

  get isWorn(): boolean {
    return this.#sent >= QUERIES_PER_PORT || performance.now() - this.#createdAt > PORT_LIFE_MS;
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
   * Whether no answer can arrive, because the socket sends from `::1` to another machine. This happens while
   * this machine's IPv6 address is tentative, and the socket would keep `::1` as its sender.
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

  /** Handles an ICMP error or a missing route. Both concern the server, so all queries on this port fail. */
  readonly #failed = ({ code = 'EUNKNOWN' }: Pick<NodeJS.ErrnoException, 'code'>): void => {
    if (!this.isOpen) {
      // A socket that could not be bound does not emit `close`.
      this.#closed.resolve();
    } else if (!this.#isConnected) {
      // The port is closed before the queries fail, because a caller that asks again at once would get this
      // port.
      this.isOpen = false;
      this.#socket.close();
    }
    this.#failAll(code);
  };

  /**
   * Handles the result of a send. Without a callback, Node drops the errors of sending, which include the
   * ICMP errors of earlier queries.
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

  /** Ends the wait of a query and frees its id. */
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

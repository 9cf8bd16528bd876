import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { type DnsMessage, decodeMessage, encodeQuery } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import type { ServerAddress } from './servers.ts';

/** Source ports in use per server at one time; each query takes one at random. */
const PORTS = 4;
/** A port is replaced by a fresh one after so many queries or so long, whichever comes first. */
const QUERIES_PER_PORT = 512;
const PORT_LIFE_MS = 30_000;
/** Replaced ports that still wait for answers; when there are so many, ports are worn on instead. */
const MAX_RETIRED = 32;
/** Keeps drawing a free id at random cheap. */
const MAX_PENDING_PER_PORT = 16_384;

/**
 * Asks one server over UDP.
 *
 * The sockets are connected: the kernel drops datagrams from any other address, and tells when nothing
 * listens there. A handful of sockets with random ports, replaced often, serves all queries; what that
 * gives up against one socket per query is in decision 0030.
 */
export class UdpServer {
  readonly #address: ServerAddress;
  readonly #ports: (Port | undefined)[] = new Array<undefined>(PORTS).fill(undefined);
  readonly #retired = new Set<Port>();

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  send(query: Query): Cancel {
    return this.#pick().send(query);
  }

  /** Pending queries fail with `ECANCELLED`. */
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

type Pending = { query: Query; packet: Buffer };

/** One connected socket and the queries that wait for an answer on it. */
class Port {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #createdAt = performance.now();
  readonly #closed = Promise.withResolvers<void>();
  #sent = 0;
  #isConnected = false;
  #onIdle: (() => void) | undefined;
  isOpen = true;

  constructor({ host, port }: ServerAddress) {
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
      if (this.#pending.get(id)?.query === query) this.#forget(id);
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
    this.#isConnected = true;
    for (const { packet } of this.#pending.values()) this.#socket.send(packet, this.#sendDone);
  }

  #received(data: Buffer): void {
    if (data.length < 2) return;
    const id = data.readUInt16BE(0);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    const message = decodeOrNull(data);
    if (message === null || !isAnswerTo(message, pending.query.question)) {
      pending.query.garbage();
      return;
    }
    this.#forget(id);
    pending.query.answered(message);
  }

  /** An ICMP error, or no route: it concerns the server, so every query on this port. */
  readonly #failed = (error: NodeJS.ErrnoException): void => {
    const { code = 'EUNKNOWN' } = error;
    if (!this.isOpen) {
      // A socket that could not even be bound forgets that it was told to close.
      this.#closed.resolve();
    } else if (!this.#isConnected) {
      // Closed before the queries are told: who asks again at once would be given this port.
      this.isOpen = false;
      this.#socket.close();
    }
    this.#failAll(code);
  };

  /** Without a callback node drops the errors of sending, among them the ICMP errors of earlier queries. */
  readonly #sendDone = (error: Error | null): void => {
    if (error !== null && this.isOpen) this.#failed(error);
  };

  #failAll(code: string): void {
    const queries = [...this.#pending.values()];
    this.#pending.clear();
    for (const { query } of queries) query.failed(code);
    this.#checkIdle();
  }

  #forget(id: number): void {
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
    // DnsFormatError: garbage is counted by the query, not raised.
    return null;
  }
}

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';

/** Wire values of the types and classes that tests need. */
const TYPE_CODES: Record<string, number> = { A: 1, NS: 2, CNAME: 5, SOA: 6, MX: 15, TXT: 16, AAAA: 28 };

export type ServedRecord = { name: string; type: string; ttl?: number; data: Buffer };

export type DnsRequest = {
  id: number;
  /** The name in lower case, without a trailing dot. */
  name: string;
  type: string;
  hasEdns: boolean;
  transport: 'udp' | 'tcp';
  fromPort: number;
  packet: Buffer;
};

/**
 * The reply of the server: an answer that the server builds,
 * given bytes (a list: several datagrams), or nothing.
 */
export type DnsResponse =
  | {
      rcode?: number;
      records?: ServedRecord[];
      isTruncated?: boolean;
      id?: number;
      questionName?: string;
      /** Whether an answer over TCP is sent one byte at a time. */
      isDripped?: boolean;
    }
  | Buffer
  | Buffer[]
  | null;

export type DnsHandler = (request: DnsRequest) => DnsResponse | Promise<DnsResponse>;

/** A DNS server on loopback, with UDP and TCP on one port. A test decides its replies. */
export class DnsTestServer {
  readonly requests: DnsRequest[] = [];
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #connections = new Set<Socket>();
  #handler: DnsHandler;

  private constructor(udp: UdpSocket, tcp: Server, handler: DnsHandler) {
    this.#udp = udp;
    this.#tcp = tcp;
    this.#handler = handler;
    udp.on('message', (packet, from) => void this.#answerUdp(packet, from));
    tcp.on('connection', (socket) => this.#serveTcp(socket));
  }

  static async start(handler: DnsHandler): Promise<DnsTestServer> {
    for (;;) {
      const udp = createSocket('udp4');
      udp.bind(0, '127.0.0.1');
      await once(udp, 'listening');
      const tcp = createServer();
      tcp.listen(udp.address().port, '127.0.0.1');
      // If the same port is in use for TCP, another port is drawn.
      const isFree = await new Promise<boolean>((resolve) => {
        tcp.once('listening', () => resolve(true));
        tcp.once('error', () => resolve(false));
      });
      if (isFree) return new DnsTestServer(udp, tcp, handler);
      udp.close();
    }
  }

  get port(): number {
    return (this.#tcp.address() as AddressInfo).port;
  }

  /** The address as an operator writes it. */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  handle(handler: DnsHandler): void {
    this.#handler = handler;
  }

  count(transport: 'udp' | 'tcp'): number {
    return this.requests.filter((request) => request.transport === transport).length;
  }

  /** Sends a datagram from this server's address to a port on loopback. */
  async sendTo(port: number, data: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#udp.send(data, port, '127.0.0.1', (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    const closed = [once(this.#udp, 'close'), once(this.#tcp, 'close')];
    this.#udp.close();
    this.#tcp.close();
    await Promise.all(closed);
  }

  async #answerUdp(packet: Buffer, from: RemoteInfo): Promise<void> {
    const request = parseRequest(packet, 'udp', from.port);
    this.requests.push(request);
    const response = await this.#handler(request);
    for (const data of datagrams(request, response)) {
      // The test may be over, and the socket closed.
      this.#udp.send(data, from.port, from.address, () => {});
    }
  }

  async #answerTcp(request: DnsRequest, socket: Socket): Promise<void> {
    const response = await this.#handler(request);
    const isDripped = response !== null && 'isDripped' in response && response.isDripped === true;
    for (const data of datagrams(request, response)) {
      const framed = Buffer.concat([uint16(data.length), data]);
      if (!isDripped) socket.write(framed);
      else {
        for (const byte of framed) {
          socket.write(Buffer.from([byte]));
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    }
  }

  #serveTcp(socket: Socket): void {
    socket.setNoDelay();
    this.#connections.add(socket);
    socket.on('close', () => this.#connections.delete(socket));
    socket.on('error', () => socket.destroy());
    let buffered = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (buffered.length < 2 || buffered.length < 2 + buffered.readUInt16BE(0)) return;
      const request = parseRequest(
        buffered.subarray(2, 2 + buffered.readUInt16BE(0)),
        'tcp',
        socket.remotePort ?? 0,
      );
      this.requests.push(request);
      void this.#answerTcp(request, socket);
    });
  }
}

export const a = (name: string, address: string): ServedRecord => ({
  name,
  type: 'A',
  data: Buffer.from(address.split('.').map(Number)),
});

/** @param groups the sixteen bytes in hexadecimal, colons ignored */
export const aaaa = (name: string, groups: string): ServedRecord => ({
  name,
  type: 'AAAA',
  data: Buffer.from(groups.replaceAll(':', ''), 'hex'),
});

export const cname = (name: string, target: string): ServedRecord => ({
  name,
  type: 'CNAME',
  data: wireName(target),
});

export const mx = (name: string, preference: number, exchange: string): ServedRecord => ({
  name,
  type: 'MX',
  data: Buffer.concat([uint16(preference), wireName(exchange)]),
});

export const txt = (name: string, ...chunks: string[]): ServedRecord => ({
  name,
  type: 'TXT',
  data: Buffer.concat(
    chunks.flatMap((chunk) => {
      const bytes = Buffer.from(chunk);
      return [Buffer.from([bytes.length]), bytes];
    }),
  ),
});

/** The bytes of a response to the request. */
export function encodeResponse(
  request: Pick<DnsRequest, 'id' | 'name' | 'type'>,
  response: Exclude<DnsResponse, Buffer | Buffer[] | null>,
): Buffer {
  const { rcode = 0, records = [], isTruncated = false } = response;
  const header = Buffer.alloc(12);
  header.writeUInt16BE(response.id ?? request.id, 0);
  header.writeUInt16BE(0x8180 | (isTruncated ? 0x0200 : 0) | rcode, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  const question = [
    wireName(response.questionName ?? request.name),
    uint16(typeCode(request.type)),
    uint16(1),
  ];
  const answers = records.flatMap(({ name, type, ttl = 60, data }) => {
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(typeCode(type), 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt32BE(ttl, 4);
    fixed.writeUInt16BE(data.length, 8);
    return [wireName(name), fixed, data];
  });
  return Buffer.concat([header, ...question, ...answers]);
}

function datagrams(request: DnsRequest, response: DnsResponse): Buffer[] {
  if (response === null) return [];
  if (Array.isArray(response)) return response;
  return [Buffer.isBuffer(response) ? response : encodeResponse(request, response)];
}

function parseRequest(packet: Buffer, transport: 'udp' | 'tcp', fromPort: number): DnsRequest {
  const labels: string[] = [];
  let at = 12;
  for (let length = packet[at++] ?? 0; length > 0; length = packet[at++] ?? 0) {
    labels.push(packet.toString('latin1', at, at + length).toLowerCase());
    at += length;
  }
  const code = packet.readUInt16BE(at);
  const type = Object.keys(TYPE_CODES).find((known) => TYPE_CODES[known] === code) ?? `TYPE${code}`;
  const hasEdns = packet.readUInt16BE(10) > 0;
  return { id: packet.readUInt16BE(0), name: labels.join('.'), type, hasEdns, transport, fromPort, packet };
}

function wireName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([
    ...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')])),
    Buffer.from([0]),
  ]);
}

function typeCode(type: string): number {
  const code = TYPE_CODES[type] ?? Number(/^TYPE(\d+)$/.exec(type)?.[1]);
  if (Number.isNaN(code)) throw new TypeError(`no DNS type ${type}`);
  return code;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/**
 * The world beyond the gateway, as a process in a network namespace of its own: a web
 * server at every address, and a name server that a story can remove. The process sends
 * `ready`, obeys messages of the form {@link Order}, and sends `done` after each message.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { a, encodeResponse, type ServedRecord } from '../dns-server.ts';

export type Order =
  /** `dead`: nothing listens any more. */
  | { readonly resolver: 'answers' | 'silent' | 'dead' }
  /** Connections to these addresses are reset; all others are answered. */
  | { readonly down: readonly string[] };

/** Names of IPv4 addresses; `six.test` has an IPv6 address only. */
export const NAMES: Readonly<Record<string, string>> = {
  'a1.test': '203.0.113.1',
  'a2.test': '203.0.113.2',
  'a3.test': '203.0.113.3',
};
export const SIX = '2001:db8::1';
/** Further addresses, without names. */
export const BY_IPV6 = ['2001:db8::2', '2001:db8::3', '2001:db8::4'];
export const RESOLVER = '203.0.113.53';

const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

let down: readonly string[] = [];
let isSilent = false;
let resolver: Socket | null = null;

async function openResolver(): Promise<void> {
  if (resolver !== null) return;
  const socket = createSocket('udp4');
  resolver = socket;
  socket.on('message', (packet, from) => {
    if (!isSilent) socket.send(answerTo(packet), from.port, from.address);
  });
  socket.on('error', () => {}); // The link to whoever asked is down.
  socket.bind(53, RESOLVER);
  await once(socket, 'listening');
}

async function obey(order: Order): Promise<void> {
  if ('down' in order) {
    ({ down } = order);
    return;
  }
  isSilent = order.resolver === 'silent';
  if (order.resolver !== 'dead') return await openResolver();
  resolver?.close();
  resolver = null;
}

function answerTo(packet: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = packet[at] ?? 0; length > 0; length = packet[at] ?? 0) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const name = labels.join('.').toLowerCase();
  const type = packet.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A';
  const address = NAMES[name];
  const records: ServedRecord[] = [];
  if (type === 'A' && address !== undefined) records.push(a(name, address));
  if (type === 'AAAA' && name === 'six.test')
    records.push({ name, type, data: Buffer.from(`20010db8${'0'.repeat(23)}1`, 'hex') });
  return encodeResponse({ id: packet.readUInt16BE(0), name, type }, { records });
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  if (down.includes(socket.localAddress?.replace('::ffff:', '') ?? '')) socket.resetAndDestroy();
  else socket.on('data', () => socket.end(RESPONSE));
});

if (process.send !== undefined) {
  process.on('disconnect', () => process.exit(0));
  process.on('message', (order: Order) => void obey(order).then(() => process.send?.('done')));
  server.listen(80, '::', () => process.send?.('ready'));
}

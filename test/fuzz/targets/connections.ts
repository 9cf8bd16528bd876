import { deepEqual, equal } from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { isHttp2 } from '@svc/agent/probes/http/http2-conversation.ts';
import { openTunnel, type TunnelEnd } from '@svc/shared/proxy/proxy.ts';
import { inPieces } from '../pieces.ts';
import { type FuzzTarget, latin1, never } from '../target.ts';

/** The meaning of a proxy's answer, and the bytes after it, which belong to the target. */
type Tunnel = { end: TunnelEnd; rest: Buffer | null };

async function opened(pieces: readonly Buffer[]): Promise<Tunnel> {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const { promise, resolve } = Promise.withResolvers<TunnelEnd>();
  // It uses only the part of a socket that every stream has.
  openTunnel(socket as unknown as Socket, { authorization: null }, { host: 'a.example', port: 443 }, resolve);
  for (const piece of pieces) socket.push(piece);
  socket.push(null);
  const end = await Promise.race([promise, ended(socket)]);
  if (end.kind !== 'open') return { end, rest: null };
  const rest: Buffer[] = [];
  for await (const chunk of socket) rest.push(chunk as Buffer);
  return { end, rest: Buffer.concat(rest) };
}

/** Unlike a socket, a stream of our own is not closed when the other side ends. */
async function ended(socket: Duplex): Promise<TunnelEnd> {
  await new Promise<void>((resolve) => socket.once('end', resolve));
  return { kind: 'broken', message: 'it closed the connection without an answer' };
}

export const PROXY_TUNNEL: FuzzTarget = {
  name: 'proxy-tunnel',
  corpus: [
    'HTTP/1.1 200 Connection established\r\n\r\n\x16\x03\x01',
    'HTTP/1.0 200 OK\r\nVia: a\r\n\r\nhello',
    'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n<html>',
    'HTTP/1.1 200\r\n\r\n',
  ].map(latin1),
  words: ['HTTP/1.1 ', '200', '503 ', '\r\n', '\r\n\r\n', '\n', '\r', '\0', 'A: b\r\n'],
  // The input comes from a stream, which takes most of the time.
  parse: () => undefined,
  isRefusal: never,
  async check(input, random) {
    const whole = await opened([input]);
    for (const pieces of inPieces(input, random)) deepEqual(await opened(pieces), whole, 'other pieces');
    if (whole.rest === null) return;
    const head = input.indexOf('\r\n\r\n');
    equal(whole.rest.compare(input.subarray(head + 4)), 0, 'what is left for the target');
  },
};

export const HTTP2_PREFACE: FuzzTarget = {
  name: 'http2-preface',
  corpus: [
    Buffer.from([0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100]),
    Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    latin1('HTTP/1.1 200 OK\r\n\r\n'),
  ],
  words: ['\x00\x00\x12\x04\x00\x00\x00\x00\x00', '\x00', '\x04', '\x07'],
  parse: isHttp2,
  isRefusal: never,
  check(input) {
    equal(isHttp2(input.subarray(0, 9)), isHttp2(input), 'another verdict with more bytes');
    if (isHttp2(input)) equal(input[0], 0, 'the first byte of no answer of HTTP/1.x');
  },
};

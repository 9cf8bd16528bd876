import { once } from 'node:events';
import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { createSecureContext, createServer as createTlsServer, TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import {
  TEST_AUTHORITY,
  type TestCertificate,
  TRUSTED,
  WRONG_HOST,
} from '../../../../../test/support/tls/certificates.ts';
import { createHttpProbe } from './probe.ts';

const LONG_MS = 15_000;
const probe = createHttpProbe({
  resolver: fixedResolver({ 'secure.test': ['127.0.0.2', '127.0.0.1'] }),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
  userAgent: 'svc/test',
  tlsOptions: { ca: [TEST_AUTHORITY] },
});
const abort = new AbortController();

const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Lets the server listen. At the end, the test closes the server with all its connections. */
async function listening(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  closing.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: string) => void;

/** A server that speaks HTTP/2 only. */
async function serve(answer: Answer, certificate: TestCertificate = TRUSTED): Promise<number> {
  const server = createSecureServer(certificate);
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
  });
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => {});
    let body = '';
    for await (const bytes of stream) body += bytes;
    answer(stream, headers, body);
  });
  closing.push(() => {
    for (const session of sessions) session.destroy();
  });
  return await listening(server);
}

const { NGHTTP2_INTERNAL_ERROR: INTERNAL_ERROR, NGHTTP2_CANCEL: CANCEL } = constants;
const { NGHTTP2_HTTP_1_1_REQUIRED: HTTP_1_1_REQUIRED } = constants;

/** A frame of HTTP/2 (RFC 9113, section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream]), payload]);
}

/** A HEADERS frame with `:status: 200` from the static table. It does not end the stream. */
const STATUS_200 = frame(1, 4, 1, Buffer.from([0x88]));
const HALF = frame(0, 0, 1, Buffer.from('half'));
const RESET = (code: number) => frame(3, 0, 1, Buffer.from([0, 0, 0, code]));

/** A HEADERS frame of status 302 with these fields, none of them indexed (RFC 7541, section 6.2.2). */
function redirectWith(...fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => Buffer.from([value.length, ...Buffer.from(value)]);
  const literals = fields.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)]));
  // 8 is the index of the name `:status` in the static table.
  return frame(1, 5, 1, Buffer.concat([Buffer.from([0x08]), text('302'), ...literals]));
}

/** A server that answers the first request with these frames and then calls `then`. */
async function serveFrames(
  frames: readonly Buffer[],
  then: (socket: TLSSocket) => void = () => {},
): Promise<number> {
  const server = createTlsServer({ ...TRUSTED, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {});
    socket.write(frame(4, 0, 0, Buffer.alloc(0)));
    let isAsked = false;
    socket.on('data', (bytes: Buffer) => {
      // The HEADERS frame of stream 1 follows the preface.
      if (isAsked || !bytes.includes(Buffer.from([1, 5, 0, 0, 0, 1]))) return;
      isAsked = true;
      socket.write(Buffer.concat(frames), () => then(socket));
    });
  });
  return await listening(server);
}

/**
 * A server in front of port `to` that resets its connections at `when`. Node cannot
 * reset connections that speak TLS.
 */
async function resetting(to: number, when: Promise<void>): Promise<number> {
  const server = createTcpServer((client) => {
    const target = connectTcp(to, '127.0.0.1', () => client.pipe(target).pipe(client));
    target.on('error', () => client.destroy());
    client.on('error', () => {}).on('close', () => target.destroy());
    when.then(() => client.resetAndDestroy());
  });
  return await listening(server);
}

function run(url: string, given: Partial<HttpCheck> = {}, timeoutMs = LONG_MS) {
  return probe.run(httpCheck({ url, ...given }), { timeoutMs, signal: abort.signal });
}

describe('a target that speaks HTTP/2 only', () => {
  test('is sent what HTTP/1.1 would be, and judged alike', async () => {
    const seen: { headers: IncomingHttpHeaders; body: string }[] = [];
    const port = await serve((stream, headers, body) => {
      seen.push({ headers, body });
      const city = Buffer.from('Zürich').toString('latin1');
      stream.respond({ ':status': 201, 'set-cookie': ['a=1', 'b=2'], 'x-kind': 'h2', 'x-city': city });
      stream.end('made');
    });
    const outcome = await run(`https://127.0.0.1:${port}/orders?a=1`, {
      method: 'POST',
      body: 'grüße',
      headers: [
        { key: 'X-Twice', value: 'one' },
        { key: 'x-twice', value: 'two' },
      ],
      status_code_assertions: [{ target: 201, comparator: 'eq' }],
      body_assertions: [{ target: 'made', comparator: 'eq' }],
      header_assertions: [
        { key: 'X-Kind', target: 'h2', comparator: 'eq' },
        { key: 'X-City', target: 'Zürich', comparator: 'eq' },
        { key: 'set-cookie', target: 'a=1, b=2', comparator: 'eq' },
      ],
    });
    expect(outcome).toMatchObject({
      outcome: 'passed',
      statusCode: 201,
      certificateExpiresAt: Date.UTC(2120, 0, 1),
    });
    expect(Object.keys(outcome.phases)).toEqual(['connect', 'tls', 'first_byte', 'transfer']);
    const sum = Object.values(outcome.phases).reduce<number>((total, ms) => total + (ms ?? 0), 0);
    expect(sum).toBeCloseTo(outcome.latency, 5);
    expect(seen).toMatchObject([
      {
        body: 'grüße',
        headers: {
          ':method': 'POST',
          ':path': '/orders?a=1',
          ':authority': `127.0.0.1:${port}`,
          'user-agent': 'svc/test',
          'x-twice': 'one, two',
          'content-length': '7',
        },
      },
    ]);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS'] as const)('%s', async (method) => {
    const port = await serve((stream, headers) => {
      stream.respond({ ':status': headers[':method'] === method ? 200 : 500 });
      stream.end(method === 'HEAD' ? undefined : 'ok');
    });
    expect(await run(`https://127.0.0.1:${port}/`, { method })).toMatchObject({ outcome: 'passed' });
  });

  test('of several addresses, redirected, compressed', async () => {
    const port = await serve((stream, headers) => {
      if (headers[':path'] === '/') {
        stream.respond({ ':status': 200, 'content-encoding': 'gzip' });
        stream.end(gzipSync('x'.repeat(100_000)));
      } else stream.respond({ ':status': 302, location: '/' }, { endStream: true });
    });
    const outcome = await run(`https://secure.test:${port}/elsewhere`, {
      body_assertions: [{ target: 'x'.repeat(1_000), comparator: 'contains' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
  });

  test('gets the cookies back that its redirect has set', async () => {
    const port = await serve((stream, { cookie }) => {
      if (cookie === 'seen=1; other=2') stream.respond({ ':status': 200 }, { endStream: true });
      else {
        const setCookies = ['seen=1; Path=/', 'other=2; Path=/'];
        stream.respond({ ':status': 302, location: '/', 'set-cookie': setCookies }, { endStream: true });
      }
    });
    expect(await run(`https://127.0.0.1:${port}/`)).toMatchObject({ outcome: 'passed' });
  });

  test('that redirects to several places is refused', async () => {
    const port = await serveFrames([redirectWith(['location', '/a'], ['location', '/b'])]);
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.errorMessage).toBe('redirected by several Location headers that differ');
  });

  test('is sent a header twice that is configured twice', async () => {
    const port = await serve((stream) => stream.respond({ ':status': 200 }, { endStream: true }));
    const headers = ['one', 'two'].map((value) => ({ key: 'Authorization', value }));
    expect(await run(`https://127.0.0.1:${port}/`, { headers })).toMatchObject({ outcome: 'passed' });
  });

  test('a long body is cut at 2 MiB', async () => {
    const port = await serve((stream) => {
      stream.respond({ ':status': 200 });
      stream.end(Buffer.alloc(8 * 1_024 * 1_024));
    });
    const outcome = await run(`https://127.0.0.1:${port}/`, {
      body_assertions: [{ target: '', comparator: 'not_empty' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', bodyTruncated: true });
  });

  test('an unexpected status fails', async () => {
    const port = await serve((stream) => stream.respond({ ':status': 503 }, { endStream: true }));
    expect(await run(`https://127.0.0.1:${port}/`)).toMatchObject({ outcome: 'failed', statusCode: 503 });
  });

  test('a certificate that is not trusted is no HTTP/2 either', async () => {
    let asked = 0;
    const port = await serve(() => {
      asked += 1;
    }, WRONG_HOST);
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.errorMessage).toMatch(/not for 127\.0\.0\.1/);
    expect(asked).toBe(0);
  });

  test('one that never answers times out', async () => {
    const port = await serve(() => {});
    const outcome = await run(`https://127.0.0.1:${port}/`, {}, 400);
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true });
    expect(outcome.errorMessage).toMatch(/waiting for the first byte/);
  });

  test.each([
    [
      'before its answer',
      [RESET(INTERNAL_ERROR)],
      /^the target broke off the HTTP\/2 stream \(INTERNAL_ERROR\)/,
    ],
    ['asking for HTTP/1.1', [RESET(HTTP_1_1_REQUIRED)], /^the target broke off .* \(HTTP_1_1_REQUIRED\)/],
    [
      'in its answer',
      [STATUS_200, HALF, RESET(CANCEL)],
      /^the target broke off the HTTP\/2 stream \(CANCEL\)/,
    ],
    ['by a code of its own', [STATUS_200, HALF, RESET(0x77)], /broke off the HTTP\/2 stream \(code 119\)/],
    ['by going away', [frame(7, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 11]))], /ENHANCE_YOUR_CALM|HTTP\/2/],
  ])('one that breaks off %s fails', async (_, frames, says) => {
    const port = await serveFrames(frames);
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome.errorMessage).toMatch(says);
  });

  test('one whose answer is shorter than it says fails', async () => {
    const port = await serve((stream) => {
      stream.respond({ ':status': 200, 'content-length': '10' });
      stream.end('half');
    });
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toBe('the HTTP/2 stream was broken off (PROTOCOL_ERROR)');
  });

  test.each([
    ['going away', frame(7, 0, 0, Buffer.from([127, 255, 255, 255, 0, 0, 0, 0]))],
    ['single bytes', frame(0, 0, 1, Buffer.from('x'))],
  ])('one that sends %s without end fails before its time-out', async (_, piece) => {
    const pieces = Buffer.concat(new Array<Buffer>(1_000).fill(piece));
    const port = await serveFrames([STATUS_200], (socket) => {
      const more = () => {
        if (!socket.destroyed) socket.write(pieces, () => setImmediate(more));
      };
      more();
    });
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome.errorMessage).toBe('the target sends too many HTTP/2 frames without content');
  });

  test('one whose head is beyond the bounds fails', async () => {
    const port = await serve((stream) => {
      stream.respond(Object.fromEntries(Array.from({ length: 1_100 }, (_, index) => [`x-${index}`, 'x'])));
      stream.end();
    });
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.errorMessage).toBe('the HTTP/2 stream was broken off (ENHANCE_YOUR_CALM)');
  });

  test('one that closes the connection fails', async () => {
    const port = await serve((stream) => stream.session?.destroy());
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toBe('the target closed the connection without an answer');
  });

  test('one that closes the connection in its answer fails', async () => {
    const port = await serveFrames([STATUS_200, HALF], (socket) => socket.end());
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toBe('the target closed the connection in the middle of the response');
  });

  test('one that resets the connection fails', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const port = await resetting(await serveFrames([], () => resolve()), asked);
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toMatch(/^the target reset the connection \(ECONNRESET/);
  });

  test('one that breaks the rules of HTTP/2 fails', async () => {
    const server = createTlsServer({ ...TRUSTED, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    const outcome = await run(`https://127.0.0.1:${await listening(server)}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toMatch(/HTTP\/2/);
  });
});

/**
 * A server that agrees to `h2` or to no protocol, never sends an alert, and then
 * calls `toHttp2` or `toNothing`.
 */
async function agreeing(toHttp2: (socket: TLSSocket) => void, toNothing: (socket: TLSSocket) => void) {
  const server = createTcpServer((plain) => {
    plain.on('error', () => {});
    plain.once('readable', () => {
      const hello: Buffer = plain.read();
      plain.unshift(hello);
      // A ClientHello contains the offered protocols as plain text.
      const offersHttp2 = hello.includes('\x02h2');
      const protocols = offersHttp2 ? { ALPNProtocols: ['h2'] } : {};
      const socket = new TLSSocket(plain, {
        isServer: true,
        secureContext: createSecureContext(TRUSTED),
        ...protocols,
      });
      socket.on('error', () => {});
      socket.once('secure', () => (offersHttp2 ? toHttp2 : toNothing)(socket));
    });
  });
  return await listening(server);
}

describe('a target that knows only HTTP/2, and does not say so', () => {
  const answering = (socket: TLSSocket) =>
    socket.end(Buffer.concat([frame(4, 0, 0, Buffer.alloc(0)), frame(1, 5, 1, Buffer.from([0x88]))]));

  test.each([
    ['closes the connection', (socket: TLSSocket) => socket.end()],
    ['closes it once it is asked', (socket: TLSSocket) => socket.once('data', () => socket.end())],
    ['destroys it', (socket: TLSSocket) => socket.destroy()],
  ])('%s: is asked over HTTP/2', async (_, close) => {
    const port = await agreeing(answering, close);
    const outcome = await run(`https://127.0.0.1:${port}/`, { method: 'POST', body: 'order' });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
  });

  test('fails over HTTP/2 as any other', async () => {
    const port = await agreeing(
      (socket) => socket.end(),
      (socket) => socket.end(),
    );
    const { outcome, errorMessage } = await run(`https://127.0.0.1:${port}/`);
    expect(outcome).toBe('failed');
    expect(errorMessage).toBe('the target closed the connection without an answer');
  });
});

test('a target that closes the connection, and knows no HTTP/2, is asked once', async () => {
  let requests = 0;
  const server = createTlsServer(TRUSTED, (socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        requests += 1;
        socket.end();
      });
  });
  const outcome = await run(`https://127.0.0.1:${await listening(server)}/`, { method: 'POST' });
  expect(outcome).toMatchObject({
    outcome: 'failed',
    errorMessage: 'the target closed the connection without an answer',
  });
  expect(requests).toBe(1);
});

test('HTTP/1.1 is spoken where the target takes both', async () => {
  const server = createSecureServer({ ...TRUSTED, allowHTTP1: true }, (request, response) => {
    response.setHeader('x-version', request.httpVersion);
    response.end();
  });
  const outcome = await run(`https://127.0.0.1:${await listening(server)}/`, {
    header_assertions: [{ key: 'x-version', target: '1.1', comparator: 'eq' }],
  });
  expect(outcome).toMatchObject({ outcome: 'passed' });
});

test('a target that speaks neither says so', async () => {
  const server = createTlsServer({ ...TRUSTED, ALPNProtocols: ['mqtt'] });
  server.on('tlsClientError', () => {});
  const outcome = await run(`https://127.0.0.1:${await listening(server)}/`);
  expect(outcome.outcome).toBe('failed');
  expect(outcome.errorMessage).toMatch(/neither HTTP\/1\.1 nor HTTP\/2/);
});

describe('HTTP/2 without an agreement', () => {
  test('without TLS is recognised', async () => {
    const server = createServer();
    server.on('sessionError', () => {});
    server.on('session', (session) => session.on('error', () => {}));
    const port = await listening(server);
    const other = connect(`http://127.0.0.1:${port}`);
    await once(other, 'connect');
    other.destroy();
    const outcome = await run(`http://127.0.0.1:${port}/`);
    expect(outcome.outcome).toBe('failed');
    expect(outcome.errorMessage).toMatch(/speaks HTTP\/2 without TLS, which svc does not probe/);
  });

  test('with TLS is named', async () => {
    const server = createTlsServer(TRUSTED, (socket) => {
      socket.on('error', () => {});
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    });
    const outcome = await run(`https://127.0.0.1:${await listening(server)}/`);
    expect(outcome.errorMessage).toMatch(/without agreeing to it/);
  });

  test('other bytes are an answer that is malformed', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.end(Buffer.from([0, 0, 0, 5, 0, 0, 0, 0, 0, 13, 10]));
    });
    const outcome = await run(`http://127.0.0.1:${await listening(server)}/`);
    expect(outcome.errorMessage).not.toMatch(/HTTP\/2/);
  });
});

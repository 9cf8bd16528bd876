import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { type Receiver, startReceiver } from '../../../../test/support/receiver.ts';
import { SELF_SIGNED } from '../../../../test/support/self-signed.ts';
import { WITHOUT_ALTERNATIVE_NAME } from '../../../../test/support/tls/certificates.ts';
import { createHttpPost, mergeHeaders, type PostRequest, parseRetryAfter } from './http-post.ts';
import type { Resolve } from './names.ts';

const clock = new FakeClock();
const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver();
  closing.push(() => receiver.close());
  return receiver;
}

async function listen(server: Server | ReturnType<typeof createSocketServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function poster(allow: string[] = ['127.0.0.0/8'], resolve?: Resolve) {
  const guard = createEgressGuard({ base: 'channel', deny: [], allow });
  return createHttpPost({ clock, guard, ...(resolve === undefined ? {} : { resolve }) });
}

function request(url: string, more: Partial<PostRequest> = {}): PostRequest {
  const { signal } = new AbortController();
  return { url, headers: [], body: '{}', secrets: [], signal, ...more };
}

describe('the exchange', () => {
  test.each([
    ['already', 1],
    ['while it connected', 2],
  ])('sends nothing where another coordinator leads %s', async (_, lostAt) => {
    const receiver = await receive();
    const answers = [true, false].slice(2 - lostAt);
    const maySend = () => answers.shift() ?? false;
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] });
    const post = createHttpPost({ clock, guard, maySend });
    expect(await post(request(receiver.url))).toMatchObject({ kind: 'unanswered', failure: 'aborted' });
    expect(receiver.requests).toEqual([]);
  });

  test('posts the body with its headers over a connection of its own', async () => {
    const receiver = await receive();
    const result = await poster()(
      request(`${receiver.url}/hook?a=1`, { body: '{"ä":1}', headers: [['x-one', '1']] }),
    );
    expect(result).toMatchObject({ kind: 'answered', statusCode: 200, excerpt: '' });
    expect(receiver.requests[0]).toMatchObject({ method: 'POST', path: '/hook?a=1', json: { ä: 1 } });
    expect(receiver.requests[0]?.headers).toMatchObject({
      'x-one': '1',
      connection: 'close',
      'content-length': '8',
    });
  });

  test('never follows a redirect', async () => {
    const receiver = await receive();
    receiver.answerWith((_request, response) =>
      response.writeHead(307, { location: `${receiver.url}/elsewhere` }).end(),
    );
    expect(await poster()(request(receiver.url))).toMatchObject({ kind: 'answered', statusCode: 307 });
    expect(receiver.requests).toHaveLength(1);
  });

  test('reads 64 KiB of an endless reply and no more', async () => {
    const receiver = await receive();
    receiver.answerWith((_request, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(65_536, 97)));
      };
      response.on('drain', more);
      more();
    });
    const result = await poster()(request(receiver.url));
    expect(result).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(result.kind === 'answered' && result.body.length).toBe(65_536);
    expect(result.kind === 'answered' && Buffer.byteLength(result.excerpt)).toBe(900);
  });

  test('secrets that a receiver repeats are masked', async () => {
    const receiver = await receive();
    receiver.answerWith((_request, response) =>
      response.writeHead(401).end('bad token "tok+en/123" tok%2Ben%2F123\n!'),
    );
    const result = await poster()(request(receiver.url, { secrets: ['Bearer tok+en/123'] }));
    expect(result).toMatchObject({ excerpt: 'bad token "********" ******** !' });
  });

  test('a status counts even when the body breaks off', async () => {
    const port = await listen(
      createSocketServer((socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'));
      }),
    );
    expect(await poster()(request(`http://127.0.0.1:${port}`))).toMatchObject({
      kind: 'answered',
      body: 'half',
    });
  });

  test('an answer that is not HTTP is reported', async () => {
    const port = await listen(
      createSocketServer((socket) => {
        socket.once('data', () => socket.end('220 mail.example ESMTP\r\n'));
      }),
    );
    expect(await poster()(request(`http://127.0.0.1:${port}`))).toEqual({
      kind: 'unanswered',
      failure: 'broken',
      error: 'the answer of the receiver is not HTTP',
    });
  });
});

describe('no answer', () => {
  test('is said after 15 s of silence', async () => {
    const receiver = await receive();
    receiver.answerWith(() => {});
    const result = poster()(request(receiver.url));
    await receiver.received(1);
    clock.advance(15_000);
    expect(await result).toEqual({ kind: 'unanswered', failure: 'timeout', error: 'no answer within 15 s' });
  });

  test('is said after 5 s without a connection', async () => {
    const never: Resolve = () => new Promise(() => {});
    const result = poster([], never)(request('http://dead.example/'));
    clock.advance(5_000);
    expect(await result).toEqual({
      kind: 'unanswered',
      failure: 'timeout',
      error: 'no connection within 5 s',
    });
  });

  test('is said at once when the caller stops', async () => {
    const receiver = await receive();
    receiver.answerWith(() => {});
    const abort = new AbortController();
    const result = poster()(request(receiver.url, { signal: abort.signal }));
    await receiver.received(1);
    abort.abort();
    expect(await result).toMatchObject({ kind: 'unanswered', failure: 'aborted' });
    expect(await poster()(request(receiver.url, { signal: abort.signal }))).toMatchObject({
      failure: 'aborted',
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test('names the cause, without the address', async () => {
    const server = createServer();
    const port = await listen(server);
    closing.pop();
    server.close();
    await once(server, 'close');
    expect(await poster()(request(`http://127.0.0.1:${port}/secret-path`))).toEqual({
      kind: 'unanswered',
      failure: 'unreachable',
      error: 'cannot connect to the receiver (ECONNREFUSED)',
    });
  });

  test('a certificate of an unknown authority is refused', async () => {
    const receiver = createSecureServer(
      { key: SELF_SIGNED.key, cert: SELF_SIGNED.cert },
      (_request, response) => response.end(),
    );
    const port = await listen(receiver);
    expect(await poster()(request(`https://127.0.0.1:${port}/`))).toMatchObject({
      kind: 'unanswered',
      failure: 'certificate',
    });
  });

  test('a certificate is verified for the name that was asked for', async () => {
    const receiver = createSecureServer(SELF_SIGNED, (_request, response) => response.end('ok'));
    const port = await listen(receiver);
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
    const post = createHttpPost({ clock, guard, resolve, ca: [SELF_SIGNED.cert] });
    expect(await poster(['127.0.0.1'], resolve)(request(`https://localhost:${port}/`))).toMatchObject({
      failure: 'certificate',
    });
    expect(await post(request(`https://localhost:${port}/`))).toMatchObject({ kind: 'answered', body: 'ok' });
    expect(await post(request(`https://other.example:${port}/`))).toMatchObject({
      kind: 'unanswered',
      failure: 'certificate',
      error: "the receiver's TLS certificate is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)",
    });
  });

  test('the common name of a certificate without an alternative name does not count', async () => {
    let requests = 0;
    const receiver = createSecureServer(WITHOUT_ALTERNATIVE_NAME, (_request, response) => {
      requests += 1;
      response.end();
    });
    const port = await listen(receiver);
    const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
    const post = createHttpPost({ clock, guard, resolve, ca: [WITHOUT_ALTERNATIVE_NAME.cert] });
    expect(await post(request(`https://secure.test:${port}/`))).toMatchObject({
      failure: 'certificate',
      error: "the receiver's TLS certificate is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)",
    });
    expect(requests).toBe(0);
  });

  test('a receiver that requests a certificate gets the client’s', async () => {
    const seen: string[] = [];
    const receiver = createSecureServer(
      { ...SELF_SIGNED, ca: SELF_SIGNED.cert, requestCert: true, rejectUnauthorized: true },
      ({ socket }, response) => {
        seen.push((socket as TLSSocket).getPeerCertificate().subject.CN as string);
        response.end('ok');
      },
    );
    const port = await listen(receiver);
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
    const identity = { cert: SELF_SIGNED.cert, key: new Secret(SELF_SIGNED.key) };
    const url = `https://127.0.0.1:${port}/`;
    const shown = createHttpPost({ clock, guard, ca: [SELF_SIGNED.cert], identity });
    expect(await shown(request(url))).toMatchObject({ kind: 'answered', body: 'ok' });
    expect(seen).toEqual(['localhost']);
    const without = createHttpPost({ clock, guard, ca: [SELF_SIGNED.cert] });
    expect(await without(request(url))).toMatchObject({ kind: 'unanswered' });
  });

  test('the error about an invalid request does not repeat its value', async () => {
    const result = await poster()(request('http://127.0.0.1:1/', { headers: [['x', 'se\r\ncret']] }));
    expect(result).toMatchObject({ failure: 'invalid-request' });
    expect(JSON.stringify(result)).not.toContain('cret');
    expect(await poster()(request('nonsense'))).toMatchObject({ failure: 'invalid-request' });
  });
});

describe('the guard sees the address that is dialled', () => {
  test.each([
    ['an IPv4 literal', (port: number) => `http://127.0.0.1:${port}/`],
    ['a decimal literal', (port: number) => `http://2130706433:${port}/`],
    ['an IPv4-mapped literal', (port: number) => `http://[::ffff:127.0.0.1]:${port}/`],
    ['a name', (port: number) => `http://localhost:${port}/`],
  ])('%s', async (_name, url) => {
    const receiver = await receive();
    const result = await poster([])(request(url(Number(new URL(receiver.url).port))));
    expect(result).toMatchObject({ kind: 'unanswered', failure: 'egress-denied' });
    expect(result.kind === 'unanswered' && result.error).toContain('SVC_CHANNEL_EGRESS_ALLOW');
    expect(receiver.requests).toHaveLength(0);
  });

  test('of several addresses, only the allowed ones are dialled', async () => {
    const receiver = await receive();
    const resolve: Resolve = async () => [
      { address: '169.254.169.254', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    const url = `http://both.example:${new URL(receiver.url).port}/`;
    expect(await poster(['127.0.0.1'], resolve)(request(url))).toMatchObject({ kind: 'answered' });
  });
});

test('configured headers replace ours whatever their case, and framing headers are dropped', () => {
  const merged = mergeHeaders({ 'content-type': 'application/json', 'user-agent': 'svc' }, [
    { key: 'Content-Type', value: 'application/vnd.x+json' },
    { key: 'Content-Length', value: '1' },
    { key: 'HOST', value: 'evil' },
    { key: 'Proxy-Authorization', value: 'x' },
    { key: 'X-A', value: '1' },
    { key: 'x-a', value: '2' },
  ]);
  expect(merged).toEqual([
    ['user-agent', 'svc'],
    ['Content-Type', 'application/vnd.x+json'],
    ['X-A', '1'],
    ['x-a', '2'],
  ]);
});

test.each([
  [undefined, undefined],
  ['120', 120_000],
  [' 0 ', 0],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  // RFC 9110, section 5.6.7: recipients accept all three forms of a date.
  ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
  ['Thu Jan  1 00:00:30 2026', 30_000],
  ['99999999999', 99_999_999_999_000],
  ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ['soon', undefined],
  ['1.5', undefined],
  ['-5', undefined],
  [['7', '9'], 7_000],
])('Retry-After %j is %j ms', (value, expected) => {
  expect(parseRetryAfter(value, Date.UTC(2026, 0, 1))).toBe(expected);
});

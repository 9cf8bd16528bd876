import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, Socket } from 'node:net';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import { skipsIpv6 } from '../../../../../test/support/ipv6.ts';
import { SELF_SIGNED } from '../../../../../test/support/self-signed.ts';
import {
  EXPIRED,
  FOR_AN_ADDRESS_ONLY,
  NOT_YET_VALID,
  SHORT_KEY,
  TEST_AUTHORITY,
  type TestCertificate,
  TRUSTED,
  UNREADABLE_EXPIRY,
  WITHOUT_ALTERNATIVE_NAME,
  WRONG_HOST,
} from '../../../../../test/support/tls/certificates.ts';
import { createHttpProbe } from './probe.ts';

const LONG_MS = 15_000;
const NAMES = {
  'secure.test': ['127.0.0.1'],
  'one.test': ['127.0.0.1'],
  'two.test': ['127.0.0.1'],
  'several.test': ['127.0.0.2', '127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'half-denied.test': ['169.254.169.254', '127.0.0.1'],
};
const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
const probe = createHttpProbe({
  resolver: fixedResolver(NAMES),
  egress,
  userAgent: 'svc/test',
  tlsOptions: { ca: [TEST_AUTHORITY] },
});
const { signal } = new AbortController();

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serve(listener: RequestListener, certificate?: TestCertificate): Promise<number> {
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

function run(url: string, given: Partial<HttpCheck> = {}, timeoutMs = LONG_MS) {
  return probe.run(httpCheck({ url, ...given }), { timeoutMs, signal });
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const bytes of request) text += bytes;
  return text;
}

type Seen = {
  method: string;
  url: string;
  headers: Record<string, string>;
  rawHeaders: string[];
  body: string;
};

/** A server that answers `ok`, and the requests that it has received. */
async function mirror(certificate?: TestCertificate): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const port = await serve(async (request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    seen.push({ method, url, headers: headers as Seen['headers'], rawHeaders, body: await textOf(request) });
    response.end('ok');
  }, certificate);
  return { port, seen };
}

describe('the request', () => {
  test.each(['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('%s', async (method) => {
    const { port, seen } = await mirror();
    const outcome = await run(`http://127.0.0.1:${port}/a%20b?c=d#e`, { method, body: 'grüße' });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
    const sendsBody = method !== 'GET' && method !== 'HEAD';
    expect(seen).toMatchObject([{ method, url: '/a%20b?c=d', body: sendsBody ? 'grüße' : '' }]);
    expect(seen[0]?.headers['content-length']).toBe(sendsBody ? '7' : undefined);
    expect(seen[0]?.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      'user-agent': 'svc/test',
      accept: '*/*',
      'accept-encoding': 'gzip, deflate, br, zstd',
      connection: 'close',
    });
  });

  test.each([
    ['of several packets does not wait for an acknowledgement', 'ü', 600, 1],
    ['of one packet needs no further system call', 'u', 600, 0],
  ])('%s', async (_name, character, length, calls) => {
    const setNoDelay = vi.spyOn(Socket.prototype, 'setNoDelay');
    onTestFinished(() => setNoDelay.mockRestore());
    const { port } = await mirror();
    await run(`http://127.0.0.1:${port}/`, { method: 'POST', body: character.repeat(length) });
    expect(setNoDelay).toHaveBeenCalledTimes(calls);
  });

  test('configured headers replace ours, but not those that frame the message', async () => {
    const { port, seen } = await mirror();
    await run(`http://user:p%40ss@127.0.0.1:${port}/`, {
      method: 'POST',
      body: 'x',
      headers: [
        { key: 'user-AGENT', value: 'mine' },
        { key: 'Accept', value: 'text/html' },
        { key: 'X-Twice', value: '1' },
        { key: 'X-Twice', value: '2' },
        { key: 'Content-Length', value: '99' },
        { key: 'Transfer-Encoding', value: 'chunked' },
        { key: 'Connection', value: 'keep-alive' },
      ],
    });
    expect(seen[0]).toMatchObject({ body: 'x' });
    expect(seen[0]?.headers).toMatchObject({
      'user-agent': 'mine',
      accept: 'text/html',
      'x-twice': '1, 2',
      'content-length': '1',
      connection: 'close',
      authorization: `Basic ${btoa('user:p@ss')}`,
    });
    expect(seen[0]?.headers['transfer-encoding']).toBeUndefined();
  });

  test.each([
    [{ key: 'X', value: 'a\r\nInjected: b' }],
    [{ key: 'X: y\r\nInjected', value: 'b' }],
    [{ key: '', value: 'b' }],
  ])('%j is not sent', async (header) => {
    const { port, seen } = await mirror();
    const outcome = await run(`http://127.0.0.1:${port}/`, { headers: [header] });
    expect(outcome).toMatchObject({ outcome: 'failed', errorMessage: expect.stringContaining('header') });
    expect(seen).toEqual([]);
  });

  test('a body of 256 KiB arrives whole', async () => {
    const { port, seen } = await mirror();
    const body = 'b'.repeat(256 * 1_024);
    expect(await run(`http://127.0.0.1:${port}/`, { method: 'PUT', body })).toMatchObject({
      outcome: 'passed',
    });
    expect(seen[0]?.body).toBe(body);
  });
});

describe('the response', () => {
  test('phases add up to the latency', async () => {
    const { port } = await mirror(TRUSTED);
    const { latency, phases } = await run(`https://secure.test:${port}/`);
    expect(Object.keys(phases).sort()).toEqual(['connect', 'dns', 'first_byte', 'tls', 'transfer']);
    expect(Object.values(phases).reduce((sum = 0, part = 0) => sum + part, 0)).toBeCloseTo(latency, 6);
  });

  test('latency counts to the last byte of the body', async () => {
    const port = await serve((_request, response) => {
      response.write('a');
      setTimeout(() => response.end('b'), 50);
    });
    const started = performance.now();
    const { latency } = await run(`http://127.0.0.1:${port}/`);
    expect(latency).toBeGreaterThan(45);
    expect(latency).toBeLessThanOrEqual(performance.now() - started);
  });

  test.each([
    ['gzip', gzipSync('grüße')],
    ['x-gzip', gzipSync('grüße')],
    ['deflate', deflateSync('grüße')],
    ['deflate', deflateRawSync('grüße')],
    ['zstd', zstdCompressSync('grüße')],
    ['identity', Buffer.from('grüße')],
    ['identity', Buffer.from('\ufeffgrüße')],
    ['gzip, deflate', deflateSync(gzipSync('grüße'))],
  ])('%s is decoded', async (coding, body) => {
    const port = await serve((_request, response) => {
      response.setHeader('content-encoding', coding);
      response.end(body);
    });
    const outcome = await run(`http://127.0.0.1:${port}/`, {
      body_assertions: [{ comparator: 'eq', target: 'grüße' }],
      header_assertions: [{ key: 'CONTENT-encoding', comparator: 'eq', target: coding }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed' });
    expect(outcome.bodyTruncated).toBeUndefined();
  });

  test('a body of exactly 2 MiB is whole, one byte more is cut', async () => {
    const limit = 2 * 1_024 * 1_024;
    const port = await serve((request, response) => response.end('a'.repeat(Number(request.url?.slice(1)))));
    const given = { body_assertions: [{ comparator: 'eq' as const, target: 'a'.repeat(limit) }] };
    for (const checked of [given, {}]) {
      const whole = await run(`http://127.0.0.1:${port}/${limit}`, checked);
      expect(whole).toMatchObject({ outcome: 'passed' });
      expect(whole.bodyTruncated).toBeUndefined();
      const cut = await run(`http://127.0.0.1:${port}/${limit + 1}`, checked);
      expect(cut).toMatchObject({ outcome: 'passed', bodyTruncated: true });
    }
  });

  test.each([
    ['http', '127.0.0.1'],
    ['https', '127.0.0.1'],
    ['http', 'half-denied.test'],
    ['http', 'several.test'],
    ['https', 'secure.test'],
  ])('a large encoded body arrives whole: %s://%s', async (scheme, host) => {
    // The text is random, so even its encoded form is large and arrives in many pieces.
    const text = randomBytes(700_000).toString('hex');
    const port = await serve(
      (_request, response) => {
        response.setHeader('content-encoding', 'br');
        response.end(brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }));
      },
      scheme === 'https' ? TRUSTED : undefined,
    );
    const outcome = await run(`${scheme}://${host}:${port}/`, {
      body_assertions: [{ comparator: 'eq', target: text }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed' });
  });

  test.each([204, 304])('%i has no body', async (statusCode) => {
    const port = await serve((_request, response) => response.writeHead(statusCode).end());
    const outcome = await run(`http://127.0.0.1:${port}/`, {
      status_code_assertions: [{ target: statusCode, comparator: 'eq' }],
      body_assertions: [{ comparator: 'empty', target: '' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode });
  });

  test.each(['gzip', 'sdch'])('an answer to HEAD is empty, whatever coding it names: %s', async (coding) => {
    const port = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding, 'content-length': 10 }).end(),
    );
    const outcome = await run(`http://127.0.0.1:${port}/`, {
      method: 'HEAD',
      body_assertions: [{ comparator: 'empty', target: '' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed' });
  });

  test('an assertion that does not hold fails and says why', async () => {
    const port = await serve((_request, response) => response.writeHead(503).end('busy'));
    expect(await run(`http://127.0.0.1:${port}/`)).toMatchObject({
      outcome: 'failed',
      statusCode: 503,
      errorMessage: 'expected a status code from 200 to 299, saw 503',
    });
  });
});

describe('redirects', () => {
  test('are the response when they are not followed', async () => {
    const port = await serve((_request, response) => response.writeHead(302, { location: '/next' }).end());
    const outcome = await run(`http://127.0.0.1:${port}/`, {
      follow_redirects: false,
      status_code_assertions: [{ target: 302, comparator: 'eq' }],
      header_assertions: [{ key: 'location', comparator: 'eq', target: '/next' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 302 });
  });

  test('without a Location are the response', async () => {
    const port = await serve((_request, response) => response.writeHead(302).end());
    expect(await run(`http://127.0.0.1:${port}/`)).toMatchObject({ outcome: 'failed', statusCode: 302 });
  });

  test('send back the cookies that they set, to the same host and within the attempt', async () => {
    const asked: [string | undefined, string | undefined][] = [];
    const port = await serve((request, response) => {
      asked.push([request.headers.host?.split(':')[0], request.headers.cookie]);
      if (request.url === '/') {
        const location = `http://two.test:${port}/away`;
        response.writeHead(302, { location, 'set-cookie': ['session=new; Path=/', 'b=c; HttpOnly'] }).end();
      } else if (request.url === '/away') {
        response.writeHead(302, { location: `http://one.test:${port}/back`, 'set-cookie': 'two=2' }).end();
      } else {
        response.end();
      }
    });
    const given = { headers: [{ key: 'Cookie', value: 'session=old; mine=1' }] };
    for (const _attempt of [1, 2]) {
      expect(await run(`http://one.test:${port}/`, given)).toMatchObject({ outcome: 'passed' });
    }
    const one = [
      ['one.test', 'session=old; mine=1'],
      ['two.test', undefined],
      ['one.test', 'session=new; b=c'],
    ];
    expect(asked).toEqual([...one, ...one]);
  });

  test('carry the cookies of a domain from one of its hosts to another', async () => {
    const port = await serve(({ headers }, response) => {
      const to = (host: string) => ({ location: `http://${host}.sso.localhost:${port}/` });
      const cookie = { 'set-cookie': 'sid=1; Domain=sso.localhost' };
      if (headers.host?.startsWith('login')) response.writeHead(302, { ...to('app'), ...cookie }).end();
      else if (headers.cookie === 'sid=1') response.end('welcome');
      else response.writeHead(302, to('login')).end();
    });
    const byName = createHttpProbe({
      resolver: fixedResolver({ 'login.sso.localhost': ['127.0.0.1'], 'app.sso.localhost': ['127.0.0.1'] }),
      egress,
    });
    const check = httpCheck({ url: `http://login.sso.localhost:${port}/` });
    expect(await byName.run(check, { timeoutMs: LONG_MS, signal })).toMatchObject({ outcome: 'passed' });
  });

  test('replace a configured cookie of the same name only', async () => {
    const asked: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      asked.push(request.headers.cookie);
      if (request.url === '/')
        response.writeHead(302, { location: '/next', 'set-cookie': 'session=new' }).end();
      else response.end();
    });
    const headers = [{ key: 'cookie', value: 'session=old; mine=1' }];
    expect(await run(`http://one.test:${port}/`, { headers })).toMatchObject({ outcome: 'passed' });
    expect(asked).toEqual(['session=old; mine=1', 'mine=1; session=new']);
  });

  test.each([
    ['equal Location lines are one', ['/next', '/next'], { outcome: 'passed' }],
    [
      'Location lines that differ fail',
      ['/next', '/other'],
      { outcome: 'failed', errorMessage: 'redirected by several Location headers that differ' },
    ],
    ['an empty Location is none', [''], { outcome: 'failed', statusCode: 302 }],
  ])('%s', async (_name, location, expected) => {
    const port = await serve((request, response) => {
      if (request.url === '/')
        response
          .writeHead(
            302,
            location.flatMap((value) => ['location', value]),
          )
          .end();
      else response.end();
    });
    expect(await run(`http://one.test:${port}/`)).toMatchObject(expected);
  });

  test('keep headers within an origin and drop what may be a credential across', async () => {
    const { port: destination, seen } = await mirror();
    const asked: IncomingMessage['headers'][] = [];
    const port = await serve((request, response) => {
      asked.push(request.headers);
      const location = request.url === '/' ? 'second' : `http://two.test:${destination}/third`;
      response.writeHead(307, { location }).end();
    });
    const outcome = await run(`http://user:secret@one.test:${port}/`, {
      method: 'POST',
      body: 'payload',
      headers: [
        { key: 'Cookie', value: 'session=1' },
        { key: 'X-Api-Key', value: 'secret' },
        { key: 'Content-Type', value: 'text/plain' },
      ],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
    for (const headers of asked) {
      expect(headers).toMatchObject({ cookie: 'session=1', 'x-api-key': 'secret' });
      expect(headers.authorization).toBe(`Basic ${btoa('user:secret')}`);
    }
    expect(asked).toHaveLength(2);
    expect(seen).toMatchObject([{ method: 'POST', url: '/third', body: 'payload' }]);
    expect(seen[0]?.headers).toMatchObject({ 'content-type': 'text/plain', host: `two.test:${destination}` });
    expect(JSON.stringify(seen)).not.toMatch(/secret|session|Basic/);
  });

  test('lead from http to https', async () => {
    const { port: destination, seen } = await mirror(TRUSTED);
    const port = await serve((_request, response) =>
      response.writeHead(301, { location: `https://secure.test:${destination}/` }).end(),
    );
    const outcome = await run(`http://one.test:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'passed', certificateExpiresAt: Date.UTC(2120, 0, 1) });
    expect(seen).toHaveLength(1);
  });

  test('to a name that resolves to a denied address fail', async () => {
    const port = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://metadata.test/' }).end(),
    );
    const outcome = await run(`http://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome.errorMessage).toMatch(/forbidden address.*169\.254\.169\.254/);
  });
});

describe('TLS', () => {
  test.each(['127.0.0.1', 'secure.test', 'secure.test.'])(
    '%s is verified, its expiry recorded',
    async (host) => {
      const { port } = await mirror(TRUSTED);
      const known = createHttpProbe({
        resolver: fixedResolver({ 'secure.test': ['127.0.0.1'], 'secure.test.': ['127.0.0.1'] }),
        egress,
        tlsOptions: { ca: [TEST_AUTHORITY] },
      });
      const outcome = await known.run(httpCheck({ url: `https://${host}:${port}/` }), {
        timeoutMs: LONG_MS,
        signal,
      });
      expect(outcome).toMatchObject({ outcome: 'passed', certificateExpiresAt: Date.UTC(2120, 0, 1) });
    },
  );

  test.each([
    ['expired', EXPIRED, /expired on 2020-02-01/, Date.UTC(2020, 1, 1)],
    ['not yet valid', NOT_YET_VALID, /not valid yet/, Date.UTC(2120, 0, 1)],
    ['for another host', WRONG_HOST, /not for 127\.0\.0\.1 but for DNS:other\.test/, Date.UTC(2120, 0, 1)],
    ['self-signed', SELF_SIGNED, /self-signed/, expect.any(Number)],
  ])(
    'a certificate that is %s fails before anything is sent',
    async (_name, certificate, says, expiresAt) => {
      const { port, seen } = await mirror(certificate);
      const outcome = await run(`https://127.0.0.1:${port}/`, { headers: [{ key: 'Cookie', value: 'x' }] });
      expect(outcome).toMatchObject({ outcome: 'failed', certificateExpiresAt: expiresAt });
      expect(outcome.errorMessage).toMatch(says);
      expect(seen).toEqual([]);
    },
  );

  test('an expiry that cannot be read fails the check, and is not in its result', async () => {
    const { port } = await mirror(UNREADABLE_EXPIRY);
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'failed', errorMessage: expect.stringMatching(/not trusted/) });
    expect(outcome.certificateExpiresAt).toBeUndefined();
  });

  test('a certificate of an untrusted authority fails', async () => {
    const { port } = await mirror(TRUSTED);
    const plain = createHttpProbe({ resolver: fixedResolver(), egress });
    const outcome = await plain.run(httpCheck({ url: `https://127.0.0.1:${port}/` }), {
      timeoutMs: LONG_MS,
      signal,
    });
    expect(outcome.errorMessage).toMatch(/authority that is not trusted/);
  });

  test.each([
    ['no alternative name', WITHOUT_ALTERNATIVE_NAME, /has no subject alternative name/],
    ['a short key', SHORT_KEY, /has a key that is too short \(1024 bits/],
    ['another one', FOR_AN_ADDRESS_ONLY, /not for secure\.test but for IP Address:127\.0\.0\.9/],
  ])('a certificate with %s fails, whatever its common name', async (_name, certificate, says) => {
    const { port, seen } = await mirror(certificate);
    const trusting = createHttpProbe({
      resolver: fixedResolver(NAMES),
      egress,
      tlsOptions: { ca: [certificate.cert] },
    });
    const url = `https://secure.test:${port}/`;
    const outcome = await trusting.run(httpCheck({ url }), { timeoutMs: LONG_MS, signal });
    expect(outcome).toMatchObject({ outcome: 'failed', certificateExpiresAt: expect.any(Number) });
    expect(outcome.errorMessage).toMatch(says);
    expect(seen).toEqual([]);
  });

  test('a server that knows hybrid groups alone passes, unless the setting leaves them out', async () => {
    const { port } = await mirror({ ...TRUSTED, ecdhCurve: 'X25519MLKEM768' });
    const url = `https://127.0.0.1:${port}/`;
    expect(await run(url)).toMatchObject({ outcome: 'passed' });
    const tlsOptions = { ca: [TEST_AUTHORITY], groups: 'X25519:P-256' };
    const classical = createHttpProbe({ resolver: fixedResolver(), egress, tlsOptions });
    const outcome = await classical.run(httpCheck({ url }), { timeoutMs: LONG_MS, signal });
    expect(outcome).toMatchObject({
      outcome: 'failed',
      errorMessage: expect.stringMatching(/TLS handshake/),
    });
  });

  test('a port without TLS is named', async () => {
    const port = await serve((_request, response) => response.end());
    const outcome = await run(`https://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(outcome.errorMessage).toMatch(/TLS/);
  });

  test('a handshake that never ends times out', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => void server.close());
    const { port } = server.address() as AddressInfo;
    const outcome = await run(`https://127.0.0.1:${port}/`, {}, 300);
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true });
    expect(outcome.errorMessage).toMatch(/TLS handshake/);
  });
});

describe('addresses', () => {
  test.each(['http', 'https'])('several are tried: %s', async (scheme) => {
    const { port } = await mirror(scheme === 'https' ? TRUSTED : undefined);
    const several = createHttpProbe({
      resolver: fixedResolver({ 'secure.test': ['127.0.0.2', '127.0.0.1'] }),
      egress,
      tlsOptions: { ca: [TEST_AUTHORITY] },
    });
    const outcome = await several.run(
      httpCheck({
        url: `${scheme}://secure.test:${port}/`,
        body_assertions: [{ comparator: 'eq', target: 'ok' }],
      }),
      { timeoutMs: LONG_MS, signal },
    );
    expect(outcome).toMatchObject({ outcome: 'passed' });
  });

  test.skipIf(skipsIpv6).each([
    ['the address that connects', ['::1', '127.0.0.1'], 'passed', ['127.0.0.1']],
    ['both addresses that fail', ['::1', '127.0.0.2'], 'failed', ['::1', '127.0.0.2']],
    ['the only address', ['::1'], 'failed', ['::1']],
  ] as const)('the outcome says %s', async (_what, addresses, outcome, said) => {
    const { port } = await mirror();
    const both = createHttpProbe({ resolver: fixedResolver({ 'both.test': [...addresses] }), egress });
    const check = httpCheck({ url: `http://both.test:${port}/` });
    expect(await both.run(check, { timeoutMs: LONG_MS, signal })).toMatchObject({
      outcome,
      addresses: said.map((address) => ({ address })),
    });
  });

  test('of several only the allowed ones are dialled', async () => {
    const { port } = await mirror();
    expect(await run(`http://half-denied.test:${port}/`)).toMatchObject({ outcome: 'passed' });
  });

  test.each(['not a url', 'ftp://example.com/', '//example.com'])('%j fails', async (url) => {
    expect(await run(url)).toMatchObject({ outcome: 'failed', errorMessage: expect.stringContaining('URL') });
  });
});

describe('stopping', () => {
  test('an abort settles at once and closes the connection', async () => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    const port = await serve((request) => {
      request.socket.on('close', () => closed.resolve());
      stop.abort();
    });
    const outcome = await probe.run(httpCheck({ url: `http://127.0.0.1:${port}/` }), {
      timeoutMs: LONG_MS,
      signal: stop.signal,
    });
    expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'shutting-down' });
    await closed.promise;
  });

  test('a lookup that never ends times out', async () => {
    const aborted = Promise.withResolvers<void>();
    const silent = createHttpProbe({
      resolver: {
        resolve: (_host, lookup) =>
          new Promise((_, reject) => {
            lookup?.addEventListener('abort', () => {
              aborted.resolve();
              reject(lookup.reason);
            });
          }),
        isSilentSince: () => false,
        close: async () => {},
      },
      egress,
    });
    const outcome = await silent.run(httpCheck({ url: 'http://silent.test/' }), { timeoutMs: 50, signal });
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true, phases: { dns: expect.any(Number) } });
    await aborted.promise;
  });

  test('the name servers are judged by the look-up that has no answer, not by one before a redirect', async () => {
    let redirectedAt = Number.POSITIVE_INFINITY;
    const port = await serve((_request, response) => {
      redirectedAt = performance.now();
      response.writeHead(302, { location: `http://next.test:${port}/` }).end();
    });
    const silent = createHttpProbe({
      resolver: {
        resolve: (host) =>
          host === 'first.test' ? [{ address: '127.0.0.1', family: 4 }] : new Promise(() => {}),
        isSilentSince: (since) => since >= redirectedAt,
        close: async () => {},
      },
      egress,
    });
    const check = httpCheck({ url: `http://first.test:${port}/` });
    const outcome = await silent.run(check, { timeoutMs: 1_000, signal });
    expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'network-down' });
  });
});

test("a defect of our own is not the target's", async () => {
  const broken = createHttpProbe({
    resolver: {
      resolve: () => {
        throw new TypeError('defect');
      },
      isSilentSince: () => false,
      close: async () => {},
    },
    egress,
  });
  const outcome = await broken.run(httpCheck({ url: 'http://one.test/' }), { timeoutMs: LONG_MS, signal });
  expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'internal-error' });
});

test('connections are fresh for every attempt', async () => {
  const ports = new Set<number | undefined>();
  const port = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end();
  });
  for (let count = 0; count < 3; count += 1) await run(`http://127.0.0.1:${port}/`);
  expect(ports.size).toBe(3);
});

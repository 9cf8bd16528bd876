import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { parseProxy } from '@svc/shared/proxy/proxy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../../test/support/tls/certificates.ts';
import { createHttpProbe } from './probe.ts';

const LONG_MS = 15_000;
const abort = new AbortController();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function listening(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket.on('error', () => {}).on('close', () => open.delete(socket)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type Asked = { target: string | undefined; credentials: string | undefined };

/**
 * A proxy that sends `answer`. With `to`, it opens tunnels that all lead to this port of
 * loopback, whatever target is asked for.
 */
async function proxy({ to, answer }: { to?: number; answer?: string }) {
  const asked: Asked[] = [];
  const ended = Promise.withResolvers<void>();
  const server = createHttpServer((_request, response) => response.writeHead(400).end());
  server.on('connect', ({ url, headers }, client: Socket) => {
    asked.push({ target: url, credentials: headers['proxy-authorization'] });
    // Servers of Node leave their half of such a connection open, so `close` would never come.
    client.on('error', () => {}).on('end', ended.resolve);
    client.resume();
    if (to === undefined) {
      if (answer !== undefined) client.end(answer);
      return;
    }
    const target = connect(to, '127.0.0.1', () =>
      client.write('HTTP/1.1 200 Connection established\r\n\r\n'),
    );
    target.on('error', () => client.destroy());
    client.on('close', () => target.destroy());
    client.pipe(target).pipe(client);
  });
  return { port: await listening(server), asked, ended: ended.promise };
}

function probeBy(port: number, userInfo = '') {
  const by = parseProxy(`http://${userInfo}proxy.test:${port}`);
  return createHttpProbe({
    // The resolver knows only the proxy, because the proxy resolves the names of targets.
    resolver: fixedResolver({ 'proxy.test': ['127.0.0.1'] }),
    egress: createEgressGuard({ base: 'agent', deny: ['192.0.2.0/24'], allow: [] }),
    tlsOptions: { ca: [TEST_AUTHORITY] },
    proxyFor: (host) => (host === '127.0.0.1' ? undefined : by),
  });
}

function run(
  probe: ReturnType<typeof probeBy>,
  url: string,
  given: Partial<HttpCheck> = {},
  timeoutMs = LONG_MS,
) {
  return probe.run(httpCheck({ url, ...given }), { timeoutMs, signal: abort.signal });
}

const echo: RequestListener = (request, response) => {
  if (request.url === '/away') response.writeHead(302, { location: 'http://192.0.2.1/' }).end();
  else response.end(`${request.headers.host} ${request.headers['proxy-authorization'] ?? 'no credentials'}`);
};

describe('HTTP probes by a proxy', () => {
  test.each(['http', 'https'])('%s goes through a tunnel', async (scheme) => {
    const target = await listening(
      scheme === 'http' ? createHttpServer(echo) : createHttpsServer(TRUSTED, echo),
    );
    const { port, asked } = await proxy({ to: target });
    const outcome = await run(probeBy(port, 'me:s3cret@'), `${scheme}://secure.test:8443/`, {
      body_assertions: [{ target: 'secure.test:8443 no credentials', comparator: 'eq' }],
    });
    expect(outcome).toMatchObject({ outcome: 'passed', statusCode: 200 });
    expect(outcome.phases).not.toHaveProperty('dns');
    expect(asked).toEqual([{ target: 'secure.test:8443', credentials: `Basic ${btoa('me:s3cret')}` }]);
  });

  test('a target that speaks HTTP/2 only', async () => {
    const server = createSecureServer(TRUSTED, (_request, response) => response.end('ok'));
    const { port, asked } = await proxy({ to: await listening(server) });
    expect(await run(probeBy(port), 'https://secure.test/')).toMatchObject({ outcome: 'passed' });
    expect(asked.map(({ target }) => target)).toEqual(['secure.test:443', 'secure.test:443']);
  });

  test('a large answer comes whole', async () => {
    const target = createHttpServer((_request, response) => response.end('x'.repeat(1_000_000)));
    const { port } = await proxy({ to: await listening(target) });
    const assertion = { target: 'x'.repeat(8_000), comparator: 'contains' } as const;
    expect(await run(probeBy(port), 'http://a.test/', { body_assertions: [assertion] })).toMatchObject({
      outcome: 'passed',
    });
  });

  test.each(['http', 'https'])('a time-out says which address the proxy has (%s)', async (scheme) => {
    const silent = createServer();
    const { port } = await proxy({ to: await listening(silent) });
    const outcome = await run(probeBy(port), `${scheme}://shop.test/`, {}, 500);
    const proxyAddresses = [{ address: '127.0.0.1', family: 4, from: '127.0.0.1' }];
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true, addresses: [], proxyAddresses });
  });

  test('an excepted host does not go through the proxy', async () => {
    const target = await listening(createHttpServer(echo));
    const { port, asked } = await proxy({ to: target });
    expect(await run(probeBy(port), `http://127.0.0.1:${target}/`)).toMatchObject({ outcome: 'passed' });
    expect(asked).toEqual([]);
  });

  test('an address is judged by the guard, declared or redirected to', async () => {
    const { port, asked } = await proxy({ to: await listening(createHttpServer(echo)) });
    expect(await run(probeBy(port), 'http://192.0.2.1/')).toMatchObject({
      outcome: 'not_run',
      reason: 'egress-denied',
    });
    expect(await run(probeBy(port), 'http://a.test/away')).toMatchObject({
      outcome: 'failed',
      errorMessage: expect.stringMatching(/redirected to a forbidden address/),
    });
    expect(asked.map(({ target }) => target)).toEqual(['a.test:80']);
  });

  test.each([
    [
      '502 Bad Gateway',
      { outcome: 'failed', errorMessage: 'the proxy cannot reach the target (502 Bad Gateway)' },
    ],
    ['504 ', { outcome: 'failed', errorMessage: 'the proxy cannot reach the target (504)' }],
    ['403 Forbidden', { outcome: 'not_run', reason: 'egress-denied' }],
    [
      '407 Proxy Authentication Required',
      {
        outcome: 'not_run',
        reason: 'network-down',
        errorMessage:
          'the proxy does not accept the configured credentials (407 Proxy Authentication Required)',
      },
    ],
    // tinyproxy 1.11 answers a wrong password with this status.
    [
      '401 Unauthorized',
      {
        outcome: 'not_run',
        reason: 'network-down',
        errorMessage: 'the proxy does not accept the configured credentials (401 Unauthorized)',
      },
    ],
  ])('a proxy that answers %s', async (status, expected) => {
    const { port } = await proxy({ answer: `HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n` });
    expect(await run(probeBy(port, 'me:s3cret@'), 'https://a.test/')).toMatchObject(expected);
  });

  test('a proxy that asks for credentials where none are set', async () => {
    const { port, asked } = await proxy({ answer: 'HTTP/1.1 407 \r\n\r\n' });
    expect(await run(probeBy(port), 'https://a.test/')).toMatchObject({
      outcome: 'not_run',
      reason: 'network-down',
      errorMessage: 'the proxy asks for credentials (407)',
    });
    expect(asked).toEqual([{ target: 'a.test:443', credentials: undefined }]);
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n\r\n', /its answer is not HTTP/],
    ['nothing', '', /closed the connection without an answer/],
    ['a head without an end', 'a'.repeat(70_000), /its answer has no end/],
  ])('a proxy that answers %s says nothing of the target', async (_, answer, says) => {
    const { port } = await proxy({ answer });
    const outcome = await run(probeBy(port), 'https://a.test/');
    expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'network-down' });
    expect(outcome.errorMessage).toMatch(says);
  });

  test('a proxy that cannot be reached says nothing about the target', async () => {
    const server = createServer();
    const port = await listening(server);
    server.close();
    await once(server, 'close');
    const outcome = await run(probeBy(port), 'http://a.test/');
    expect(outcome).toMatchObject({ outcome: 'not_run', reason: 'network-down' });
    expect(outcome.errorMessage).toMatch(/the agent cannot reach the proxy: connection refused/);
  });

  test('a tunnel that never opens is the target’s time-out, and is then closed', async () => {
    const { port, ended } = await proxy({});
    const outcome = await run(probeBy(port), 'http://a.test/', {}, 400);
    expect(outcome).toMatchObject({ outcome: 'failed', timedOut: true });
    expect(outcome.errorMessage).toMatch(/while connecting/);
    await ended;
  });

  test('a stop ends the wait for a tunnel', async () => {
    const { port, asked } = await proxy({});
    const stop = new AbortController();
    const running = probeBy(port).run(httpCheck({ url: 'http://a.test/' }), {
      timeoutMs: LONG_MS,
      signal: stop.signal,
    });
    await expect.poll(() => asked.length).toBe(1);
    stop.abort();
    expect(await running).toMatchObject({ outcome: 'not_run', reason: 'shutting-down' });
  });
});

import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { parseProxy } from '@svc/shared/proxy/proxy.ts';
import { afterEach, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { startForwardProxy } from '../../../../test/support/forward-proxy.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../test/support/tls/certificates.ts';
import { createHttpPost } from './http-post.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function post(url: string, proxyUrl: string) {
  const proxy = parseProxy(proxyUrl);
  const send = createHttpPost({
    clock: new FakeClock(),
    // Loopback, where the proxy is, is not allowed for receivers.
    guard: createEgressGuard({ base: 'channel', deny: [], allow: [] }),
    resolve: () => Promise.reject(new Error('names are the proxy’s to resolve')),
    ca: [TEST_AUTHORITY],
    proxyFor: (host) => (host === '127.0.0.1' ? undefined : proxy),
  });
  const { signal } = new AbortController();
  return send({ url, headers: [['x-a', 'b']], body: '{}', secrets: [], signal });
}

const answer: RequestListener = (request, response) => {
  response.writeHead(202).end(`${request.method} ${request.headers.host}`);
};

test.each(['http', 'https'])('%s goes through a tunnel', async (scheme) => {
  const receiver = await listening(
    scheme === 'http' ? createHttpServer(answer) : createHttpsServer(TRUSTED, answer),
  );
  const proxy = await startForwardProxy(receiver);
  closing.push(() => proxy.close());
  expect(await post(`${scheme}://secure.test:8443/hook`, proxy.url)).toMatchObject({
    kind: 'answered',
    statusCode: 202,
    body: 'POST secure.test:8443',
  });
  expect(proxy.asked).toEqual(['secure.test:8443']);
});

test('the guard judges an address with and without a proxy', async () => {
  const proxy = await startForwardProxy(1);
  closing.push(() => proxy.close());
  for (const url of ['http://10.0.0.1/', 'http://127.0.0.1/', 'http://[::1]/']) {
    expect(await post(url, proxy.url)).toMatchObject({ kind: 'unanswered', failure: 'egress-denied' });
  }
  expect(proxy.asked).toEqual([]);
});

test('the error names a proxy that denies or is not there', async () => {
  const denying = createHttpServer();
  denying.on('connect', (_request, client: Socket) => client.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
  const port = await listening(denying);
  expect(await post('https://a.test/', `http://me:s3cret@127.0.0.1:${port}`)).toEqual({
    kind: 'unanswered',
    failure: 'unreachable',
    error: 'the proxy did not open a tunnel to the receiver (403 Forbidden)',
  });
  const gone = createServer();
  const closedPort = await listening(gone);
  gone.close();
  await once(gone, 'close');
  expect(await post('https://a.test/', `http://127.0.0.1:${closedPort}`)).toEqual({
    kind: 'unanswered',
    failure: 'unreachable',
    error: 'svc cannot reach the proxy (ECONNREFUSED)',
  });
});

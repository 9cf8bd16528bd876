import http from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { type Behaviour, startRawTarget } from '../../../../test/support/raw-target.ts';
import { startReceiver } from '../../../../test/support/receiver.ts';
import { exchange } from './exchange.ts';

async function askedOf(url: string) {
  const clock = new FakeClock();
  const sent = { method: 'GET', url, headers: { authorization: 'Bearer t' }, body: null };
  const signal = new AbortController().signal;
  const result = await exchange(sent, { clock, timeoutMs: 30_000, answerBytes: 1_000, signal });
  expect(clock.pendingTimers).toBe(0);
  return result;
}

async function answeredBy(behaviour: Behaviour) {
  const target = await startRawTarget(behaviour);
  onTestFinished(() => target.close());
  return askedOf(`${target.url}/`);
}

describe('a connection that ends early', () => {
  const cut = {
    kind: 'unanswered',
    failure: 'broken',
    mayHaveArrived: true,
    message: 'the connection was cut before the answer was complete',
  };

  test.each([
    ['before the answer', (socket) => socket.resetAndDestroy()],
    ['in the head', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['in the body', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{')],
    [
      'because it was to become another protocol, which was not asked for',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    ],
  ] as [string, Behaviour][])('%s is told in our own words', async (_case, behaviour) => {
    expect(await answeredBy(behaviour)).toMatchObject(cut);
  });
});

describe('the proxy of the environment', () => {
  /** A proxy that is used for every host, because NO_PROXY is empty. */
  async function proxyOfAll() {
    const proxy = await startReceiver();
    onTestFinished(() => proxy.close());
    onTestFinished(http.setGlobalProxyFromEnv({ http_proxy: proxy.url, no_proxy: '' }));
    return proxy;
  }

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST', '127.1'])(
    'never gets the token of an API on this machine: %s',
    async (host) => {
      const proxy = await proxyOfAll();
      const api = await startReceiver();
      onTestFinished(() => api.close());
      const { port } = new URL(api.url);
      expect(await askedOf(`http://${host}:${port}/v1/monitors`)).toMatchObject({ status: 200 });
      expect(api.requests).toMatchObject([{ path: '/v1/monitors', headers: { authorization: 'Bearer t' } }]);
      expect(proxy.requests).toEqual([]);
    },
  );

  // The machine of the test may have no IPv6. A connection by a proxy would be seen nevertheless.
  test.each(['[::1]', '[::ffff:127.1.2.3]'])(
    'never gets the token of an API on this machine: %s',
    async (host) => {
      const proxy = await proxyOfAll();
      await askedOf(`http://${host}:${await freePort()}/v1/monitors`);
      expect(proxy.requests).toEqual([]);
    },
  );

  test.each(['svc.example', '127.0.0.1.example', 'localhost.example', '128.0.0.1', '[::2]'])(
    'is used for an API on another machine: %s',
    async (host) => {
      const proxy = await proxyOfAll();
      expect(await askedOf(`http://${host}/v1/monitors`)).toMatchObject({ status: 200 });
      expect(proxy.requests).toMatchObject([{ path: `http://${host}/v1/monitors` }]);
    },
  );
});

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { parseProxy } from '../proxy/proxy.ts';
import { Connections } from './connections.ts';

/** A server on loopback that keeps the heads of the requests. */
async function started(answers: boolean) {
  const heads: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  const server = createServer((message, response) => {
    heads.push({ url: message.url, headers: message.headers });
    if (answers) response.end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    heads,
    port,
    received: () => once(server, 'request'),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a proxy is asked for the URL, with its credentials', async () => {
  const proxy = await started(true);
  const url = new URL('http://collector.test:4318/v1/metrics');
  const asked: [string, number][] = [];
  const connections = new Connections(url, {
    ca: [],
    identity: null,
    proxyFor: (...target) => {
      asked.push(target);
      return parseProxy(`http://us%40er:pass%3Aword@127.0.0.1:${proxy.port}`);
    },
  });
  const sent = request(url, { method: 'POST', agent: await connections.agent() });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'close');
  expect(asked).toEqual([['collector.test', 4318]]);
  expect(proxy.heads).toHaveLength(1);
  expect(proxy.heads[0]?.url).toBe(url.href);
  expect(proxy.heads[0]?.headers['proxy-authorization']).toBe(
    `Basic ${Buffer.from('us@er:pass:word').toString('base64')}`,
  );
  connections.cut();
  await proxy.close();
});

test('a request that is not answered ends with the cut, and the next one is made anew', async () => {
  const silent = await started(false);
  const url = new URL(`http://127.0.0.1:${silent.port}/v1/metrics`);
  const connections = new Connections(url, { ca: [], identity: null, proxyFor: undefined });
  const agent = await connections.agent();
  for (let round = 1; round <= 2; round += 1) {
    const sent = request(url, { method: 'POST', agent });
    const received = silent.received();
    sent.end();
    await received;
    const failed = once(sent, 'error');
    connections.cut();
    await failed;
    expect(silent.heads).toHaveLength(round);
  }
  await silent.close();
});

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { skipsIpv6 } from '../../../../../test/support/ipv6.ts';
import { tcpCheck } from '../../../../../test/support/scripted-probe.ts';
import { createSystemResolver } from '../../resolve/system-resolver.ts';
import type { ProbeOutcome } from '../probe.ts';
import { createTcpProbe } from './probe.ts';

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function listen(host: string, accept: (socket: Socket) => void = () => {}): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    accept(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

function run(uri: string): Promise<ProbeOutcome> {
  const resolver = createSystemResolver({ hosts: '/nonexistent', resolvConf: '/nonexistent' });
  cleanUps.push(() => resolver.close());
  const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
  const context = { timeoutMs: 10_000, signal: new AbortController().signal };
  return createTcpProbe({ resolver, egress }).run(tcpCheck({ uri }), context);
}

/* The rules of all kinds of probe are tested in `every-kind.test.ts`. */

describe('a listener', () => {
  test('passes; latency is the time to the connection', async () => {
    const outcome = await run(`127.0.0.1:${await listen('127.0.0.1')}`);
    expect(outcome).toEqual({
      outcome: 'passed',
      latency: expect.any(Number),
      phases: { connect: outcome.latency },
      addresses: [{ address: '127.0.0.1', family: 4 }],
    });
    expect(outcome.latency).toBeGreaterThan(0);
  });

  test('sees an orderly close and no byte', async () => {
    const ended = Promise.withResolvers<string>();
    const port = await listen('127.0.0.1', (socket) => {
      socket.on('data', () => ended.resolve('data'));
      socket.on('error', ({ message }) => ended.resolve(message));
      socket.on('end', () => ended.resolve('end'));
    });
    await run(`127.0.0.1:${port}`);
    expect(await ended.promise).toBe('end');
  });

  test('that sends data at once passes too', async () => {
    const talking = await listen('127.0.0.1', (socket) => socket.end('x'.repeat(100_000)));
    expect((await run(`127.0.0.1:${talking}`)).outcome).toBe('passed');
  });

  test('by name', async () => {
    expect((await run(`localhost:${await listen('127.0.0.1')}`)).outcome).toBe('passed');
  });

  test.skipIf(skipsIpv6)('on IPv6 loopback, in brackets', async () => {
    const outcome = await run(`[::1]:${await listen('::1')}`);
    expect(outcome).toMatchObject({ outcome: 'passed', addresses: [{ address: '::1', family: 6 }] });
  });
});

test('a target that is no host and port fails with the reason', async () => {
  expect(await run('example.com')).toMatchObject({
    outcome: 'failed',
    errorMessage: 'not a host:port target: example.com',
  });
});

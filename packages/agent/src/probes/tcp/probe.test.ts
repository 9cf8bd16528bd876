import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { TcpCheck } from '@svc/shared/messages/check.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { startBlackhole } from '../../../../../test/support/blackhole.ts';
import { skipsIpv6 } from '../../../../../test/support/ipv6.ts';
import { ResolveError, type Resolver } from '../../resolve/resolver.ts';
import { createSystemResolver } from '../../resolve/system-resolver.ts';
import type { ProbeContext, ProbeOutcome } from '../probe.ts';
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

function run(
  uri: string,
  changes: Partial<ProbeContext> = {},
  resolver: Resolver = createSystemResolver({ hosts: '/nonexistent', resolvConf: '/nonexistent' }),
): Promise<ProbeOutcome> {
  cleanUps.push(() => resolver.close());
  const egress = createEgressGuard({ base: 'agent', deny: ['127.0.0.66'], allow: [] });
  const check: TcpCheck = { type: 'tcp', uri, timeout: 10_000, retry: 0, degraded_at: 0 };
  const context = { timeoutMs: 10_000, signal: new AbortController().signal, ...changes };
  return createTcpProbe({ resolver, egress }).run(check, context);
}

describe('a listener', () => {
  test('passes; latency is the time to the connection', async () => {
    const outcome = await run(`127.0.0.1:${await listen('127.0.0.1')}`);
    expect(outcome).toEqual({
      outcome: 'passed',
      latency: expect.any(Number),
      phases: { connect: outcome.latency },
    });
    expect(outcome.latency).toBeGreaterThan(0);
  });

  test('is left again, in order and without a byte', async () => {
    const ended = Promise.withResolvers<string>();
    const port = await listen('127.0.0.1', (socket) => {
      socket.on('data', () => ended.resolve('data'));
      socket.on('error', ({ message }) => ended.resolve(message));
      socket.on('end', () => ended.resolve('end'));
    });
    await run(`127.0.0.1:${port}`);
    expect(await ended.promise).toBe('end');
  });

  test('that talks at once passes all the same', async () => {
    const talking = await listen('127.0.0.1', (socket) => socket.end('x'.repeat(100_000)));
    expect((await run(`127.0.0.1:${talking}`)).outcome).toBe('passed');
  });

  test('by name', async () => {
    expect((await run(`localhost:${await listen('127.0.0.1')}`)).outcome).toBe('passed');
  });

  test.skipIf(skipsIpv6)('on IPv6 loopback, in brackets', async () => {
    expect((await run(`[::1]:${await listen('::1')}`)).outcome).toBe('passed');
  });
});

test('a silent target fails by the time-out, within 250 ms of it', async () => {
  const hole = await startBlackhole();
  cleanUps.push(hole.close);
  const outcome = await run(`${hole.host}:${hole.port}`, { timeoutMs: 100 });
  expect(outcome).toMatchObject({
    outcome: 'failed',
    timedOut: true,
    errorMessage: `no connection within 100 ms (ETIMEDOUT ${hole.host}:${hole.port})`,
  });
  expect(outcome.latency).toBeGreaterThanOrEqual(99);
});

test('a refused connection fails and says so', async () => {
  const gone = createServer();
  gone.listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await once(gone, 'close');
  const outcome = await run(`127.0.0.1:${port}`);
  expect(outcome).toEqual({
    outcome: 'failed',
    latency: expect.any(Number),
    phases: { connect: outcome.latency },
    errorMessage: `connection refused (ECONNREFUSED 127.0.0.1:${port})`,
    notConnected: true,
  });
});

test('a target that is no host and port fails with the reason', async () => {
  expect(await run('example.com')).toMatchObject({
    outcome: 'failed',
    errorMessage: 'not a host:port target: example.com',
  });
});

test.each(['169.254.169.254:80', '[fe80::1]:80', '[::ffff:169.254.1.1]:80', '127.0.0.66:80'])(
  '%s is not run where the egress rules deny it',
  async (uri) => {
    expect(await run(uri)).toMatchObject({
      outcome: 'not_run',
      reason: 'egress-denied',
      errorMessage: expect.stringContaining('egress rules'),
    });
  },
);

test('an agent that stops settles at once', async () => {
  const hole = await startBlackhole();
  cleanUps.push(hole.close);
  const controller = new AbortController();
  const outcome = run(`${hole.host}:${hole.port}`, { signal: controller.signal });
  controller.abort();
  expect(await outcome).toMatchObject({ outcome: 'not_run', reason: 'shutting-down' });
});

test.each([
  ['ESERVFAIL', { notConnected: true }],
  ['ENOTFOUND', {}],
] as const)('a name server that says %s may have lost its own network, or not', async (code, expected) => {
  const resolver: Resolver = {
    resolve: async (host) => {
      throw new ResolveError(code, host, 'as the test says');
    },
    isSilentSince: () => false,
    close: async () => {},
  };
  const { outcome, notConnected } = await run('example.com:80', {}, resolver);
  expect({ outcome, notConnected }).toEqual({ outcome: 'failed', notConnected: undefined, ...expected });
});

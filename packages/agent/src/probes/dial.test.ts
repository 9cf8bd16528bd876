import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { startBlackhole } from '../../../../test/support/blackhole.ts';
import { skipsIpv6 } from '../../../../test/support/ipv6.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from '../resolve/resolver.ts';
import { type DialParts, type DialResult, dial } from './dial.ts';

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Listens for connections and closes each one when its peer closes it. */
async function listen(host: string, port = 0): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  server.listen(port, host);
  await once(server, 'listening');
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

async function blackhole() {
  const hole = await startBlackhole();
  cleanUps.push(hole.close);
  return hole;
}

/** A port without a listener: it was free a moment ago. */
async function refusedPort(host = '127.0.0.1'): Promise<number> {
  const server = createServer();
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const V4 = (address: string): ResolvedAddress => ({ address, family: 4 });
const V6 = (address: string): ResolvedAddress => ({ address, family: 6 });

/** A resolver that returns these addresses for every host, or that calls the given function. */
function resolverOf(found: ResolvedAddress[] | Resolver['resolve']): Resolver {
  const resolve = typeof found === 'function' ? found : () => found;
  return { resolve, isSilentSince: () => false, close: async () => {} };
}

function options(resolver: Resolver, changes: Partial<DialParts> = {}): DialParts {
  const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
  return { resolver, egress, timeoutMs: 10_000, signal: new AbortController().signal, ...changes };
}

/** Dials, and destroys the resulting socket. */
async function dialled(host: string, port: number, how: DialParts): Promise<DialResult> {
  const result = await dial(host, port, how);
  if (result.kind === 'connected') result.socket.destroy();
  return result;
}

describe('one address', () => {
  test('connects and hands over the socket, without a dns time for a literal', async () => {
    const port = await listen('127.0.0.1');
    const result = await dial('127.0.0.1', port, options(resolverOf([V4('127.0.0.1')])));
    if (result.kind !== 'connected') throw new Error(`not connected: ${result.kind}`);
    cleanUps.push(() => result.socket.destroy());
    expect(result.socket.remotePort).toBe(port);
    expect(result.address).toEqual(V4('127.0.0.1'));
    expect(result.connectMs).toBeGreaterThan(0);
    expect(result).not.toHaveProperty('dnsMs');
  });

  test.skipIf(skipsIpv6)('IPv6 loopback', async () => {
    const port = await listen('::1');
    expect((await dialled('::1', port, options(resolverOf([V6('::1')])))).kind).toBe('connected');
  });

  test('a name that needs a look-up has both times', async () => {
    const port = await listen('127.0.0.1');
    const resolver = resolverOf(() => Promise.resolve([V4('127.0.0.1')]));
    const result = await dialled('db.example', port, options(resolver));
    expect(result).toMatchObject({
      kind: 'connected',
      dnsMs: expect.any(Number),
      connectMs: expect.any(Number),
    });
  });

  test('refused', async () => {
    const port = await refusedPort();
    expect(await dialled('127.0.0.1', port, options(resolverOf([V4('127.0.0.1')])))).toMatchObject({
      kind: 'failed',
      code: 'ECONNREFUSED',
      message: `connection refused (ECONNREFUSED 127.0.0.1:${port})`,
      timedOut: false,
    });
  });

  test('an error on the socket after the hand-over does not crash the process', async () => {
    const port = await listen('127.0.0.1');
    const result = await dial('127.0.0.1', port, options(resolverOf([V4('127.0.0.1')])));
    if (result.kind !== 'connected') throw new Error(`not connected: ${result.kind}`);
    const closed = once(result.socket, 'close');
    result.socket.destroy(new Error('reset by somebody'));
    await expect(closed).rejects.toThrow('reset by somebody');
  });
});

describe('several addresses', () => {
  test('the next one is dialled at once when one is refused', async () => {
    const port = await listen('127.0.0.99');
    const refusing = Array.from({ length: 15 }, (_, index) => V4(`127.0.0.${index + 1}`));
    const resolver = resolverOf([...refusing, V4('127.0.0.99')]);
    const result = await dialled('a', port, options(resolver));
    expect(result).toMatchObject({ kind: 'connected', address: V4('127.0.0.99') });
    // Waiting 250 ms for each refusing address would take 3,750 ms.
    expect(result.connectMs).toBeLessThan(3_500);
  });

  test('the next address is dialled while one is silent, and the silent one is then dropped', async () => {
    const { port, host } = await blackhole();
    await listen('127.0.0.2', port);
    const before = openSockets();
    const result = await dialled('a', port, options(resolverOf([V4(host), V4('127.0.0.2')])));
    expect(result).toMatchObject({ kind: 'connected', address: V4('127.0.0.2') });
    expect(result.connectMs).toBeGreaterThan(240);
    await expect.poll(() => openSockets()).toBeLessThanOrEqual(before);
  });

  test('failures of all of them are in one message', async () => {
    const port = await refusedPort();
    const addresses = [V4('127.0.0.1'), V4('127.0.0.2'), V4('127.0.0.3'), V4('127.0.0.4'), V4('127.0.0.5')];
    expect(await dialled('a', port, options(resolverOf(addresses)))).toMatchObject({
      kind: 'failed',
      message: `connection refused (ECONNREFUSED 127.0.0.1:${port}, 127.0.0.2:${port}, 127.0.0.3:${port}, 127.0.0.4:${port} and 1 more)`,
    });
  });

  test.skipIf(skipsIpv6)('of both families', async () => {
    const port = await refusedPort();
    expect(await dialled('a', port, options(resolverOf([V6('::1'), V4('127.0.0.1')])))).toMatchObject({
      message: `connection refused (ECONNREFUSED [::1]:${port}, 127.0.0.1:${port})`,
      addresses: [V6('::1'), V4('127.0.0.1')],
    });
  });

  test('no more than sixteen are tried', async () => {
    const port = await listen('127.0.0.17');
    const addresses = Array.from({ length: 17 }, (_, n) => V4(`127.0.0.${n + 1}`));
    expect((await dialled('a', port, options(resolverOf(addresses)))).kind).toBe('failed');
  });
});

describe('time-out', () => {
  test('while connecting: says what was silent and what failed', async () => {
    const { port, host } = await blackhole();
    const result = await dialled(
      'a',
      port,
      options(resolverOf([V4('127.0.0.2'), V4(host)]), { timeoutMs: 60 }),
    );
    expect(result).toMatchObject({
      kind: 'failed',
      code: 'ETIMEDOUT',
      timedOut: true,
      addresses: [V4('127.0.0.2'), V4(host)],
      message: `no connection within 60 ms (ETIMEDOUT ${host}:${port}); connection refused (ECONNREFUSED 127.0.0.2:${port})`,
    });
    expect(result.connectMs).toBeGreaterThan(50);
  });

  test('while resolving: the look-up is given up', async () => {
    let given: AbortSignal | undefined;
    const resolver = resolverOf((_host, signal) => {
      given = signal;
      return new Promise(() => {});
    });
    const result = await dialled('db.example', 80, options(resolver, { timeoutMs: 30 }));
    expect(result).toMatchObject({
      kind: 'failed',
      timedOut: true,
      message: 'db.example was not resolved within 30 ms',
      dnsMs: expect.any(Number),
    });
    expect(result).not.toHaveProperty('connectMs');
    expect(given?.aborted).toBe(true);
  });
});

describe('names that do not resolve', () => {
  test("are failures with the resolver's message", async () => {
    const error = new ResolveError('ENOTFOUND', 'db.example', 'no such name (NXDOMAIN)');
    const resolver = resolverOf(() => Promise.reject(error));
    expect(await dialled('db.example', 80, options(resolver))).toMatchObject({
      kind: 'failed',
      code: 'ENOTFOUND',
      timedOut: false,
      message: 'cannot resolve db.example: no such name (NXDOMAIN)',
    });
  });

  test('because no server answered are time-outs', async () => {
    const resolver = resolverOf(() => Promise.reject(new ResolveError('ETIMEOUT', 'a', 'timed out')));
    expect(await dialled('a', 80, options(resolver))).toMatchObject({ kind: 'failed', timedOut: true });
  });

  test('because of this machine say nothing about the target', async () => {
    const rejecting = resolverOf(() => Promise.reject(new Error('EMFILE')));
    const throwing = resolverOf(() => {
      throw new Error('EMFILE');
    });
    for (const resolver of [rejecting, throwing]) {
      expect(await dialled('a', 80, options(resolver))).toMatchObject({
        kind: 'unable',
        message: 'resolving the name failed: EMFILE',
      });
    }
  });
});

describe('egress rules', () => {
  const denying = (...deny: string[]) => createEgressGuard({ base: 'agent', deny, allow: [] });

  test('a target all of whose addresses are denied is not dialled', async () => {
    const port = await listen('127.0.0.1');
    const egress = denying('127.0.0.0/8');
    for (const address of [V4('127.0.0.1'), V6('::ffff:127.0.0.1')]) {
      expect(await dialled('a', port, options(resolverOf([address]), { egress }))).toMatchObject({
        kind: 'denied',
        message: `connections to ${address.address} are denied by the operator's egress rules (127.0.0.0/8)`,
      });
    }
  });

  test('denied addresses are left out, the others dialled', async () => {
    const port = await listen('127.0.0.2');
    await listen('127.0.0.1', port);
    const egress = denying('127.0.0.1');
    const resolver = resolverOf([V4('127.0.0.1'), V4('127.0.0.2')]);
    expect(await dialled('a', port, options(resolver, { egress }))).toMatchObject({
      kind: 'connected',
      address: V4('127.0.0.2'),
    });
  });
});

describe('aborting', () => {
  test('before, while resolving and while connecting settles at once', async () => {
    const { port, host } = await blackhole();
    const before = AbortSignal.abort();
    expect((await dialled('a', port, options(resolverOf([V4(host)]), { signal: before }))).kind).toBe(
      'aborted',
    );
    for (const resolver of [resolverOf([V4(host)]), resolverOf(() => new Promise(() => {}))]) {
      const controller = new AbortController();
      const result = dialled('a', port, options(resolver, { signal: controller.signal }));
      await turn();
      controller.abort();
      expect((await result).kind).toBe('aborted');
    }
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function openSockets(): number {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kind === 'TCPSocketWrap' || kind === 'TCPConnectWrap').length;
}

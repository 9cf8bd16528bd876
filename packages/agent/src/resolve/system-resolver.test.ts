import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { a, aaaa, cname, type DnsHandler, DnsTestServer } from '../../../../test/support/dns-server.ts';
import { passAfter, underStoppedTime } from '../../../../test/support/stopped-time.ts';
import { type ResolvedAddress, ResolveError, type Resolver } from './resolver.ts';
import { createSystemResolver, numericAddress } from './system-resolver.ts';

const cleanUps: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(handler: DnsHandler): Promise<DnsTestServer> {
  const server = await DnsTestServer.start(handler);
  cleanUps.push(() => server.close());
  return server;
}

/** A resolver with these system files. `conf` is added to the servers in resolv.conf. */
function resolverOf(servers: readonly DnsTestServer[], { hosts = '', conf = 'domain .' } = {}): Resolver {
  const folder = mkdtempSync(join(tmpdir(), 'svc-resolver-'));
  cleanUps.push(() => rmSync(folder, { recursive: true }));
  const paths = { hosts: join(folder, 'hosts'), resolvConf: join(folder, 'resolv.conf') };
  writeFileSync(paths.hosts, hosts);
  const lines = servers.map(({ port }) => `nameserver [127.0.0.1]:${port}`);
  writeFileSync(paths.resolvConf, [...lines, conf].join('\n'));
  const resolver = createSystemResolver(paths);
  cleanUps.push(() => resolver.close());
  return resolver;
}

const V4 = (...addresses: string[]): ResolvedAddress[] =>
  addresses.map((address) => ({ address, family: 4 }));

/** The zone `example`, which has some names and nothing else. */
const zone: DnsHandler = ({ name, type }) => {
  switch (`${name} ${type}`) {
    case 'db.example A':
      return { records: [a(name, '192.0.2.1'), a(name, '192.0.2.2')] };
    case 'db.example AAAA':
      return { records: [aaaa(name, '20010db8000000000000000000000001')] };
    case 'v4.example A':
      return { records: [a(name, '192.0.2.4')] };
    case 'www.example A':
      return {
        records: [
          cname(name, 'cdn.example'),
          cname('cdn.example', 'edge.example'),
          a('edge.example', '192.0.2.3'),
        ],
      };
    case 'xn--bcher-kva.example A':
      return { records: [a(name, '192.0.2.5')] };
    case 'v4.example AAAA':
    case 'www.example AAAA':
    case 'xn--bcher-kva.example AAAA':
    case 'mail.example A':
    case 'mail.example AAAA':
      return {};
    default:
      return { rcode: 3 };
  }
};

describe('answered at once, without a query', () => {
  const hosts = '10.0.0.1 db.example Db\n::1 localhost\n127.0.0.1 localhost';

  test.each<[string, ResolvedAddress[]]>([
    ['192.0.2.1', V4('192.0.2.1')],
    ['::1', [{ address: '::1', family: 6 }]],
    ['[2001:db8::1]', [{ address: '2001:db8::1', family: 6 }]],
    ['127.1', V4('127.0.0.1')],
    ['DB.example', V4('10.0.0.1')],
    ['db.example.', V4('10.0.0.1')],
    ['localhost', [{ address: '::1', family: 6 }, ...V4('127.0.0.1')]],
    ['api.localhost', [...V4('127.0.0.1'), { address: '::1', family: 6 }]],
  ])('%s', async (host, addresses) => {
    const server = await serve(zone);
    expect(resolverOf([server], { hosts }).resolve(host)).toEqual(addresses);
    expect(server.requests).toEqual([]);
  });

  test('localhost, when the hosts file does not know it', () => {
    expect(resolverOf([]).resolve('localhost')).toEqual([...V4('127.0.0.1'), { address: '::1', family: 6 }]);
  });
});

describe('asked for', () => {
  underStoppedTime();

  test('IPv6 and IPv4 in turns', async () => {
    const resolver = resolverOf([await serve(zone)]);
    expect(await resolver.resolve('db.example')).toEqual([
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
    ]);
  });

  test.each([
    ['www.example', '192.0.2.3'],
    ['WWW.Example', '192.0.2.3'],
    ['bücher.example', '192.0.2.5'],
  ])('%s', async (host, address) => {
    expect(await resolverOf([await serve(zone)]).resolve(host)).toEqual(V4(address));
  });

  test('only IPv4 where resolv.conf says no-aaaa', async () => {
    const server = await serve(zone);
    const resolver = resolverOf([server], { conf: 'domain .\noptions no-aaaa' });
    expect(await resolver.resolve('db.example')).toEqual(V4('192.0.2.1', '192.0.2.2'));
    expect(server.requests.map(({ type }) => type)).toEqual(['A']);
  });

  test('with the search list, in the order of ndots', async () => {
    const server = await serve(zone);
    const resolver = resolverOf([server], { conf: 'search nowhere.test example' });
    expect(await resolver.resolve('v4')).toEqual(V4('192.0.2.4'));
    const names = server.requests.filter(({ type }) => type === 'A').map(({ name }) => name);
    expect(names).toEqual(['v4.nowhere.test', 'v4.example']);
  });

  test('again each time: nothing is remembered', async () => {
    const server = await serve(zone);
    const resolver = resolverOf([server]);
    await resolver.resolve('v4.example');
    await resolver.resolve('v4.example');
    expect(server.requests.filter(({ type }) => type === 'A')).toHaveLength(2);
  });

  test('once for look-ups of one name at the same time', async () => {
    const server = await serve(zone);
    const resolver = resolverOf([server]);
    const found = await Promise.all(
      ['v4.example', 'V4.example', 'v4.example'].map((host) => resolver.resolve(host)),
    );
    expect(found).toEqual([V4('192.0.2.4'), V4('192.0.2.4'), V4('192.0.2.4')]);
    expect(server.requests.filter(({ type }) => type === 'A')).toHaveLength(1);
  });

  test('of one server after the other where resolv.conf says rotate', async () => {
    const servers = [await serve(zone), await serve(zone)];
    const resolver = resolverOf(servers, { conf: 'domain .\noptions rotate' });
    await resolver.resolve('v4.example');
    await resolver.resolve('db.example');
    expect(servers.map(({ requests }) => requests.length)).toEqual([2, 2]);
  });
});

describe('an answer of one family', () => {
  describe('read late', () => {
    underStoppedTime();

    test('is completed by an answer of the other family that arrived within the delay and is read later', async () => {
      const late = Promise.withResolvers<void>();
      const server = await serve(async (request) => {
        if (request.type === 'AAAA') await late.promise;
        return zone(request);
      });
      const found = resolverOf([server]).resolve('db.example');
      await passAfter(server, 2, 0);
      late.resolve();
      // The server sends the answer within this turn of the event loop, so the client has not read it yet.
      for (let ticks = 0; ticks < 10; ticks += 1)
        await new Promise<void>((resume) => process.nextTick(resume));
      vi.advanceTimersByTime(50);
      expect(await found).toEqual([
        { address: '2001:db8::1', family: 6 },
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
      ]);
    });
  });

  test('IPv4 does not wait long for an IPv6 answer that never comes', async () => {
    const server = await serve(({ name, type }) =>
      type === 'A' ? { records: [a(name, '192.0.2.1')] } : null,
    );
    // The IPv6 query ends after a minute, so a resolver that waited for its end would outlast the test.
    const resolver = resolverOf([server], { conf: 'domain .\noptions timeout:30' });
    expect(await resolver.resolve('a.example')).toEqual(V4('192.0.2.1'));
  });

  test.each([
    ['SERVFAIL', 2],
    ['no such name', 3],
  ])('IPv6 answered by %s does not spoil IPv4', async (_text, rcode) => {
    let answerA = () => {};
    const aaaaAnswered = new Promise<void>((resolve) => {
      answerA = resolve;
    });
    const server = await serve(async ({ name, type }) => {
      if (type === 'AAAA') {
        setImmediate(answerA);
        return { rcode };
      }
      await aaaaAnswered;
      return { records: [a(name, '192.0.2.1')] };
    });
    expect(await resolverOf([server]).resolve('a.example')).toEqual(V4('192.0.2.1'));
  });
});

describe('failures say what and why', () => {
  test.each([
    ['gone.example', 'ENOTFOUND', 'cannot resolve gone.example: no such name (NXDOMAIN)'],
    ['mail.example', 'ENODATA', 'cannot resolve mail.example: the name has no address (neither A nor AAAA)'],
    ['a..example', 'EBADNAME', 'cannot resolve a..example: the name has an empty label'],
    ['a b', 'EBADNAME', 'cannot resolve a b: not a host name'],
    ['', 'EBADNAME', 'cannot resolve : not a host name'],
  ])('%s: %s', async (host, code, message) => {
    const resolver = resolverOf([await serve(zone)]);
    await expect(resolver.resolve(host)).rejects.toThrow(expect.objectContaining({ code, message }));
    await expect(resolver.resolve(host)).rejects.toBeInstanceOf(ResolveError);
  });

  test('SERVFAIL of all servers', async () => {
    const server = await serve(() => ({ rcode: 2 }));
    await expect(resolverOf([server]).resolve('a.example')).rejects.toMatchObject({
      code: 'ESERVFAIL',
      message: `cannot resolve a.example: SERVFAIL from ${server.address}`,
    });
  });

  test('silence, for as long as resolv.conf says', async () => {
    const server = await serve(() => null);
    const resolver = resolverOf([server], { conf: 'domain .\noptions timeout:1 attempts:1 no-aaaa' });
    await expect(resolver.resolve('a.example')).rejects.toMatchObject({
      code: 'ETIMEOUT',
      message: `cannot resolve a.example: timed out: no answer from ${server.address}`,
    });
    expect(server.requests.length).toBeGreaterThan(1);
  });

  test('a failing server is passed over', async () => {
    const failing = await serve(() => ({ rcode: 2 }));
    const good = await serve(zone);
    expect(await resolverOf([failing, good]).resolve('v4.example')).toEqual(V4('192.0.2.4'));
  });
});

describe('giving up', () => {
  test('an aborted look-up rejects at once, and a concurrent one continues', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await serve(async (request) => {
      await released;
      return zone(request);
    });
    const resolver = resolverOf([server]);
    const controller = new AbortController();
    const aborted = resolver.resolve('v4.example', controller.signal);
    const beside = resolver.resolve('v4.example');
    controller.abort(new Error('given up'));
    await expect(aborted).rejects.toThrow('given up');
    release();
    expect(await beside).toEqual(V4('192.0.2.4'));
  });

  test('after the last caller has given up, the next look-up asks again', async () => {
    const server = await serve(() => null);
    const resolver = resolverOf([server]);
    const controller = new AbortController();
    const aborted = resolver.resolve('v4.example', controller.signal);
    controller.abort(new Error('given up'));
    await expect(aborted).rejects.toThrow('given up');
    server.handle(zone);
    expect(await resolver.resolve('v4.example')).toEqual(V4('192.0.2.4'));
  });

  test('closing rejects what is open', async () => {
    const resolver = resolverOf([await serve(() => null)]);
    const open = expect(resolver.resolve('v4.example')).rejects.toMatchObject({ code: 'ECANCELLED' });
    await resolver.close();
    await open;
  });
});

test.each([
  ['127.1', '127.0.0.1'],
  ['127.0.1', '127.0.0.1'],
  ['10.258', '10.0.1.2'],
  ['2130706433', '127.0.0.1'],
  ['0x7f000001', '127.0.0.1'],
  ['0X7F.1', '127.0.0.1'],
  ['0177.0.0.1', '127.0.0.1'],
  ['0', '0.0.0.0'],
  ['4294967295', '255.255.255.255'],
])('%s is %s', (text, address) => {
  expect(numericAddress(text)).toBe(address);
});

test.each([
  '',
  '.',
  '4294967296',
  '256.1',
  '1.256.1',
  '1.2.3.256',
  '1.2.3.4.5',
  '1..2',
  '08',
  '0x',
  '-1',
  '1e3',
  'a',
  '1.a',
])('"%s" is no address', (text) => {
  expect(numericAddress(text)).toBeNull();
});

test('every spelling of an address is that address', () => {
  const byte = fc.nat(255);
  const radix = fc.constantFrom(
    (part: number) => String(part),
    (part: number) => `0x${part.toString(16)}`,
    (part: number) => `0${part.toString(8)}`,
  );
  fc.assert(
    fc.property(
      fc.tuple(byte, byte, byte, byte),
      fc.integer({ min: 1, max: 4 }),
      radix,
      (bytes, count, spell) => {
        const last = bytes.slice(count - 1).reduce((sum, part) => sum * 256 + part, 0);
        const text = [...bytes.slice(0, count - 1), last].map(spell).join('.');
        expect(numericAddress(text)).toBe(bytes.join('.'));
      },
    ),
  );
});

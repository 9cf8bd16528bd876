import { BlockList, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEgressGuard, deniedHost, EgressDeniedError, parseCidrList } from './egress.ts';

const agent = createEgressGuard({ base: 'agent', deny: [], allow: [] });
const channel = createEgressGuard({ base: 'channel', deny: [], allow: [] });

const v4 = fc.ipV4();
const v6 = fc.ipV6().filter((address) => isIPv6(address));

/** `a.b.c.d` as the two last groups of an IPv6 address. */
function groups(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

const translated: [string, (address: string) => string][] = [
  ['IPv4-mapped', (address) => `::ffff:${address}`],
  ['IPv4-mapped, in hexadecimal', (address) => `::ffff:${groups(address)}`],
  ['NAT64', (address) => `64:ff9b::${groups(address)}`],
  ['SIIT', (address) => `::ffff:0:${groups(address)}`],
  ['6to4', (address) => `2002:${groups(address)}::1`],
];

describe('what agents deny by default', () => {
  test.each([
    '169.254.169.254',
    '169.254.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:a9fe:a9fe::1',
    'fd00:42::42',
    'FD00:0EC2:0::254',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
  ])('%s is denied', (address) => {
    expect(agent.verdict(address).allowed).toBe(false);
  });

  test.each([
    '127.0.0.1',
    '::1',
    '10.0.0.1',
    '192.168.1.1',
    'fd00::1',
    '100.64.0.1',
    '8.8.8.8',
    '2606:4700::1111',
    '::ffff:10.0.0.1',
  ])('%s is allowed: people monitor their own networks', (address) => {
    expect(agent.verdict(address)).toEqual({ allowed: true });
  });
});

describe('what channels deny by default', () => {
  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.19.255.255',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '2001::1',
    '2002:808:808::1',
    'fc00::1',
    'fdff::1',
    'fe80::1',
    'ff02::1',
  ])('%s is denied', (address) => {
    expect(channel.verdict(address).allowed).toBe(false);
  });

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
    '::ffff:8.8.8.8',
  ])('%s is public', (address) => {
    expect(channel.verdict(address)).toEqual({ allowed: true });
  });

  test('the rule is named', () => {
    expect(channel.verdict('10.1.2.3')).toEqual({ allowed: false, rule: '10.0.0.0/8, private' });
  });
});

describe("the operator's lists", () => {
  test('DENY adds to the default', () => {
    const guard = createEgressGuard({ base: 'agent', deny: ['10.0.0.0/8', '2001:db8::/32'], allow: [] });
    expect(guard.verdict('10.1.2.3')).toEqual({ allowed: false, rule: '10.0.0.0/8' });
    expect(guard.verdict('2001:db8::1').allowed).toBe(false);
    expect(guard.verdict('169.254.1.1').allowed).toBe(false);
    expect(guard.verdict('11.0.0.1').allowed).toBe(true);
  });

  test('ALLOW beats DENY and the default', () => {
    const guard = createEgressGuard({
      base: 'channel',
      deny: ['8.8.8.8'],
      allow: ['10.1.0.0/16', '8.8.8.8', '169.254.169.254'],
    });
    expect(guard.verdict('10.1.2.3').allowed).toBe(true);
    expect(guard.verdict('::ffff:10.1.2.3').allowed).toBe(true);
    expect(guard.verdict('10.2.2.3').allowed).toBe(false);
    expect(guard.verdict('8.8.8.8').allowed).toBe(true);
    expect(guard.verdict('169.254.169.254').allowed).toBe(true);
  });

  test('allowing a translator does not allow what lies behind it', () => {
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['64:ff9b::/96'] });
    expect(guard.verdict('64:ff9b::808:808').allowed).toBe(true);
    expect(guard.verdict('64:ff9b::a00:1').allowed).toBe(false);
  });

  test.each([
    ['0.0.0.0', '127.0.0.0/8'],
    ['::ffff:0.0.0.0', '127.0.0.0/8'],
    ['::', '::1'],
    ['0:0:0:0:0:0:0:0', '::1'],
  ])('%s is denied where %s is: Linux connects it to loopback', (address, rule) => {
    const guard = createEgressGuard({ base: 'agent', deny: ['127.0.0.0/8', '::1'], allow: [] });
    expect(guard.verdict(address)).toEqual({ allowed: false, rule });
    expect(agent.verdict(address)).toEqual({ allowed: true });
  });

  test('everything may be denied but an exception', () => {
    const guard = createEgressGuard({ base: 'agent', deny: ['0.0.0.0/0', '::/0'], allow: ['10.0.0.0/8'] });
    expect(guard.verdict('8.8.8.8').allowed).toBe(false);
    expect(guard.verdict('2606:4700::1111').allowed).toBe(false);
    expect(guard.verdict('10.0.0.1').allowed).toBe(true);
  });
});

test.each([
  '',
  'example.com',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '[::1]',
  '10.0.0.1:80',
  '1.2.3.4/8',
])('"%s" is no address and denied', (text) => {
  expect(agent.verdict(text)).toEqual({ allowed: false, rule: 'not an IP address' });
});

describe('properties', () => {
  test.each(translated)('an %s address is denied whenever the IPv4 address in it is', (_name, translate) => {
    fc.assert(
      fc.property(fc.oneof(v4, fc.constantFrom('10.0.0.1', '127.0.0.1', '169.254.169.254')), (address) => {
        for (const guard of [agent, channel]) {
          if (!guard.verdict(address).allowed) expect(guard.verdict(translate(address)).allowed).toBe(false);
        }
      }),
    );
  });

  test('what channels may reach, agents may reach', () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6), (address) => {
        if (channel.verdict(address).allowed) expect(agent.verdict(address).allowed).toBe(true);
      }),
    );
  });

  test('an IPv4 CIDR covers what node:net says it covers', () => {
    fc.assert(
      fc.property(v4, fc.integer({ min: 0, max: 32 }), v4, (network, prefix, address) => {
        const base = masked(network, prefix);
        const list = new BlockList();
        list.addSubnet(base, prefix, 'ipv4');
        const guard = createEgressGuard({ base: 'agent', deny: [`${base}/${prefix}`], allow: [] });
        if (list.check(address, 'ipv4')) expect(guard.verdict(address).allowed).toBe(false);
        else expect(guard.verdict(address)).toEqual(agent.verdict(address));
      }),
    );
  });

  test('a verdict does not depend on what was asked before', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(v4, v6), { maxLength: 20 }), (addresses) => {
        for (const address of addresses) {
          const fresh = createEgressGuard({ base: 'channel', deny: [], allow: [] });
          expect(channel.verdict(address)).toEqual(fresh.verdict(address));
        }
      }),
    );
  });

  test('the cache is bounded and stays right when it overflows', () => {
    const guard = createEgressGuard({ base: 'channel', deny: [], allow: [] });
    for (let n = 0; n < 10_000; n += 1) {
      const address = `10.0.${n >> 8}.${n & 255}`;
      expect(guard.verdict(address).allowed).toBe(false);
    }
    expect(guard.verdict('8.8.8.8').allowed).toBe(true);
  });
});

describe('parseCidrList', () => {
  test('takes commas, white space and both at once', () => {
    expect(parseCidrList(' 10.0.0.0/8, fd00::/8\n192.0.2.1,,')).toEqual([
      '10.0.0.0/8',
      'fd00::/8',
      '192.0.2.1',
    ]);
    expect(parseCidrList('')).toEqual([]);
  });

  test.each([
    ['10.0.0.0/33', '"10.0.0.0/33": the prefix length must be 0 to 32'],
    ['fd00::/129', '"fd00::/129": the prefix length must be 0 to 128'],
    ['10.0.0.0/', '"10.0.0.0/": the prefix length must be 0 to 32'],
    ['10.0.0.0/-1', '"10.0.0.0/-1": the prefix length must be 0 to 32'],
    ['10.0.0.1/8', '"10.0.0.1/8" has bits set after its prefix; did you mean 10.0.0.0/8?'],
    ['fd00::1/8', '"fd00::1/8" has bits set after its prefix; did you mean fd00::/8?'],
    ['10.0/16', '"10.0/16" is neither an IP address nor a CIDR such as 10.0.0.0/8 or fd00::/8'],
    ['example.com', '"example.com" is neither an IP address nor a CIDR such as 10.0.0.0/8 or fd00::/8'],
    ['10.0.0.0/8/8', '"10.0.0.0/8/8" is neither an IP address nor a CIDR such as 10.0.0.0/8 or fd00::/8'],
    ['fe80::1%eth0', '"fe80::1%eth0" is neither an IP address nor a CIDR such as 10.0.0.0/8 or fd00::/8'],
    ['::ffff:10.0.0.0/104', '"::ffff:10.0.0.0/104": write IPv4-mapped ranges as IPv4'],
  ])('refuses %s', (text, message) => {
    expect(() => parseCidrList(`192.0.2.0/24, ${text}`)).toThrow(new TypeError(message));
  });
});

test('a denied connection names address and rule', () => {
  const error = new EgressDeniedError('10.0.0.1', '10.0.0.0/8');
  expect(error).toMatchObject({ code: 'EEGRESS', address: '10.0.0.1' });
  expect(error.message).toBe(
    "connections to 10.0.0.1 are denied by the operator's egress rules (10.0.0.0/8)",
  );
});

function masked(address: string, prefix: number): string {
  return address
    .split('.')
    .map((byte, index) => Number(byte) & (0xff00 >> Math.min(8, Math.max(0, prefix - index * 8))) & 0xff)
    .join('.');
}

const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['10.1.0.0/16'] });

test.each([
  ['http://10.0.0.1:4318', '10.0.0.1', 'private'],
  ['https://127.0.0.1/v1/metrics', '127.0.0.1', 'loopback'],
  ['http://0x7f.1/', '127.0.0.1', 'loopback'],
  ['http://2130706433/', '127.0.0.1', 'loopback'],
  ['http://[::1]:4318', '::1', 'loopback'],
  ['http://[::ffff:169.254.169.254]/', '::ffff:a9fe:a9fe', 'metadata'],
  ['http://169.254.169.254/latest', '169.254.169.254', 'metadata'],
  ['http://localhost:4318', 'localhost', 'loopback'],
  ['http://otel.LOCALHOST./', 'otel.localhost', 'loopback'],
])('%s is at a place that is denied', (url, host, rule) => {
  const said = deniedHost(guard, url);
  expect(said).toContain(`is at ${host}, which svc does not connect to (`);
  expect(said).toContain(rule);
  expect(said).toMatch(/SVC_CHANNEL_EGRESS_ALLOW$/);
});

test.each([
  'https://collector.example.com',
  'http://10.1.2.3:4318',
  'https://1.1.1.1/',
  'http://[2606:4700::1]/',
  'http://notlocalhost/',
])('%s is not denied by its text', (url) => {
  expect(deniedHost(guard, url)).toBeNull();
});

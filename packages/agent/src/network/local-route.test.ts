import { expect, test } from 'vitest';
import { ipv6Reach, noIpv6For, noLocalRoute, usableAddresses } from './local-route.ts';

const failed = (address: string, code: string) => ({ address: { address, family: 4 as const }, code });

test('with a route to one of the addresses, the failure is not ours', async () => {
  expect(await noLocalRoute([failed('127.0.0.1', 'EACCES')])).toBeNull();
  expect(
    await noLocalRoute([failed('255.255.255.255', 'ENETUNREACH'), failed('127.0.0.1', 'ENETUNREACH')]),
  ).toBeNull();
});

test('an address that the kernel refuses to send to has no route', async () => {
  // Without SO_BROADCAST, every machine refuses a broadcast in the same way as a `prohibit` route does.
  expect(await noLocalRoute([failed('255.255.255.255', 'ENETUNREACH')])).toEqual({
    reason: 'network-down',
    message:
      "the agent's machine refuses to send to 255.255.255.255 (EACCES: a prohibit route, or a broadcast address)",
  });
});

test.each(['EINVAL', 'EPERM'])('%s is always ours', async (code) => {
  expect(await noLocalRoute([failed('127.0.0.1', code)])).toMatchObject({ reason: 'network-down' });
});

test('an address that is tentative is not usable yet', () => {
  const table = `fe80000000000000020000fffe000001 02 40 20 80     eth0
20010db8000000000000000000000001 02 40 00 c0     eth0
20010db8000000000000000000000002 02 40 00 44     eth0
00000000000000000000000000000001 01 80 10 80       lo
`;
  expect(usableAddresses(table)).toEqual(['fe80::200:ff:fe00:1', '2001:db8::2', '::1']);
  expect(usableAddresses('')).toEqual([]);
});

test.each([
  ['link', ['::1', 'fe80::1', 'FE90::2']],
  ['site', ['::1', 'fe80::1', 'fd77::2']],
  ['site', ['fc00::1']],
  ['world', ['fe80::1', 'fd77::2', '2001:db8::1']],
  ['link', ['::ffff:192.0.2.1']],
] as const)('IPv6 reaches as far as the %s by the addresses %j', (reach, addresses) => {
  expect(ipv6Reach(addresses)).toBe(reach);
});

test('an address of this machine, or an IPv4 address among the addresses, needs no IPv6', () => {
  expect(noIpv6For([{ address: '::1', family: 6 }])).toBeNull();
  expect(noIpv6For([{ address: '::ffff:127.0.0.1', family: 6 }])).toBeNull();
  expect(
    noIpv6For([
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.1', family: 4 },
    ]),
  ).toBeNull();
});

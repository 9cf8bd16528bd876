import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { ipv6Reach, noIpv6For, noLocalRoute } from './local-route.ts';

test('where there is a route to one of the addresses the failure is not ours', async () => {
  expect(await noLocalRoute([{ address: '127.0.0.1', family: 4 }])).toBeNull();
  expect(
    await noLocalRoute([
      { address: '255.255.255.255', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]),
  ).toBeNull();
});

test('an address that the kernel refuses to look up has none', async () => {
  // Broadcast without SO_BROADCAST: refused as a missing route is, on every machine.
  expect(await noLocalRoute([{ address: '255.255.255.255', family: 4 }])).toEqual({
    reason: 'network-down',
    message: "the agent's machine has no route to 255.255.255.255",
  });
});

test.each([
  ['link', ['::1', 'fe80::1', 'FE90::2']],
  ['site', ['::1', 'fe80::1', 'fd77::2']],
  ['site', ['fc00::1']],
  ['world', ['fe80::1', 'fd77::2', '2001:db8::1']],
  ['link', ['::ffff:192.0.2.1']],
] as const)('IPv6 reaches as far as the %s by the addresses %j', (reach, addresses) => {
  const all = addresses.map(
    (address) => ({ family: 'IPv6', address, internal: false }) as NetworkInterfaceInfo,
  );
  expect(ipv6Reach({ eth0: all })).toBe(reach);
  expect(ipv6Reach({ lo: all.map((each) => ({ ...each, internal: true })) })).toBe(reach);
});

test('an address of this machine, one of IPv4, or one of IPv4 beside, needs no IPv6', () => {
  expect(noIpv6For([{ address: '::1', family: 6 }])).toBeNull();
  expect(noIpv6For([{ address: '::ffff:127.0.0.1', family: 6 }])).toBeNull();
  expect(
    noIpv6For([
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.1', family: 4 },
    ]),
  ).toBeNull();
});

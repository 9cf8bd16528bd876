import { createServer, type Server } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { DnsTestServer } from '../../../../test/support/dns-server.ts';
import { fixedResolver } from '../../../../test/support/http-check.ts';
import { MemoryBus } from '../../../../test/support/memory-bus.ts';
import { DnsClient } from '../dns/client.ts';
import type { Family } from './families.ts';
import {
  createReferenceList,
  dnsReference,
  gatewayIn,
  ipv6GatewayIn,
  type ReferenceList,
  type ReferenceListParts,
  tcpReference,
} from './reference-list.ts';
import type { Reference } from './references.ts';

let opened: ReferenceList[] = [];

afterEach(async () => {
  await Promise.all(opened.map((list) => list.close()));
  opened = [];
});

/**
 * Names of the references. Unless `hosts` is given, the gateways and
 * name servers of the machine that the test runs on are among them.
 */
async function listed(parts: Partial<ReferenceListParts>): Promise<string[]> {
  const list = createReferenceList({
    hosts: undefined,
    dnsServers: undefined,
    natsUrl: 'nats://127.0.0.1:4222',
    bus: new MemoryBus(),
    ...parts,
  });
  opened.push(list);
  // The first call starts the look-up of the NATS server's address.
  list.list();
  await turn();
  return list.list().map(({ name }) => name);
}

const ofNats = (names: readonly string[]): string[] => names.filter((name) => name.endsWith('(nats)'));

test("the operator's hosts are the only references", async () => {
  const hosts = ['192.0.2.1:443', '[2001:db8::1]:80', 'ref.test:53'];
  expect(await listed({ hosts, natsUrl: 'nats://192.0.2.9:4222', dnsServers: ['192.0.2.53'] })).toEqual([
    '192.0.2.1:443 (tcp)',
    '[2001:db8::1]:80 (tcp)',
    'ref.test:53 (tcp)',
  ]);
});

test('name servers count only outside of this machine', async () => {
  const names = await listed({ dnsServers: ['192.0.2.53', '127.0.0.53', '[2001:db8::53]:5353', '[::1]:53'] });
  expect(names).toEqual(expect.arrayContaining(['192.0.2.53:53 (dns)', '[2001:db8::53]:5353 (dns)']));
  expect(names.filter((name) => /^(127\.|\[::1\])/.test(name))).toEqual([]);
});

test.each([
  ['nats://127.0.0.1:4222', []],
  ['nats://localhost:4222', []],
  ['tls://192.0.2.9', ['192.0.2.9:4222 (nats)']],
  ['nats://192.0.2.9:4222, nats://[2001:db8::9]:4333', ['192.0.2.9:4222,2001:db8::9:4333 (nats)']],
  ['nats://192.0.2.9:4222,nats://127.0.0.1:4222', []],
])('of the NATS servers %j the references are %j', async (natsUrl, expected) => {
  expect(ofNats(await listed({ natsUrl }))).toEqual(expected);
});

test.each([
  ['nats://192.0.2.9:4222', 4],
  ['nats://[2001:db8::9]:4222', 6],
  ['nats://192.0.2.9:4222,nats://[2001:db8::9]:4222', null],
] as const)('a round trip to %j is an answer by family %s', async (natsUrl, family) => {
  const list = createReferenceList({
    hosts: undefined,
    dnsServers: undefined,
    natsUrl,
    bus: new MemoryBus(),
  });
  opened.push(list);
  list.list();
  await turn();
  const heard: (Family | null)[] = [];
  const nats = list.list().find(({ name }) => name.endsWith('(nats)'));
  await nats?.askReference(new AbortController().signal, (each) => heard.push(each));
  expect(heard).toEqual([family]);
});

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const route = (destination: string, gateway: string, metric: number, mask: string): string =>
  `eth0\t${destination}\t${gateway}\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0   \n`;

test('the gateway of the default route with the lowest metric', () => {
  const routes =
    HEAD +
    route('000200C0', '00000000', 0, '00FFFFFF') +
    route('00000000', '0101A8C0', 600, '00000000') +
    route('00000000', '010200C0', 100, '00000000');
  expect(gatewayIn(routes)).toBe('192.0.2.1');
});

test('no gateway, when there is no default route or it has no gateway', () => {
  expect(gatewayIn(HEAD)).toBeNull();
  expect(gatewayIn(HEAD + route('00000000', '00000000', 0, '00000000'))).toBeNull();
  expect(gatewayIn('')).toBeNull();
});

const ZERO = '0'.repeat(32);
const LINE = (hop: string, metric: string, flags: string, device: string, to = ZERO, length = '00') =>
  `${to} ${length} ${ZERO} 00 ${hop} ${metric} 00000001 00000000 ${flags}     ${device}`;
const ROUTER = 'fe80000000000000000000000000000a';
const GLOBAL = '20010db8000000000000000000000001';

test.each([
  ['', null],
  [LINE(ZERO, 'ffffffff', '00200200', 'lo'), null],
  [LINE(GLOBAL, '00000400', '00000003', 'eth0'), '2001:0db8:0000:0000:0000:0000:0000:0001'],
  [LINE(ROUTER, '00000400', '00450003', 'eth0'), 'fe80:0000:0000:0000:0000:0000:0000:000a%eth0'],
  [
    [LINE(ROUTER, '00000400', '00450003', 'eth0'), LINE(GLOBAL, '00000100', '00000003', 'eth1')].join('\n'),
    '2001:0db8:0000:0000:0000:0000:0000:0001',
  ],
  [LINE(ROUTER, '00000400', '00000003', 'eth0', GLOBAL, '40'), null],
])('the IPv6 gateway in %j is %s', (routes, gateway) => {
  expect(ipv6GatewayIn(routes)).toBe(gateway);
});

const closing: (() => Promise<unknown>)[] = [];
const never = new AbortController().signal;

/** The address families of the answers that the reference gives. */
async function heardFrom(reference: Reference, signal = never): Promise<(Family | null)[]> {
  const heard: (Family | null)[] = [];
  await reference.askReference(signal, (family) => heard.push(family));
  return heard;
}

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

test('any answer of a name server counts; a missing or silent one does not answer', async () => {
  const client = new DnsClient();
  const server = await DnsTestServer.start(() => ({ rcode: 5 }));
  const silent = await DnsTestServer.start(() => null);
  closing.push(
    () => client.close(),
    () => server.close(),
    () => silent.close(),
  );
  const at = (port: number) => dnsReference({ host: '127.0.0.1', port }, client);
  expect(await heardFrom(at(server.port))).toEqual([4]);
  expect(await heardFrom(at(1))).toEqual([]);
  const stop = new AbortController();
  const asked = heardFrom(at(silent.port), stop.signal);
  stop.abort();
  expect(await asked).toEqual([]);
});

test('an address of this machine is no reference', async () => {
  const server: Server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(() => new Promise((closed) => server.close(closed)));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const resolver = fixedResolver({ 'here.test': ['127.0.0.1'] });
  expect(await heardFrom(tcpReference({ host: '127.0.0.1', port }, resolver))).toEqual([]);
  expect(await heardFrom(tcpReference({ host: 'here.test', port }, resolver))).toEqual([]);
  expect(await heardFrom(tcpReference({ host: 'gone.test', port }, resolver))).toEqual([]);
});

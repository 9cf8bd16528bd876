import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { MemoryBus } from '../../../../test/support/memory-bus.ts';
import type { Family } from './families.ts';
import { createReferenceList, type ReferenceList, type ReferenceListParts } from './reference-list.ts';

let opened: ReferenceList[] = [];

afterEach(async () => {
  await Promise.all(opened.map((list) => list.close()));
  opened = [];
});

/** Names of the references, but for the gateways of the machine that the test runs on. */
async function listed(parts: Partial<ReferenceListParts>): Promise<string[]> {
  const list = createReferenceList({
    hosts: undefined,
    dnsServers: undefined,
    natsUrl: 'nats://127.0.0.1:4222',
    bus: new MemoryBus(),
    ...parts,
  });
  opened.push(list);
  // The address of the NATS server is looked up at the first call.
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

test('name servers count as far as they are outside of this machine', async () => {
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
  await nats?.ask(new AbortController().signal, (each) => heard.push(each));
  expect(heard).toEqual([family]);
});

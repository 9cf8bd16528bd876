import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { DnsTestServer } from '../../../../test/support/dns-server.ts';
import { fixedResolver } from '../../../../test/support/http-check.ts';
import { DnsClient } from '../dns/client.ts';
import { dnsReference, tcpReference } from './asking.ts';
import type { Family } from './families.ts';
import type { Reference } from './references.ts';

const closing: (() => Promise<unknown>)[] = [];
const never = new AbortController().signal;

/** The families that the reference answers by. */
async function heardFrom(reference: Reference, signal = never): Promise<(Family | null)[]> {
  const heard: (Family | null)[] = [];
  await reference.ask(signal, (family) => heard.push(family));
  return heard;
}

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

test('a name server answers, whatever it says; one that is not there or silent does not', async () => {
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

test('what this machine answers itself is no reference', async () => {
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

import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { DnsTestServer } from '../../../../test/support/dns-server.ts';
import { fixedResolver } from '../../../../test/support/http-check.ts';
import { DnsClient } from '../dns/client.ts';
import { dnsReference, tcpReference } from './asking.ts';

const closing: (() => Promise<unknown>)[] = [];
const never = new AbortController().signal;

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
  expect(await at(server.port).ask(never)).toBe(true);
  expect(await at(1).ask(never)).toBe(false);
  const stop = new AbortController();
  const asked = at(silent.port).ask(stop.signal);
  stop.abort();
  expect(await asked).toBe(false);
});

test('what this machine answers itself is no reference', async () => {
  const server: Server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(() => new Promise((closed) => server.close(closed)));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const resolver = fixedResolver({ 'here.test': ['127.0.0.1'] });
  expect(await tcpReference({ host: '127.0.0.1', port }, resolver).ask(never)).toBe(false);
  expect(await tcpReference({ host: 'here.test', port }, resolver).ask(never)).toBe(false);
  expect(await tcpReference({ host: 'gone.test', port }, resolver).ask(never)).toBe(false);
});

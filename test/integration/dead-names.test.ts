import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { createTcpProbe } from '@svc/agent/probes/tcp/probe.ts';
import { createSystemResolver } from '@svc/agent/resolve/system-resolver.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { TcpCheck } from '@svc/shared/messages/check.ts';
import { afterEach, expect, test } from 'vitest';
import { a, DnsTestServer } from '../support/dns-server.ts';

const DEAD = 200;
const HEALTHY = 1_000;
/**
 * Healthy checks in progress at a time. They are fewer than the dead ones, so that waiting in a shared queue
 * would be noticed.
 */
const AT_ONCE = 50;

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

test(`${HEALTHY} healthy checks pass while ${DEAD} names never answer`, async () => {
  const dns = await DnsTestServer.start(({ name, type }) => {
    if (name.endsWith('.dead.example')) return null;
    return type === 'A' ? { records: [a(name, '127.0.0.1')] } : {};
  });
  cleanUps.push(() => dns.close());
  const port = await listen();
  const probe = tcpProbe(dns.port);

  const stopping = new AbortController();
  const dead: ProbeOutcome[] = [];
  const pending = Array.from({ length: DEAD }, async (_, n) => {
    const outcome = await probe.run(check(`name-${n}.dead.example:${port}`), {
      timeoutMs: 600_000,
      signal: stopping.signal,
    });
    dead.push(outcome);
  });

  const healthy: ProbeOutcome[] = [];
  const targets = Array.from({ length: HEALTHY }, (_, n) => check(`name-${n}.alive.example:${port}`));
  const worker = async () => {
    for (let next = targets.pop(); next !== undefined; next = targets.pop()) {
      healthy.push(await probe.run(next, { timeoutMs: 60_000, signal: stopping.signal }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  expect(healthy.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(healthy).toHaveLength(HEALTHY);
  expect(dead).toEqual([]);

  stopping.abort();
  await Promise.all(pending);
  expect(dead.map(({ reason }) => reason)).toEqual(new Array(DEAD).fill('shutting-down'));
});

function check(uri: string): TcpCheck {
  return { type: 'tcp', uri, timeout: 60_000, retry: 0, degraded_at: 0 };
}

function tcpProbe(dnsPort: number) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-dead-names-'));
  cleanUps.push(() => rmSync(folder, { recursive: true }));
  const resolvConf = join(folder, 'resolv.conf');
  writeFileSync(resolvConf, `nameserver [127.0.0.1]:${dnsPort}\ndomain .\noptions timeout:30 attempts:5\n`);
  const resolver = createSystemResolver({ hosts: join(folder, 'none'), resolvConf });
  cleanUps.push(() => resolver.close());
  return createTcpProbe({ resolver, egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }) });
}

async function listen(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUps.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guardProcess } from '../../deploy/local/guard.ts';
import { DnsClient } from '../../packages/agent/src/dns/client.ts';
import type { DnsReply } from '../../packages/agent/src/dns/open-question.ts';
import { freePort } from './free-port.ts';

/** The program's path, or null; Debian keeps servers in folders that a user's PATH leaves out. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

export type RealDnsServer = { port: number; address: string; stop(): Promise<void> };

/** BIND, authoritative for one zone, on loopback. */
export async function startNamed(program: string, origin: string, zone: string): Promise<RealDnsServer> {
  return start(program, origin, async (folder, port) => {
    await writeFile(join(folder, 'zone'), zone);
    const configuration = `options {
      directory "${folder}"; pid-file none; session-keyfile none; recursion no; dnssec-validation no;
      max-records-per-type 0;
      listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
    };
    controls { };
    zone "${origin}" { type primary; file "${join(folder, 'zone')}"; };`;
    await writeFile(join(folder, 'named.conf'), configuration);
    return ['-f', '-c', join(folder, 'named.conf')];
  });
}

/** dnsmasq on loopback with only these options, one of which must be about the name. */
export function startDnsmasq(
  program: string,
  origin: string,
  options: readonly string[],
): Promise<RealDnsServer> {
  return start(program, origin, (_folder, port) => [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    '--pid-file=',
    '--user=',
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
    `--port=${port}`,
    ...options,
  ]);
}

async function start(
  program: string,
  origin: string,
  argumentsFor: (folder: string, port: number) => Promise<readonly string[]> | readonly string[],
): Promise<RealDnsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-dns-'));
  const port = await freePort();
  const child = spawn(program, [...(await argumentsFor(folder, port))], { stdio: 'ignore' });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  await answers(child, origin, port);
  return {
    port,
    address: `127.0.0.1:${port}`,
    async stop() {
      if (child.exitCode === null) {
        child.kill();
        await once(child, 'exit');
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the server knows the name. The time-out of the test bounds the wait. */
async function answers(child: ChildProcess, origin: string, port: number): Promise<void> {
  const client = new DnsClient();
  const policy = { servers: [{ host: '127.0.0.1', port }], waitMs: () => 200, tries: 5, timeoutMs: 1_000 };
  try {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`the DNS server ended with exit code ${child.exitCode}`);
      const reply = await new Promise<DnsReply>((settle) => {
        client.askServers({ name: origin, type: 'A' }, policy, settle);
      });
      if (reply.kind === 'answer') return;
      await delay(50);
    }
  } finally {
    await client.close();
  }
}

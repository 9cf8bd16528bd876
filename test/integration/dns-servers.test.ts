import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { DnsCheck, RecordType } from '@svc/shared/messages/check.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordsOf, textOf } from '../../packages/agent/src/dns/answers.ts';
import { DnsClient } from '../../packages/agent/src/dns/client.ts';
import { createDnsProbe } from '../../packages/agent/src/probes/dns/probe.ts';
import { findProgram, type RealDnsServer, startDnsmasq, startNamed } from '../support/real-dns-server.ts';

/** The agent's DNS with BIND, dnsmasq and dig, as far as they are installed (`.ci/run` installs them). */
const isCi = process.env.CI === 'true';
const dig = findProgram('dig');

/**
 * 4,000 address records of 16 bytes each: more than a datagram holds, and nearly as much as a DNS message
 * over TCP can hold.
 */
const MANY = Array.from({ length: 4_000 }, (_, n) => `10.${n >> 16}.${(n >> 8) & 0xff}.${n & 0xff}`);

const ZONE = `$TTL 60
@ IN SOA ns.example.test. root.example.test. 1 3600 600 86400 60
@ IN NS ns
ns IN A 127.0.0.1
@ IN A 192.0.2.1
@ IN AAAA 2001:db8:0:0::0001
@ IN MX 10 Mail
@ IN TXT "v=spf1 " "-all"
@ IN TXT "say \\"hi\\""
www IN CNAME second
second IN CNAME third
third IN CNAME @
dangling IN CNAME gone
mail IN A 192.0.2.25
${MANY.map((address) => `many IN A ${address}`).join('\n')}
`;

const DNSMASQ = [
  '--auth-ttl=60',
  '--local=/example.test/',
  '--host-record=example.test,192.0.2.1,2001:db8::1',
  '--mx-host=example.test,Mail.example.test,10',
  '--txt-record=example.test,v=spf1 ,-all',
  '--txt-record=example.test,say "hi"',
  '--cname=third.example.test,example.test',
  '--cname=second.example.test,third.example.test',
  '--cname=www.example.test,second.example.test',
];

const SERVERS = [
  { name: 'named', start: (program: string) => startNamed(program, 'example.test', ZONE) },
  { name: 'dnsmasq', start: (program: string) => startDnsmasq(program, 'example.test', DNSMASQ) },
];

describe.each(SERVERS)('with $name', ({ name, start }) => {
  const program = findProgram(name);
  const skips = program === null && !isCi;
  const client = new DnsClient();
  let server: RealDnsServer;

  beforeAll(async () => {
    if (skips) return;
    if (program === null) throw new Error(`${name} is not installed`);
    server = await start(program);
  });
  afterAll(async () => {
    await client.close();
    await server?.stop();
  });

  function run(assertions: DnsCheck['record_assertions'], uri = 'example.test') {
    const probe = createDnsProbe({ servers: [server.address] });
    const check: DnsCheck = {
      type: 'dns',
      uri,
      record_assertions: assertions,
      timeout: 60_000,
      retry: 0,
      degraded_at: 0,
    };
    return probe
      .run(check, { timeoutMs: 60_000, signal: new AbortController().signal })
      .finally(() => probe.close());
  }

  async function seen(question: { name: string; type: RecordType }): Promise<string[]> {
    const policy = {
      servers: [{ host: '127.0.0.1', port: server.port }],
      waitMs: () => 500,
      tries: 50,
      timeoutMs: 60_000,
    };
    return new Promise((resolve, reject) => {
      client.askServers(question, policy, (reply) => {
        if (reply.kind !== 'answer') reject(new Error(reply.why));
        else resolve(recordsOf(reply.message, question.name, question.type).map(textOf));
      });
    });
  }

  test.skipIf(skips).each<[string, DnsCheck['record_assertions'], string?]>([
    ['A', [{ record: 'A', comparator: 'eq', target: '192.0.2.1' }]],
    ['A at the end of a chain', [{ record: 'A', comparator: 'eq', target: '192.0.2.1' }], 'www.example.test'],
    ['AAAA as typed', [{ record: 'AAAA', comparator: 'eq', target: '2001:0DB8::0:1' }]],
    ['MX', [{ record: 'MX', comparator: 'eq', target: '10 mail.example.test.' }]],
    ['TXT as dig shows it', [{ record: 'TXT', comparator: 'eq', target: '"v=spf1 " "-all"' }]],
    ['TXT with quotes in it', [{ record: 'TXT', comparator: 'eq', target: 'say "hi"' }]],
    [
      'the last link of a chain',
      [{ record: 'CNAME', comparator: 'eq', target: 'example.test' }],
      'www.example.test',
    ],
    ['an empty answer', [{ record: 'CNAME', comparator: 'neq', target: 'x.example' }]],
  ])('%s passes', async (_name, assertions, uri) => {
    expect(await run(assertions, uri)).toMatchObject({ outcome: 'passed' });
  });

  test.skipIf(skips)('a name that does not exist is a failure', async () => {
    const forbidden: DnsCheck['record_assertions'] = [
      { record: 'A', comparator: 'neq', target: '192.0.2.9' },
    ];
    expect(await run(forbidden, 'gone.example.test')).toMatchObject({
      outcome: 'failed',
      errorMessage: 'no such name: gone.example.test (NXDOMAIN)',
    });
  });

  test.skipIf(skips || name !== 'named')('all 4,000 addresses of a name are read', async () => {
    const addresses = await seen({ name: 'many.example.test', type: 'A' });
    expect(addresses.toSorted()).toEqual(MANY.toSorted());
  });

  test.skipIf(skips || (dig === null && !isCi))('dig shows the same', async () => {
    if (dig === null) throw new Error('dig is not installed');
    for (const type of ['A', 'AAAA', 'MX', 'TXT'] as const) {
      const parameters = ['@127.0.0.1', '-p', String(server.port), '+short', 'example.test', type];
      const { stdout } = await promisify(execFile)(dig, parameters);
      const lines = stdout.trim().split('\n');
      expect(lines).toHaveLength((await seen({ name: 'example.test', type })).length);
      // A user may copy what dig prints into an assertion.
      for (const target of lines) {
        expect(await run([{ record: type, comparator: 'eq', target }])).toMatchObject({ outcome: 'passed' });
      }
    }
  });
});

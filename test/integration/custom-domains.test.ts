/** svc finds where custom domains point, with a name server that is not our own: BIND. */
import { askNameServers } from '@svc/coordinator/pages/domains/domain-lookup.ts';
import { pointingOf } from '@svc/coordinator/pages/domains/pointing.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, type RealDnsServer, startNamed } from '../support/real-dns-server.ts';

const SERVICE = { name: 'svc.example.org', addresses: ['192.0.2.1', '2001:db8::1'] };
const ZONE = `$TTL 60
@ SOA ns h 1 60 60 60 60
@ NS ns
ns A 127.0.0.1
svc A 192.0.2.1
svc AAAA 2001:db8::1
alias CNAME svc
upper CNAME SVC.EXAMPLE.ORG.
chain CNAME link
link CNAME svc
loop CNAME pool
pool CNAME loop
address A 192.0.2.1
both A 192.0.2.1
both A 198.51.100.7
family A 192.0.2.1
family AAAA 2001:db8::bad
dangling CNAME nothing
text TXT "x"
`;

const program = findProgram('named');
const isSkipped = program === null && process.env.CI !== 'true';
if (isSkipped) process.stdout.write('skipped: custom domains at BIND, which is not installed\n');

describe.skipIf(isSkipped)('a custom domain served by BIND', () => {
  let server: RealDnsServer;
  beforeAll(async () => {
    server = await startNamed(program ?? 'named', 'example.org', ZONE);
  });
  afterAll(() => server?.stop());

  test.each([
    ['alias', 'here'],
    ['upper', 'here'],
    ['chain', 'here'],
    ['address', 'here'],
    ['both', 'elsewhere'],
    ['family', 'elsewhere'],
    ['dangling', 'elsewhere'],
    ['text', 'elsewhere'],
    ['nothing', 'elsewhere'],
    ['loop', 'not-known'],
    ['of.another.zone', 'not-known'],
  ])('%s: %s', async (name, is) => {
    const domain = name.includes('.') ? name : `${name}.example.org`;
    const answers = await askNameServers([`127.0.0.1:${server.port}`])(domain);
    expect(pointingOf(domain, answers, SERVICE)).toMatchObject({ is });
  });
});

import type { DnsCheck } from '@svc/shared/messages/check.ts';
import { afterEach, describe, expect, test } from 'vitest';
import {
  a,
  aaaa,
  cname,
  type DnsHandler,
  DnsTestServer,
  encodeResponse,
  mx,
  txt,
} from '../../../../../test/support/dns-server.ts';
import { dnsCheck } from '../../../../../test/support/scripted-probe.ts';
import { passAfter, underStoppedTime } from '../../../../../test/support/stopped-time.ts';
import type { ProbeContext, ProbeOutcome } from '../probe.ts';
import { createDnsProbe } from './probe.ts';

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(handler: DnsHandler): Promise<DnsTestServer> {
  const server = await DnsTestServer.start(handler);
  cleanUps.push(() => server.close());
  return server;
}

type Assertion = DnsCheck['record_assertions'][number];

function run(
  servers: readonly Pick<DnsTestServer, 'address'>[],
  assertions: Assertion[],
  { uri = 'example.com', ...context }: Partial<ProbeContext & { uri: string }> = {},
): Promise<ProbeOutcome> {
  const probe = createDnsProbe({ servers: servers.map(({ address }) => address) });
  cleanUps.push(() => probe.close());
  const check = dnsCheck({ uri, record_assertions: assertions });
  return probe.run(check, { timeoutMs: 10_000, signal: new AbortController().signal, ...context });
}

const asserts = (
  record: Assertion['record'],
  comparator: Assertion['comparator'],
  target: string,
): Assertion => ({
  record,
  comparator,
  target,
});

const zone: DnsHandler = ({ name, type }) => {
  switch (`${name} ${type}`) {
    case 'example.com A':
      return { records: [a(name, '192.0.2.1'), a(name, '192.0.2.2')] };
    case 'example.com AAAA':
      return { records: [aaaa(name, '20010db8000000000000000000000001')] };
    case 'example.com MX':
      return { records: [mx(name, 10, 'Mail.Example.com'), mx(name, 20, 'backup.example.com')] };
    case 'example.com TXT':
      return { records: [txt(name, 'v=spf1 ', '-all'), txt(name, 'Other')] };
    case 'www.example.com CNAME':
      return { records: [cname(name, 'Edge.Example.com')] };
    case 'www.example.com A':
      return { records: [cname(name, 'edge.example.com'), a('edge.example.com', '192.0.2.3')] };
    case 'xn--bcher-kva.example A':
      return { records: [a(name, '192.0.2.5')] };
    case 'alias.example CNAME':
      return { records: [cname(name, 'second.example')] };
    case 'second.example CNAME':
      return { records: [cname(name, 'www.example.com')] };
    case 'dangling.example CNAME':
      return { records: [cname(name, 'gone.example')] };
    case 'dangling.example A':
      return { rcode: 3, records: [cname(name, 'gone.example')] };
    case 'circle.example CNAME':
      return { records: [cname(name, 'elcric.example')] };
    case 'elcric.example CNAME':
      return { records: [cname(name, 'circle.example')] };
    case 'lame.example CNAME':
      return { records: [cname(name, 'broken.example')] };
    case 'broken.example CNAME':
      return { rcode: 2 };
    case 'edge.example.com CNAME':
    case 'empty.example MX':
    case 'example.com CNAME':
    case 'www.example.com AAAA':
    case 'xn--bcher-kva.example AAAA':
    case 'empty.example A':
    case 'empty.example AAAA':
      return {};
    default:
      return { rcode: 3 };
  }
};

describe('assertions', () => {
  test.each<[string, Assertion[], string]>([
    ['A eq', [asserts('A', 'eq', '192.0.2.2')], 'example.com'],
    ['A contains', [asserts('A', 'contains', '192.0.')], 'example.com'],
    ['A at the end of a chain', [asserts('A', 'eq', '192.0.2.3')], 'www.example.com'],
    ['A neq', [asserts('A', 'neq', '192.0.2.9')], 'example.com'],
    ['AAAA in another spelling', [asserts('AAAA', 'eq', '2001:DB8:0::1')], 'example.com'],
    ['CNAME', [asserts('CNAME', 'eq', 'edge.example.com.')], 'www.example.com'],
    ['no CNAME', [asserts('CNAME', 'not_contains', 'example')], 'example.com'],
    ['MX with preference', [asserts('MX', 'eq', '10 mail.example.com')], 'example.com'],
    ['MX by name', [asserts('MX', 'eq', 'backup.example.com')], 'example.com'],
    ['TXT of chunks', [asserts('TXT', 'eq', 'v=spf1 -all')], 'example.com'],
    ['an empty set', [asserts('MX', 'neq', '10 mail.example.com')], 'empty.example'],
    ['several types', [asserts('A', 'eq', '192.0.2.1'), asserts('MX', 'contains', 'mail')], 'example.com'],
    ['a name in capitals with its dot', [asserts('A', 'eq', '192.0.2.1')], 'Example.COM.'],
    ['an IDNA name', [asserts('A', 'eq', '192.0.2.5')], 'bücher.example'],
  ])('%s holds', async (_name, assertions, uri) => {
    const outcome = await run([await serve(zone)], assertions, { uri });
    expect(outcome).toEqual({
      outcome: 'passed',
      latency: expect.any(Number),
      phases: { dns: outcome.latency },
    });
  });

  test.each<[string, Assertion[], string, string]>([
    [
      'A eq',
      [asserts('A', 'eq', '192.0.2.9')],
      'example.com',
      'expected some A record equal to "192.0.2.9", saw "192.0.2.1", "192.0.2.2"',
    ],
    [
      'A neq',
      [asserts('A', 'neq', '192.0.2.1')],
      'example.com',
      'expected no A record equal to "192.0.2.1", saw "192.0.2.1", "192.0.2.2"',
    ],
    [
      'no such type',
      [asserts('CNAME', 'eq', 'x')],
      'example.com',
      'expected some CNAME record equal to "x", saw none',
    ],
    [
      'no such name',
      [asserts('A', 'eq', '192.0.2.1')],
      'gone.example',
      'no such name: gone.example (NXDOMAIN)',
    ],
    [
      'no such name, whatever is asserted',
      [asserts('A', 'neq', '192.0.2.1'), asserts('TXT', 'not_contains', 'x')],
      'gone.example',
      'no such name: gone.example (NXDOMAIN)',
    ],
    [
      'no such name at the end of a chain',
      [asserts('A', 'neq', '192.0.2.1')],
      'dangling.example',
      'no such name: gone.example (NXDOMAIN), to which dangling.example leads',
    ],
    [
      'an empty set',
      [asserts('MX', 'eq', 'mail.example.com')],
      'empty.example',
      'expected some MX record equal to "mail.example.com", saw none',
    ],
  ])('%s does not hold', async (_name, assertions, uri, errorMessage) => {
    expect(await run([await serve(zone)], assertions, { uri })).toMatchObject({
      outcome: 'failed',
      errorMessage,
    });
  });
});

describe('aliases in a circle are a failure', () => {
  underStoppedTime();

  const CIRCLE = 'aliases in a circle (a.example → b.example → a.example)';
  const links = [cname('a.example', 'b.example'), cname('b.example', 'a.example')];
  const TYPES = ['A', 'AAAA', 'MX', 'TXT', 'CNAME'] as const;

  test.each(TYPES)('that one answer to a question for %s holds', async (record) => {
    const server = await serve(() => ({ records: links }));
    const outcome = await run([server], [asserts(record, 'neq', 'x')], { uri: 'a.example' });
    expect(outcome).toMatchObject({
      outcome: 'failed',
      errorMessage: `a.example leads to no record: ${CIRCLE}`,
    });
  });

  test('of a name that is its own alias', async () => {
    const server = await serve(({ name }) => ({ records: [cname(name, name)] }));
    expect(await run([server], [asserts('A', 'neq', '192.0.2.1')], { uri: 'a.example' })).toMatchObject({
      outcome: 'failed',
      errorMessage: 'a.example leads to no record: aliases in a circle (a.example → a.example)',
    });
  });

  test('that several answers hold', async () => {
    const server = await serve(({ name }) => ({ records: links.filter((link) => link.name === name) }));
    const outcome = await run([server], [asserts('CNAME', 'neq', 'x.example')], { uri: 'a.example' });
    expect([outcome.errorMessage, server.requests.length]).toEqual([
      `a.example leads to no record: ${CIRCLE}`,
      2,
    ]);
  });

  test('without assertions', async () => {
    const server = await serve(() => ({ records: links }));
    expect(await run([server], [], { uri: 'a.example' })).toMatchObject({
      outcome: 'failed',
      errorMessage: `a.example leads to no record: ${CIRCLE}`,
    });
  });

  test('and so is a chain longer than the limit', async () => {
    const records = Array.from({ length: 20 }, (_, n) => cname(`n${n}.example`, `n${n + 1}.example`));
    const server = await serve(() => ({ records }));
    expect(await run([server], [asserts('A', 'neq', '192.0.2.1')], { uri: 'n0.example' })).toMatchObject({
      outcome: 'failed',
      errorMessage: 'n0.example leads to no record: more than 16 aliases',
    });
  });
});

describe('a CNAME assertion sees every link of the chain', () => {
  underStoppedTime();

  test.each<[string, Assertion[], string[]]>([
    ['the first is enough', [asserts('CNAME', 'eq', 'second.example')], ['alias.example']],
    [
      'the last is asked for',
      [asserts('CNAME', 'eq', 'edge.example.com')],
      ['alias.example', 'second.example', 'www.example.com'],
    ],
    [
      'what is forbidden is looked for to the end',
      [asserts('CNAME', 'neq', 'cdn.example')],
      ['alias.example', 'second.example', 'www.example.com', 'edge.example.com'],
    ],
  ])('%s', async (_name, assertions, asked) => {
    const server = await serve(zone);
    expect(await run([server], assertions, { uri: 'alias.example' })).toMatchObject({ outcome: 'passed' });
    expect(server.requests.map(({ name }) => name)).toEqual(asked);
  });

  test('and its message names them all', async () => {
    expect(
      await run([await serve(zone)], [asserts('CNAME', 'not_contains', 'edge')], { uri: 'alias.example' }),
    ).toMatchObject({
      outcome: 'failed',
      errorMessage:
        'expected no CNAME record containing "edge", saw "second.example", "www.example.com", "edge.example.com"',
    });
  });

  test('links that one answer holds are not asked for again', async () => {
    const server = await serve(({ name }) =>
      name === 'a.example' ? { records: [cname(name, 'b.example'), cname('b.example', 'c.example')] } : {},
    );
    const outcome = await run([server], [asserts('CNAME', 'eq', 'c.example')], { uri: 'a.example' });
    expect([outcome.outcome, server.requests.length]).toEqual(['passed', 1]);
  });

  test('a name that does not exist ends it', async () => {
    const server = await serve(zone);
    const outcome = await run([server], [asserts('CNAME', 'neq', 'x.example')], { uri: 'dangling.example' });
    expect([outcome.outcome, server.requests.length]).toEqual(['passed', 2]);
  });

  test('a chain without end is followed for sixteen links', async () => {
    const server = await serve(({ name }) => ({ records: [cname(name, `x.${name}`)] }));
    await run([server], [asserts('CNAME', 'neq', 'cdn.example')], { uri: 'a.example' });
    expect(server.requests).toHaveLength(16);
  });

  test('a link that cannot be asked for is a failure', async () => {
    const server = await serve(zone);
    expect(
      await run([server], [asserts('CNAME', 'neq', 'x.example')], { uri: 'lame.example' }),
    ).toMatchObject({
      outcome: 'failed',
      errorMessage: `asking for CNAME of broken.example failed: SERVFAIL from ${server.address}`,
    });
  });
});

describe('time', () => {
  underStoppedTime();

  test('only the asserted types are asked for, each once', async () => {
    const server = await serve(zone);
    await run(
      [server],
      [asserts('MX', 'neq', 'x'), asserts('TXT', 'neq', 'x'), asserts('MX', 'contains', 'mail')],
    );
    expect(server.requests.map(({ type }) => type).toSorted()).toEqual(['MX', 'TXT']);
  });

  test('is one for all links of a chain', async () => {
    const server = await serve(({ name }) =>
      name === 'a.example' ? { records: [cname(name, 'b.example')] } : null,
    );
    const outcome = run([server], [asserts('CNAME', 'eq', 'c.example')], {
      uri: 'a.example',
      timeoutMs: 200,
    });
    await passAfter(server, 2, 50);
    // The client repeats the query for the second link. It also asks for the name of the first link again,
    // to see whether the server answers at all.
    await passAfter(server, 4, 150);
    expect(await outcome).toMatchObject({ outcome: 'failed', timedOut: true });
  });

  test('is lost once for a dead first server, not for every check', async () => {
    const dead = await serve(() => null);
    const good = await serve(zone);
    const probe = createDnsProbe({ servers: [dead.address, good.address] });
    cleanUps.push(() => probe.close());
    const once = () =>
      probe.run(dnsCheck({ record_assertions: [] }), {
        timeoutMs: 4_000,
        signal: new AbortController().signal,
      });
    const first = once();
    await passAfter(dead, 2, 500);
    expect((await first).outcome).toBe('passed');
    for (let again = 0; again < 10; again += 1) expect((await once()).outcome).toBe('passed');
    expect(dead.requests).toHaveLength(2);
  });

  test('is longer by a quarter of the time-out after a lost datagram', async () => {
    let asked = 0;
    const server = await serve((request) => (++asked === 1 ? null : zone(request)));
    const outcome = run([server], [asserts('A', 'eq', '192.0.2.1')], { timeoutMs: 1_000 });
    await passAfter(server, 1, 250);
    expect(await outcome).toMatchObject({ outcome: 'passed', latency: 250 });
  });

  test('ends in silence, after a second question', async () => {
    const server = await serve(() => null);
    const outcome = run([server], [asserts('A', 'eq', '192.0.2.1')], { timeoutMs: 100 });
    await passAfter(server, 1, 25);
    await passAfter(server, 2, 75);
    expect(await outcome).toMatchObject({
      outcome: 'failed',
      timedOut: true,
      latency: 100,
      errorMessage: `asking for A of example.com: no answer from ${server.address} within 100 ms`,
    });
  });
});

describe('without assertions', () => {
  test.each(['A', 'AAAA'])('an answer to %s passes, whatever becomes of the other', async (served) => {
    for (const other of [null, {}, { rcode: 2 }, { rcode: 3 }]) {
      const server = await serve((request) => (request.type === served ? zone(request) : other));
      expect((await run([server], [])).outcome).toBe('passed');
      expect(server.requests.map(({ type }) => type)).toEqual(expect.arrayContaining([served]));
    }
  });

  test.each([
    ['empty.example', 'expected an A or AAAA record, saw none'],
    ['gone.example', 'no such name: gone.example (NXDOMAIN)'],
  ])('%s fails', async (uri, errorMessage) => {
    expect(await run([await serve(zone)], [], { uri })).toMatchObject({ outcome: 'failed', errorMessage });
  });

  test('a failing server is named', async () => {
    const server = await serve(() => ({ rcode: 2 }));
    expect(await run([server], [])).toMatchObject({
      outcome: 'failed',
      errorMessage: `asking for A of example.com failed: SERVFAIL from ${server.address}`,
    });
  });
});

describe('resolvers', () => {
  const eq = [asserts('A', 'eq', '192.0.2.1')];

  test.each([
    ['SERVFAIL', 2],
    ['REFUSED', 5],
  ])('%s is a failure, even where no record is asked for', async (text, rcode) => {
    const server = await serve(() => ({ rcode }));
    expect(await run([server], [asserts('A', 'neq', '192.0.2.1')])).toMatchObject({
      outcome: 'failed',
      errorMessage: `asking for A of example.com failed: ${text} from ${server.address}`,
      notConnected: true,
    });
  });

  test('the second one is asked when the first one fails or is not there', async () => {
    const failing = await serve(() => ({ rcode: 2 }));
    const stopped = await DnsTestServer.start(() => null);
    const gone = { address: stopped.address };
    await stopped.close();
    expect((await run([failing, gone, await serve(zone)], eq)).outcome).toBe('passed');
  });

  test('garbage before the answer does not hurt', async () => {
    const server = await serve((request) => [
      Buffer.alloc(0),
      Buffer.from('nonsense'),
      Buffer.concat([request.packet.subarray(0, 2), Buffer.alloc(500, 0xff)]),
      encodeResponse(request, { id: request.id ^ 1, records: [a('example.com', '198.51.100.1')] }),
      encodeResponse(request, {
        questionName: 'other.example',
        records: [a('other.example', '198.51.100.1')],
      }),
      encodeResponse(request, { records: [a('example.com', '192.0.2.1')] }),
    ]);
    expect(await run([server], eq)).toMatchObject({ outcome: 'passed' });
  });

  test('an answer from another address is not taken', async () => {
    const stranger = await serve(() => null);
    const server = await serve(async (request) => {
      await stranger.sendTo(
        request.fromPort,
        encodeResponse(request, { records: [a('example.com', '198.51.100.1')] }),
      );
      return zone(request);
    });
    expect(await run([server], eq)).toMatchObject({ outcome: 'passed' });
  });

  test('large answers come over TCP', async () => {
    const values = Array.from({ length: 30 }, (_, n) => txt('example.com', `${n} ${'x'.repeat(200)}`));
    const server = await serve(({ transport }) =>
      transport === 'udp' ? { isTruncated: true } : { records: values },
    );
    expect((await run([server], [asserts('TXT', 'contains', '29 xxx')])).outcome).toBe('passed');
  });
});

test.each(['', 'a..b', 'a'.repeat(64), '\u{0}é'])('"%s" fails as no domain name', async (uri) => {
  expect(await run([await serve(zone)], [], { uri })).toMatchObject({
    outcome: 'failed',
    errorMessage: expect.stringContaining('not a domain name'),
  });
});

test('a list that names no server is refused', () => {
  expect(() => createDnsProbe({ servers: [] })).toThrow('no DNS server given');
  expect(() => createDnsProbe({ servers: ['dns.example.com'] })).toThrow('is not a DNS server');
});

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { createDnsProbe } from '@svc/agent/probes/dns/probe.ts';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import type { ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { describeSocketError } from '@svc/agent/probes/socket-failure.ts';
import { createTcpProbe } from '@svc/agent/probes/tcp/probe.ts';
import { type CertificateFacts, describeDistrust } from '@svc/agent/probes/tls.ts';
import { ResolveError, type Resolver } from '@svc/agent/resolve/resolver.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CORPUS } from './conformance/answers/corpus.ts';
import { startCorpusServer } from './conformance/answers/corpus-server.ts';
import { type Blackhole, startBlackhole } from './support/blackhole.ts';
import { cname, DnsTestServer } from './support/dns-server.ts';
import { ENDLESS, endlessRedirects, redirectTo } from './support/hostile-http.ts';
import { fixedResolver, httpCheck } from './support/http-check.ts';
import { answer, type Behaviour, startRawTarget } from './support/raw-target.ts';
import { SELF_SIGNED } from './support/self-signed.ts';
import * as certificates from './support/tls/certificates.ts';

const { signal } = new AbortController();
const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
const SILENT: Resolver = {
  resolve: () => new Promise(() => {}),
  isSilentSince: () => false,
  close: async () => {},
};
const resolver = fixedResolver({
  '127.0.0.1': ['127.0.0.1'],
  'secure.test': ['127.0.0.1'],
  'two.test': ['127.0.0.1', '127.0.0.2'],
});
const tlsOptions = { ca: [certificates.TEST_AUTHORITY] };
const probe = createHttpProbe({ resolver, egress, tlsOptions });

/** The messages of real attempts, by what the target did to them. */
const produced = new Map<string, string>();

function keep(how: string, { outcome, errorMessage }: Pick<ProbeOutcome, 'outcome' | 'errorMessage'>): void {
  expect(outcome, how).toBe('failed');
  produced.set(how, errorMessage ?? '');
}

async function get(how: string, url: string, given: Partial<HttpCheck> = {}): Promise<void> {
  keep(how, await probe.run(httpCheck({ url, ...given }), { timeoutMs: 15_000, signal }));
}

async function getFrom(behaviour: Behaviour, how: string, given: Partial<HttpCheck> = {}) {
  const target = await startRawTarget(behaviour);
  await get(how, `${target.url}/`, given);
  await target.close();
}

/**
 * Keeps the message about a time-out in this phase. A busy machine
 * may end a short one in an earlier phase: then a longer one.
 */
async function timeOut(how: string, url: string, phase: string): Promise<void> {
  for (let timeoutMs = 100; ; timeoutMs *= 2) {
    const outcome = await probe.run(httpCheck({ url }), { timeoutMs, signal });
    if (outcome.errorMessage?.includes(phase) !== true && timeoutMs < 60_000) continue;
    keep(how, outcome);
    return;
  }
}

async function timeOutFrom(behaviour: Behaviour, how: string, phase: string): Promise<void> {
  const target = await startRawTarget(behaviour);
  await timeOut(how, `${target.url}/`, phase);
  await target.close();
}

async function produceAnswers(): Promise<void> {
  const server = await startCorpusServer(CORPUS);
  const assertion = { comparator: 'not_empty', target: '' } as const;
  for (const refused of CORPUS.filter(({ expected }) => 'refused' in expected)) {
    await get(refused.id, server.urlOf(refused), { body_assertions: [assertion] });
  }
  await server.close();
  await getFrom(answer('HTTP/1.1 200 OK\r\nContent-Encoding: gzip,gzip,gzip\r\n\r\nx'), 'three codings', {
    body_assertions: [assertion],
  });
}

async function produceHttp(blackhole: Blackhole): Promise<void> {
  await timeOutFrom(ENDLESS['never answers'], 'no answer', 'waiting for the first byte');
  await timeOutFrom(ENDLESS['sends nothing after the headers'], 'no end', 'reading the response');
  await getFrom(endlessRedirects(0), 'a circle');
  for (const location of ['http://[', 'ftp://x/', 'http://169.254.169.254/']) {
    await getFrom(redirectTo(location), location);
  }
  const hello = answer('HTTP/1.1 200 OK\r\n\r\nhello');
  await getFrom(answer('HTTP/1.1 404 Not Found\r\n\r\n'), 'status 404');
  await getFrom(answer('HTTP/1.1 101 Switching\r\n\r\n'), 'status 101');
  await getFrom(hello, 'status', { status_code_assertions: [{ comparator: 'eq', target: 201 }] });
  await getFrom(hello, 'header', { header_assertions: [{ key: 'x', comparator: 'eq', target: 'y' }] });
  await getFrom(hello, 'body', { body_assertions: [{ comparator: 'empty', target: '' }] });
  await getFrom(hello, 'a bad name', { headers: [{ key: 'a b', value: 'c' }] });
  await getFrom(hello, 'a bad value', { headers: [{ key: 'a', value: '\n' }] });
  await get('no URL', 'nonsense');
  await get('an unknown name', 'http://nowhere.test/');
  await timeOut('connecting', `http://${blackhole.host}:${blackhole.port}/`, 'while connecting');
  await get('several addresses', 'http://two.test:1/');
  const waiting = createHttpProbe({ resolver: SILENT, egress });
  keep('resolving', await waiting.run(httpCheck({ url: 'http://x/' }), { timeoutMs: 50, signal }));
}

async function produceTls(): Promise<void> {
  const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  await timeOut('a silent handshake', `https://127.0.0.1:${port}/`, 'during the TLS handshake');
  silent.close();
  for (const act of ['end', 'resetAndDestroy'] as const) {
    const ending = createServer((socket) => {
      // The probe ends the connection in its own way.
      socket.on('error', () => {});
      socket.once('data', () => socket[act]());
    }).listen(0, '127.0.0.1');
    await once(ending, 'listening');
    await get(`TLS: ${act}`, `https://127.0.0.1:${(ending.address() as AddressInfo).port}/`);
    ending.close();
  }
  for (const [name, certificate] of Object.entries({ ...certificates, SELF_SIGNED })) {
    if (typeof certificate === 'string') continue;
    const server = createTlsServer(certificate, (_request, response) => response.end()).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const url = `https://secure.test:${(server.address() as AddressInfo).port}/`;
    if (name === 'TRUSTED') {
      const strict = createHttpProbe({ resolver, egress });
      keep('no authority', await strict.run(httpCheck({ url }), { timeoutMs: 15_000, signal }));
    } else {
      await get(name, url);
    }
    server.close();
  }
}

function produceDistrust(): void {
  const facts: CertificateFacts = {
    expiresAt: Date.UTC(2_120, 0),
    beginsAt: Date.UTC(2_020, 0),
    names: undefined,
    keyBits: undefined,
    signature: undefined,
  };
  const given: readonly (readonly [how: string, code: string, facts: Partial<CertificateFacts>])[] = [
    ['an old chain', 'CERT_HAS_EXPIRED', {}],
    ['a new chain', 'CERT_NOT_YET_VALID', {}],
    ['for clients', 'INVALID_PURPOSE', {}],
    ['a short key', 'UNSPECIFIED', { keyBits: 1_024 }],
    ['SHA-1', 'UNSPECIFIED', { keyBits: 2_048, signature: 'sha1WithRSAEncryption' }],
    ['a weak issuer', 'UNSPECIFIED', { keyBits: 2_048, signature: 'sha256WithRSAEncryption' }],
  ];
  for (const [how, code, known] of given) {
    produced.set(how, describeDistrust(code, 'secure.test', { ...facts, ...known }));
  }
}

function produceErrors(): void {
  const codes = [
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'EHOSTDOWN',
  ];
  for (const code of [...codes, 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EACCES', 'EOTHER']) {
    const error = Object.assign(new Error('in other words'), { code, address: '192.0.2.1', port: 80 });
    produced.set(code, describeSocketError(error, 'example.com'));
  }
  for (const reason of ['unsafe legacy renegotiation disabled', 'something else']) {
    const error = Object.assign(new Error(reason), { code: 'ERR_SSL_X', reason });
    produced.set(reason, describeSocketError(error, 'example.com'));
  }
  for (const [code, why] of [
    ['ENODATA', 'the name has no address (neither A nor AAAA)'],
    ['ETIMEOUT', 'timed out: no answer from 192.0.2.53:53'],
    ['ENOTFOUND', 'no such name (NXDOMAIN)'],
  ] as const) {
    produced.set(code, new ResolveError(code, 'db.example.com', why).message);
  }
}

async function produceTcp({ host, port }: Blackhole): Promise<void> {
  const common = { type: 'tcp', timeout: 1_000, retry: 0, degraded_at: 0 } as const;
  const tcp = createTcpProbe({ resolver, egress });
  const run = async (uri: string, timeoutMs = 15_000) =>
    keep(`tcp: ${uri}`, await tcp.run({ ...common, uri }, { timeoutMs, signal }));
  await run(`${host}:${port}`, 100);
  await run('127.0.0.1:1');
  await run('nowhere.test:1');
  await run('nonsense');
  const waiting = createTcpProbe({ resolver: SILENT, egress });
  const outcome = await waiting.run({ ...common, uri: 'x:1' }, { timeoutMs: 50, signal });
  keep('tcp: resolving', outcome);
}

async function produceDns(): Promise<void> {
  const rcodes: Record<string, number> = { 'servfail.test': 2, 'nowhere.test': 3, 'refused.test': 5 };
  const server = await DnsTestServer.start(({ name }) =>
    name === 'silent.test'
      ? null
      : { rcode: rcodes[name] ?? 0, records: name === 'circle.test' ? [cname(name, name)] : [] },
  );
  const common = { type: 'dns', timeout: 1_000, retry: 0, degraded_at: 0 } as const;
  const assertion = { record: 'A', comparator: 'eq', target: '192.0.2.1' } as const;
  for (const uri of [
    'servfail.test',
    'nowhere.test',
    'refused.test',
    'silent.test',
    'empty.test',
    'circle.test',
    'a..b',
  ]) {
    // One that knows no other name: a server that is silent
    // about two would be one of the agent's own network.
    const dns = createDnsProbe({ servers: [server.address] });
    const timeoutMs = uri === 'silent.test' ? 300 : 15_000;
    for (const record_assertions of [[], [assertion]]) {
      const check = { ...common, uri, record_assertions };
      keep(`dns: ${uri} ${record_assertions.length}`, await dns.run(check, { timeoutMs, signal }));
    }
    await dns.close();
  }
  await server.close();
}

/** Each message of the page as a pattern: `…` stands for any text, also for none. */
const page = readFileSync(new URL('../docs/failures.md', import.meta.url), 'utf8');
const templates = [...page.matchAll(/^\| `(.+?)` \|/gm)].map(([, template = '']) => template);
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const patternOf = (template: string): RegExp =>
  new RegExp(`^${template.split('…').map(escaped).join('[^]*')}$`);

let blackhole: Blackhole;
beforeAll(async () => {
  blackhole = await startBlackhole();
  produceErrors();
  produceDistrust();
  await produceAnswers();
  await produceHttp(blackhole);
  await produceTls();
  await produceTcp(blackhole);
  await produceDns();
});
afterAll(() => blackhole.close());

describe('the page of failures', () => {
  test('has every message', () => {
    const patterns = templates.map(patternOf);
    const missing = [...produced].filter(([, message]) => !patterns.some((pattern) => pattern.test(message)));
    expect(missing).toEqual([]);
  });

  /**
   * Messages that this file does not produce. Some need a network that tests do not have, a body of many
   * megabytes, or a reset within microseconds. The tests of the HTTP probe produce most messages about HTTP/2
   * and about proxies (`http2.test.ts`, `by-proxy.test.ts`).
   */
  const NOT_PRODUCED = new Set([
    'connection reset (ECONNRESET …)',
    'connecting failed (…)',
    'not permitted (EACCES …)',
    "the agent's machine has no route to …",
    "the agent's machine refuses to send to … (EINVAL: …)",
    "the agent's machine refuses to send to … (EACCES: …)",
    "the agent's machine refuses to send to … (EPERM: …)",
    "the target has IPv6 addresses only (…), and the agent's machine has no IPv6",
    'the certificate of … is not trusted (…)',
    'the body cannot be decoded: its encoded form is longer than its content',
    'the target speaks neither HTTP/1.1 nor HTTP/2 (ALPN)',
    'the target speaks HTTP/2 without agreeing to it in the TLS handshake (ALPN)',
    "the target's HTTP/2 is broken: …",
    'the target broke off the HTTP/2 stream (…)',
    'the HTTP/2 stream was broken off (…)',
    'the target sends too many HTTP/2 frames without content',
    'the agent cannot reach the proxy: …',
    'the proxy did not open a tunnel: …',
    'the proxy asks for credentials (…)',
    'the proxy does not accept the configured credentials (…)',
    'the proxy cannot reach the target (…)',
    'the proxy denies connections to the target (…)',
  ]);

  test('has no message that nothing says', () => {
    const messages = [...produced.values()];
    const idle = templates.filter(
      (template) =>
        !NOT_PRODUCED.has(template) && !messages.some((message) => patternOf(template).test(message)),
    );
    expect(idle).toEqual([]);
  });
});

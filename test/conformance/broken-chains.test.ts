/**
 * Certificates and handshakes that are broken in eleven ways: the words of the probe, and whether curl
 * takes the server. They agree on all of them. Without curl on the `PATH` only the probe is asked.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterAll, expect, test } from 'vitest';
import { fixedResolver, httpCheck } from '../support/http-check.ts';
import { SELF_SIGNED } from '../support/self-signed.ts';
import {
  BELOW_INTERMEDIATE,
  EXPIRED,
  INTERMEDIATE,
  NOT_YET_VALID,
  SECOND_AUTHORITY,
  SHORT_KEY,
  TEST_AUTHORITY,
  TRUSTED,
  WITH_REVOCATION_LIST,
  WRONG_HOST,
} from '../support/tls/certificates.ts';

/** Exit codes of curl. */
const CURL = { took: 0, noHandshake: 35, untrusted: 60 } as const;

type Case = {
  name: string;
  server: ServerOptions;
  /** Authorities that the client trusts. */
  ca: string;
  host?: string;
  /** The message of the probe; null: it passes. */
  says: string | null;
  curl: keyof typeof CURL;
};

const CASES: readonly Case[] = [
  {
    name: 'expired',
    server: EXPIRED,
    ca: TEST_AUTHORITY,
    says: 'the certificate of secure.test expired on 2020-02-01T00:00:00.000Z',
    curl: 'untrusted',
  },
  {
    name: 'not yet valid',
    server: NOT_YET_VALID,
    ca: TEST_AUTHORITY,
    says: 'the certificate of secure.test is not valid yet',
    curl: 'untrusted',
  },
  {
    name: 'self-signed',
    server: SELF_SIGNED,
    ca: TEST_AUTHORITY,
    says: 'the certificate of secure.test is self-signed',
    curl: 'untrusted',
  },
  {
    name: 'unknown root',
    server: TRUSTED,
    ca: SECOND_AUTHORITY,
    says: 'the certificate of secure.test is issued by an authority that is not trusted, or an intermediate certificate is missing',
    curl: 'untrusted',
  },
  {
    name: 'missing intermediate',
    server: BELOW_INTERMEDIATE,
    ca: SECOND_AUTHORITY,
    says: 'the certificate of secure.test is issued by an authority that is not trusted, or an intermediate certificate is missing',
    curl: 'untrusted',
  },
  {
    name: 'wrong name',
    server: WRONG_HOST,
    ca: TEST_AUTHORITY,
    says: 'the certificate is not for secure.test but for DNS:other.test',
    curl: 'untrusted',
  },
  {
    name: 'an address that is no alternative name',
    server: { ...BELOW_INTERMEDIATE, cert: BELOW_INTERMEDIATE.cert + INTERMEDIATE },
    ca: SECOND_AUTHORITY,
    host: '127.0.0.1',
    says: 'the certificate is not for 127.0.0.1 but for DNS:secure.test',
    curl: 'untrusted',
  },
  {
    name: 'a weak key',
    server: SHORT_KEY,
    ca: SHORT_KEY.cert,
    says: 'the certificate of secure.test has a key that is too short (1024 bits, but at least 2048 are needed)',
    curl: 'untrusted',
  },
  // Neither asks for lists of revoked certificates, nor do browsers ask during the handshake.
  { name: 'a revocation list', server: WITH_REVOCATION_LIST, ca: SECOND_AUTHORITY, says: null, curl: 'took' },
  {
    name: 'TLS 1.0 alone',
    server: { ...TRUSTED, minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' },
    ca: TEST_AUTHORITY,
    says: 'the TLS handshake with secure.test:PORT failed: the server speaks neither TLS 1.2 nor 1.3 (tlsv1 alert protocol version)',
    curl: 'noHandshake',
  },
  {
    name: 'no common ALPN',
    server: { ...TRUSTED, ALPNProtocols: ['acme-tls/1'] },
    ca: TEST_AUTHORITY,
    says: 'the target speaks neither HTTP/1.1 nor HTTP/2 (ALPN)',
    curl: 'noHandshake',
  },
  // Beside the broken ones: the whole chain is trusted.
  {
    name: 'a whole chain',
    server: { ...BELOW_INTERMEDIATE, cert: BELOW_INTERMEDIATE.cert + INTERMEDIATE },
    ca: SECOND_AUTHORITY,
    says: null,
    curl: 'took',
  },
];

const folder = mkdtempSync(join(tmpdir(), 'svc-chains-'));
const HAS_CURL = spawnSync('curl', ['--version']).status === 0;
const context = { timeoutMs: 15_000, signal: new AbortController().signal };

afterAll(() => rmSync(folder, { recursive: true }));

async function curlExit(url: string, port: number, ca: string): Promise<number> {
  const file = join(folder, `${port}.pem`);
  writeFileSync(file, ca);
  const args = [
    '-sS',
    '-o',
    '/dev/null',
    '--cacert',
    file,
    '--resolve',
    `secure.test:${port}:127.0.0.1`,
    url,
  ];
  const child = spawn('curl', args, { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number];
  return code;
}

test.each(CASES)('$name', async ({ server: options, ca, host = 'secure.test', says, curl }) => {
  const server = createServer(options, (_request, response) => response.end('ok'));
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `https://${host}:${port}/`;
  const probe = createHttpProbe({
    resolver: fixedResolver({ 'secure.test': ['127.0.0.1'] }),
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
    tlsOptions: { ca: [ca] },
  });
  const outcome = await probe.run(httpCheck({ url }), context);
  const curled = HAS_CURL ? await curlExit(url, port, ca) : null;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  expect(outcome.errorMessage?.replace(String(port), 'PORT') ?? null).toBe(says);
  expect(outcome.outcome).toBe(says === null ? 'passed' : 'failed');
  if (curled !== null) expect(curled).toBe(CURL[curl]);
});

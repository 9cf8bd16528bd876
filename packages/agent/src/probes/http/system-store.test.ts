import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { AGENT_FLAGS } from '../../../../../deploy/local/node-flags.ts';
import { TEST_AUTHORITY, TRUSTED } from '../../../../../test/support/tls/certificates.ts';

const PROBE = `
  const [{ createHttpProbe }, { createEgressGuard }, { fixedResolver, httpCheck }, url] = [
    await import(process.argv[1]), await import(process.argv[2]), await import(process.argv[3]), process.argv[4],
  ];
  const egress = createEgressGuard({ base: 'agent', deny: [], allow: [] });
  const probe = createHttpProbe({ resolver: fixedResolver(), egress });
  const { signal } = new AbortController();
  console.log(JSON.stringify(await probe.run(httpCheck({ url }), { timeoutMs: 15_000, signal })));
`;

const module = (path: string) => new URL(path, import.meta.url).href;
const MODULES = [
  module('./probe.ts'),
  module('../../../../shared/src/egress.ts'),
  module('../../../../../test/support/http-check.ts'),
];

/**
 * The probe's outcome in a Node process with these flags, on a machine whose store has only one authority.
 */
async function outcomeIn(flags: readonly string[], store: string, url: string): Promise<unknown> {
  const args = [...flags, '--input-type=module', '-e', PROBE, ...MODULES, url];
  const env = { ...process.env, NODE_OPTIONS: '', SSL_CERT_FILE: store };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(await text(child.stdout));
}

test('agents trust the certificate store of the system, by the flags that they are started with', async () => {
  const server = createServer(TRUSTED, (_request, response) => response.end('ok'));
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const store = join(await mkdtemp(join(tmpdir(), 'svc-store-')), 'store.pem');
  await writeFile(store, TEST_AUTHORITY);
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  expect(await outcomeIn(AGENT_FLAGS, store, url)).toMatchObject({ outcome: 'passed', statusCode: 200 });
  expect(await outcomeIn([], store, url)).toMatchObject({ outcome: 'failed' });
  server.close();
});

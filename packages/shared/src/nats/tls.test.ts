/** A `tls://` address never leads to a connection without TLS. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type NatsProxy, startNatsProxy } from '../../../../test/support/nats-proxy.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { TEST_AUTHORITY, TRUSTED, WRONG_HOST } from '../../../../test/support/tls/certificates.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';

const PASSWORD = 'hunter2';

let directory: string;
let plain: NatsServer;
let secure: NatsServer;
let wrongHost: NatsServer;
let proxy: NatsProxy;
let lines: { msg: string; error?: string }[];

async function serverWith(name: string, { cert, key }: typeof TRUSTED): Promise<NatsServer> {
  const [certFile, keyFile] = [join(directory, `${name}.pem`), join(directory, `${name}-key.pem`)];
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
  const tls = `tls { cert_file: ${JSON.stringify(certFile)}, key_file: ${JSON.stringify(keyFile)} }`;
  return startNatsServer(`${tls}\nauthorization { user: svc, password: ${PASSWORD} }`);
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-nats-tls-'));
  await writeFile(join(directory, 'ca.pem'), TEST_AUTHORITY);
  [plain, secure, wrongHost] = await Promise.all([
    startNatsServer(),
    serverWith('trusted', TRUSTED),
    serverWith('wrong-host', WRONG_HOST),
  ]);
});
afterAll(async () => {
  await Promise.all([plain, secure, wrongHost].map((server) => server.dispose()));
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  proxy = await startNatsProxy(plain.port);
  lines = [];
});
afterEach(() => proxy.close());

const connectThrough = (scheme: string, ca = join(directory, 'ca.pem')): Promise<NatsBus> =>
  connectBus({
    url: `${scheme}svc:${PASSWORD}@127.0.0.1:${proxy.port}`,
    name: 'test',
    log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
    ca,
  });

const said = (text: string) => expect.poll(() => lines.some(({ error }) => error?.includes(text)));

/** The server's announcement of TLS, removed on the way. */
const strip = (info: string) =>
  info
    .replace(/"tls_required":\s*true,?/, '')
    .replace(/"tls_available":\s*true,?/, '')
    .replace(/"tls_verify":\s*true,?/, '');

describe('a connection that asks for TLS', () => {
  test.each([
    ['a server without TLS', () => proxy.lead(plain.port), 'does not offer TLS'],
    ['somebody who takes it away', () => proxy.lead(secure.port, strip), 'does not offer TLS'],
    ['a server with the certificate of another host', () => proxy.lead(wrongHost.port), 'does not match'],
  ])('is refused to %s, which hears no password, and made when TLS is there', async (_what, lead, why) => {
    lead();
    const connecting = connectThrough('tls://');
    await said(why).toBe(true);
    expect(proxy.heard).not.toContain(PASSWORD);
    expect(proxy.heard).not.toContain('CONNECT');
    proxy.lead(secure.port);
    const bus = await connecting;
    await bus.flush();
    expect(proxy.heard).not.toContain(PASSWORD);
    await bus.close();
  });

  test('is not made again without TLS after it was lost', async () => {
    proxy.lead(secure.port);
    const bus = await connectThrough('tls://');
    const connected: boolean[] = [];
    bus.onConnection((isConnected) => connected.push(isConnected));
    let refusals = 0;
    proxy.lead(secure.port, (info) => {
      refusals += 1;
      return strip(info);
    });
    proxy.cut();
    await expect.poll(() => refusals).toBeGreaterThan(1);
    expect(bus.isConnected).toBe(false);
    expect(proxy.heard).not.toContain(PASSWORD);
    proxy.lead(secure.port);
    await expect.poll(() => connected).toEqual([false, true]);
    await bus.flush();
    await bus.close();
  });
});

test('the text of a CA does as well as its file', async () => {
  proxy.lead(secure.port);
  await (await connectThrough('tls://', TEST_AUTHORITY)).close();
  expect(proxy.heard).not.toContain(PASSWORD);
});

test('a CA alone asks for TLS too', async () => {
  proxy.lead(secure.port, strip);
  const connecting = connectThrough('nats://');
  await said('does not offer TLS').toBe(true);
  proxy.lead(secure.port);
  await (await connecting).close();
  expect(proxy.heard).not.toContain(PASSWORD);
});

test('credentials of the URL are used', async () => {
  const server = await startNatsServer('authorization { user: svc, password: "12:3@4" }');
  const bus = await connectBus({
    url: `nats://svc:${encodeURIComponent('12:3@4')}@127.0.0.1:${server.port}`,
    name: 'test',
    log: pino({ level: 'silent' }),
  });
  await bus.flush();
  await bus.close();
  await server.dispose();
});

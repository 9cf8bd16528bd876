import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@svc/shared/clock.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { SELF_SIGNED } from '../../../../test/support/self-signed.ts';
import { TRUSTED } from '../../../../test/support/tls/certificates.ts';
import type { ApiParts } from './api-parts.ts';
import { DEFAULT_TIMEOUTS, type ListenerTimeouts } from './listener-settings.ts';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function started(more: Partial<ApiParts> = {}): Promise<RunningApi> {
  const api = await startApi(more);
  opened.push({ close: () => api.dispose() });
  return api;
}

function socketTo({ url }: { readonly url: string }, address = '127.0.0.1'): Socket {
  const socket = connect(Number(new URL(url).port), address);
  opened.push({ close: async () => void socket.destroy() });
  // The server may also refuse the connection by a reset. The socket reports a reset as an error.
  socket.on('error', () => {});
  return socket;
}

/** Starts an HTTP server of Node with these time limits. All other settings are Node's defaults. */
async function serverOfNode({ headers, request }: ListenerTimeouts): Promise<{ url: string }> {
  const server = createServer({ headersTimeout: headers, requestTimeout: request });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function textOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (data) => {
    text += data.toString();
  });
  await once(socket, 'close');
  return text;
}

/** Makes a log that collects the messages of this level. */
function listening(level: 'warn' | 'error') {
  const said: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    [level]: (fields: unknown, message?: string) => said.push(message ?? String(fields)),
  });
  return { log, said };
}

test.each([
  ['/healthz', 200],
  ['/v1/openapi.json', 200],
  ['/login', 404],
])('a request of HTTP/1.0 without a host for %s gets %d', async (path, status) => {
  const socket = socketTo(await started());
  socket.write(`GET ${path} HTTP/1.0\r\n\r\n`);
  expect(await textOf(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

describe('time-outs hold', () => {
  const timeouts = { ...DEFAULT_TIMEOUTS, headers: 200, request: 400, idle: 300, checkEvery: 50 };

  test.each([
    ['nothing', ''],
    ['half a head', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-More: '],
    ['half a body', 'POST /v1/monitors HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n{'],
  ])('for who sends %s and then drips', async (_, sent) => {
    const api = await started({ timeouts });
    const socket = socketTo(api);
    const answered = textOf(socket);
    const other = socketTo(await serverOfNode(timeouts));
    socket.write(sent);
    other.write(sent);
    const drip = setInterval(() => socket.writable && socket.write(sent === '' ? '' : 'x'), 40);
    const text = await answered;
    clearInterval(drip);
    if (sent.startsWith('GET')) expect(text).toMatch(/^HTTP\/1.1 408 /);
    // By default Node checks these time limits only every 30 s,
    // so the connection to its own server is still open.
    expect(other.readyState).toBe('open');
  });

  test('and are checked each second', () => {
    expect(DEFAULT_TIMEOUTS).toMatchObject({ headers: 10_000, request: 30_000, checkEvery: 1_000 });
  });
});

test('connections beyond the limit are dropped, and the others are answered', async () => {
  const api = await started({ maxConnections: 2 });
  const first = socketTo(api);
  const second = socketTo(api);
  await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  const third = socketTo(api);
  expect(await textOf(third)).toBe('');
  const answered = textOf(first);
  first.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  expect(await answered).toMatch(/^HTTP\/1.1 200 /);
});

/** The headers that give the length of a body, and the beginning of the body. */
const UPLOADS = {
  'of a known length': 'Content-Length: 100\r\n\r\n{"name":',
  'in chunks': 'Transfer-Encoding: chunked\r\n\r\n8\r\n{"name":\r\n',
};

test.each(Object.entries(UPLOADS))(
  'an upload %s that is broken off is no defect of ours',
  async (_, body) => {
    const { log, said } = listening('error');
    const api = await started({ log });
    const socket = socketTo(api);
    const head = `POST /v1/monitors HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.operator}\r\nContent-Type: application/json\r\n${body}`;
    socket.end(head);
    await textOf(socket);
    const lines = async () => (await api.call('GET', '/v1/audit?object=monitors')).body as { data: object[] };
    await expect.poll(async () => (await lines()).data).toMatchObject([{ status: 400 }]);
    expect(said).toEqual([]);
  },
);

test.each([
  [201, '{"type":"tcp","name":"a","uri":"a.example:1","periodicity":"1m"}'],
  [400, '{"type":"tcp"'],
  [413, ' '.repeat(2 ** 20 + 1)],
])('a body in chunks is answered %i, as a body of a known length is', async (status, body) => {
  const api = await started();
  const head = `POST /v1/monitors HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${api.operator}\r\nContent-Type: application/json\r\n`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  for (const sent of [
    `Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    `Content-Length: ${body.length}\r\n\r\n${body}`,
  ]) {
    const socket = socketTo(api);
    const answered = once(socket, 'data') as Promise<[Buffer]>;
    socket.write(head + sent);
    expect((await answered).toString()).toMatch(`HTTP/1.1 ${status} `);
  }
});

describe('the host of a request', () => {
  test.each([
    ['localhost:8080', '/healthz', '200'],
    ['svc.example.com', '/healthz', '200'],
    ['attacker.example', '/healthz', '421'],
    ['attacker.example', '/v1/monitors', '421'],
    ['attacker.example', '/v1', '421'],
    ['attacker.example', '/v1/nothing', '421'],
    ['attacker.example', '/docs', '421'],
    ['attacker.example', '/v1x', '404'],
    ['attacker.example', '/', '404'],
    ['attacker.example', '/status/example', '404'],
  ])('%s%s on loopback is answered %s', async (host, path, status) => {
    const socket = socketTo(await started({ publicUrl: 'https://svc.example.com' }));
    const answered = textOf(socket);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect((await answered).slice(9, 12)).toBe(status);
  });

  test('on loopback may be the domain of a page once its DNS points here, and leads only to that page', async () => {
    const api = await started();
    const page = { title: 'Theirs', slug: 'theirs', custom_domain: 'here.example.com' };
    const { body } = await api.call('POST', '/v1/status-pages', page);
    const statusOf = async (path: string) => {
      const socket = socketTo(api);
      const answered = textOf(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: here.example.com\r\nConnection: close\r\n\r\n`);
      return (await answered).slice(9, 12);
    };
    await api.call('POST', `/v1/status-pages/${(body as { id: string }).id}/domain/check`);
    expect(await statusOf('/')).toBe('200');
    for (const path of ['/v1/monitors', '/metrics', '/docs', '/login'])
      expect(await statusOf(path)).toBe('404');
  });

  test.each(['0.0.0.0', '::'])('is checked for a connection to %s that came over loopback', async (host) => {
    const running = await started({ publicUrl: 'https://svc.example.com', listen: { host, port: 0 } });
    const statusOf = async (name: string, address: string) => {
      const socket = socketTo(running, address);
      const answered = textOf(socket);
      socket.write(`GET /healthz HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
      return (await answered).slice(9, 12);
    };
    expect(await statusOf('attacker.example', '127.0.0.1')).toBe('421');
    expect(await statusOf('localhost', '127.0.0.1')).toBe('200');
    expect(await statusOf('svc.example.com', '127.0.0.1')).toBe('200');
    const others = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    for (const { address } of others.filter(({ internal, family }) => !internal && family === 'IPv4')) {
      expect(await statusOf('any.example', address)).toBe('200');
    }
  });
});

describe('the warning of a plain listener', () => {
  test.each([
    ['127.0.0.1', 'http://svc.example', []],
    ['0.0.0.0', 'http://svc.example', [expect.stringMatching(/without TLS, so tokens can be read/)]],
    ['0.0.0.0', 'https://svc.example', [expect.stringMatching(/only the proxy of SVC_PUBLIC_URL/)]],
  ])('on %s with %s is %j', async (host, publicUrl, expected) => {
    const { log, said } = listening('warn');
    await started({ log, publicUrl, listen: { host, port: 0 } });
    expect(said).toEqual(expected);
  });
});

describe('TLS', () => {
  async function files(pair: { key: string; cert: string }) {
    const folder = await temporaryFolder();
    opened.push({ close: () => folder.remove() });
    const paths = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
    await writeFile(paths.cert, pair.cert);
    await writeFile(paths.key, pair.key);
    return paths;
  }

  async function subjectAt({ url }: RunningApi): Promise<string> {
    const port = Number(new URL(url).port);
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return String(subject.CN);
  }

  test('is served, and the certificate is read again when it changes', async () => {
    const paths = await files(SELF_SIGNED);
    const { log, said } = listening('error');
    const api = await started({ tls: paths, clock: systemClock, log });
    expect(api.url).toMatch(/^https:/);
    expect(await subjectAt(api)).toBe('localhost');

    await writeFile(paths.cert, 'nothing');
    await expect.poll(() => said).toEqual([expect.stringMatching(/the former one stays/)]);
    expect(await subjectAt(api)).toBe('localhost');

    await writeFile(`${paths.key}.new`, TRUSTED.key);
    await rename(`${paths.key}.new`, paths.key);
    await writeFile(paths.cert, TRUSTED.cert);
    await expect.poll(() => subjectAt(api)).toBe('trusted');
  });

  test('a key of another certificate stops the start', async () => {
    const paths = await files({ cert: SELF_SIGNED.cert, key: TRUSTED.key });
    await expect(startApi({ tls: paths })).rejects.toThrow(
      'cannot use the files of SVC_TLS_CERT and SVC_TLS_KEY',
    );
  });
});

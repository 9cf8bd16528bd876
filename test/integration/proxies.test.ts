/**
 * The API behind the proxies of `deploy/proxy`, with the real programs as far as they are installed
 * (`.ci/run` installs them).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, type OutgoingHttpHeaders, request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { guardProcess } from '../../deploy/local/guard.ts';
import { type RunningApi, startApi } from '../support/api.ts';
import { createResource } from '../support/declared-resources.ts';
import { freePort } from '../support/free-port.ts';
import { endChild } from '../support/process.ts';
import { findProgram } from '../support/real-dns-server.ts';
import { TRUSTED } from '../support/tls/certificates.ts';

const FILES = new URL('../../deploy/proxy/', import.meta.url);

type Proxy = { readonly port: number; readonly plainPort: number | null; stop(): Promise<void> };

async function started(
  program: string,
  args: readonly string[],
  port: number,
  environment: NodeJS.ProcessEnv,
) {
  const child = spawn(program, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${program} has ended:\n${said}`);
  });
  await Promise.race([untilListening(port), ended]);
  ended.catch(() => {}); // It is rejected when the test stops the proxy.
  return async () => void (await endChild(child, 'SIGTERM'));
}

async function untilListening(port: number): Promise<void> {
  // Nothing listens before the proxy has started. The hook's time-out bounds the wait.
  while ((await ask({ port, path: '/healthz' }).catch(() => null))?.status !== 200) await pause(50);
}

/** Replaces the operator's values in the file. Each of them must occur. */
function adapted(file: string, places: Record<string, string>): string {
  let adapted = file;
  for (const [from, to] of Object.entries(places)) {
    expect(adapted).toContain(from);
    adapted = adapted.replaceAll(from, to);
  }
  return adapted;
}

async function startNginx(program: string, folder: string, upstream: string): Promise<Proxy> {
  const [port, plainPort] = [await freePort(), await freePort()];
  const site = adapted(await readFile(new URL('nginx.conf', FILES), 'utf8'), {
    'server 127.0.0.1:8080;': `server ${upstream};`,
    'listen [::]:80;': '',
    'listen 80;': `listen 127.0.0.1:${plainPort};`,
    'listen [::]:443 ssl http2;': '',
    'listen 443 ssl http2;': `listen 127.0.0.1:${port} ssl http2;`,
    '/etc/nginx/svc/': `${folder}/`,
  });
  await writeFile(join(folder, 'fullchain.pem'), TRUSTED.cert);
  await writeFile(join(folder, 'key.pem'), TRUSTED.key);
  await writeFile(join(folder, 'svc.conf'), site);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  await writeFile(
    join(folder, 'main.conf'),
    `user root; daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; events {}
     http { access_log off; ${folders.join(' ')} include svc.conf; }`,
  );
  const stop = await started(
    program,
    ['-p', folder, '-e', 'stderr', '-c', join(folder, 'main.conf')],
    port,
    {},
  );
  return { port, plainPort, stop };
}

async function startCaddy(program: string, folder: string, upstream: string): Promise<Proxy> {
  const port = await freePort();
  // The sites are unchanged. Further options keep Caddy from using the ports, the admin interface and the
  // certificate store of this machine.
  const options = 'admin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tlocal_certs';
  const file = await readFile(new URL('Caddyfile', FILES), 'utf8');
  await writeFile(
    join(folder, 'main'),
    adapted(file, { '\n{\n\ton_demand_tls': `\n{\n\t${options}\n\ton_demand_tls` }),
  );
  const stop = await started(
    program,
    ['run', '--adapter', 'caddyfile', '--config', join(folder, 'main')],
    port,
    {
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      SVC_DOMAIN: `https://localhost:${port}`,
      SVC_CUSTOM_DOMAINS: `https://:${port}`,
      SVC_UPSTREAM: upstream,
    },
  );
  return { port, plainPort: null, stop };
}

type Question = {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** Name that the certificate is for. */
  readonly servername?: string;
  /** Local address that the request is sent from. */
  readonly from?: string;
};

async function ask(question: Question) {
  const { answer, plain } = await opened(question);
  return { status: answer.statusCode as number, headers: answer.headers, text: await text(plain) };
}

/** The head of an answer, and its body as a stream, decompressed. */
async function opened(question: Question): Promise<{ answer: IncomingMessage; plain: Readable }> {
  const { port, path, method = 'GET', headers = {}, body, from = '127.0.0.1' } = question;
  const { servername = 'localhost' } = question;
  const sent = request({
    host: '127.0.0.1',
    servername,
    port,
    path,
    method,
    headers: { host: `localhost:${port}`, ...headers },
    localAddress: from,
    rejectUnauthorized: false,
    agent: false,
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const isPacked = answer.headers['content-encoding'] === 'gzip';
  return { answer, plain: isPacked ? answer.pipe(createGunzip()) : answer };
}

describe.each([
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const)('behind %s', (name, start) => {
  const program = findProgram(name);
  const isSkipped = program === null && process.env.CI !== 'true';
  if (isSkipped) process.stdout.write(`skipped: the API behind ${name}, which is not installed\n`);

  let folder: string;
  let api: RunningApi;
  let proxy: Proxy;

  beforeAll(async () => {
    if (isSkipped) return;
    folder = await mkdtemp(join(tmpdir(), `svc-${name}-`));
    await mkdir(join(folder, 'logs'));
    api = await startApi({ publicUrl: 'https://svc.example.com', trustedProxies: ['127.0.0.1'] });
    proxy = await start(program ?? name, folder, new URL(api.url).host);
  });
  afterAll(async () => {
    await proxy?.stop();
    await api?.dispose();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  const call = (question: Omit<Question, 'port'>) =>
    ask({
      ...question,
      port: proxy.port,
      headers: {
        authorization: `Bearer ${api.operator}`,
        'content-type': 'application/json',
        ...question.headers,
      },
    });

  test.skipIf(isSkipped)('the API answers, and tells browsers to use TLS only', async () => {
    const { status, headers } = await call({ path: '/v1/monitors' });
    expect(status).toBe(200);
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
    expect(headers['x-request-id']).toBeDefined();
  });

  test.skipIf(isSkipped)(
    'the audit trail has the address of the client, whatever the client says of itself',
    async () => {
      for (const headers of [{}, { 'x-forwarded-for': '203.0.113.9' }]) {
        const body = JSON.stringify({ name: 'a', scope: 'read' });
        const created = await call({ path: '/v1/tokens', method: 'POST', headers, body, from: '127.0.0.2' });
        expect(created.status).toBe(201);
        const { id } = JSON.parse(created.text);
        const { text } = await call({ path: `/v1/audit?object=tokens/${id}` });
        expect(JSON.parse(text)).toMatchObject({ data: [{ action: 'create', peer: '127.0.0.2' }] });
      }
    },
  );

  test.skipIf(isSkipped)('the API itself refuses bodies that are too large', async () => {
    const body = JSON.stringify({ name: 'a'.repeat(1_100_000) });
    const { status, headers, text } = await call({ path: '/v1/tokens', method: 'POST', body });
    expect(status).toBe(413);
    expect(headers['content-type']).toContain('application/problem+json');
    expect(JSON.parse(text)).toMatchObject({ type: 'urn:svc:problem:too-large' });
  });

  test.skipIf(isSkipped || name === 'caddy')('far larger bodies do not reach the API', async () => {
    const { status, headers } = await call({
      path: '/v1/tokens',
      method: 'POST',
      body: ' '.repeat(3_000_000),
    });
    expect(status).toBe(413);
    expect(headers['content-type']).not.toContain('problem');
  });

  test.skipIf(isSkipped)('a list of more than 10 MB arrives whole, compressed or not', async () => {
    const body = 'a'.repeat(250_000);
    for (let monitor = 0; monitor < 45; monitor += 1) {
      const { status, text } = await call({
        path: '/v1/monitors',
        method: 'POST',
        body: JSON.stringify({
          type: 'http',
          name: String(monitor),
          url: 'https://svc.example.com/',
          method: 'POST',
          periodicity: '10m',
          body,
        }),
      });
      expect(status, text).toBe(201);
    }
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const { data } = JSON.parse((await call({ path: '/v1/monitors?limit=100', headers })).text) as {
        data: { name: string; body: string }[];
      };
      expect(data.map(({ name }) => Number(name))).toEqual(data.map((_, index) => index));
      expect(data.reduce((sum, each) => sum + each.body.length, 0)).toBe(45 * 250_000);
    }
  });

  /** The cookie of a session of the dashboard. */
  async function session(): Promise<string> {
    const form = await call({ path: '/login' });
    const cookies = ({ headers }: Awaited<ReturnType<typeof ask>>) =>
      (headers['set-cookie'] ?? []).map((each) => each.split(';', 1)[0]).join('; ');
    const formToken = /name="form_token" value="([^"]+)"/.exec(form.text)?.[1] ?? '';
    const entered = await call({
      path: '/login',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: cookies(form) },
      body: new URLSearchParams({ token: api.operator, form_token: formToken }).toString(),
    });
    expect(entered.status).toBe(303);
    return cookies(entered);
  }

  test.skipIf(isSkipped)(
    'each event of the stream of changes arrives at once, and so does its end',
    async () => {
      const headers = { host: `localhost:${proxy.port}`, cookie: await session() };
      const { answer, plain } = await opened({
        ...{ port: proxy.port, path: '/events' },
        headers: { ...headers, accept: 'text/event-stream', 'accept-encoding': 'gzip, br' },
      });
      expect(answer.headers['content-type']).toBe('text/event-stream');
      let said = '';
      plain.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      const hasSaid = async (words: string) => {
        while (!said.includes(words)) await once(plain, 'data');
      };
      await hasSaid('retry: ');
      api.clock.advance(15_000);
      await hasSaid(':\n\n');
      const ended = once(plain, 'end');
      api.clock.advance(600_000);
      await ended;
    },
  );

  test.skipIf(isSkipped)('answers are compressed for clients that ask for it', async () => {
    const { headers } = await call({ path: '/v1/openapi.json', headers: { 'accept-encoding': 'gzip' } });
    expect(headers['content-encoding']).toBe('gzip');
  });

  test.skipIf(isSkipped || name === 'nginx')(
    'a custom domain gets a certificate and its page once it points here, and no other name gets one',
    async () => {
      const of = (domain: string, path = '/') =>
        ask({ port: proxy.port, path, servername: domain, headers: { host: domain } });
      const members = { slug: 'own', custom_domain: 'here.example.org' };
      const id = await createResource(api, 'svc_status_page', {
        title: 'On a domain of its own',
        ...members,
      });
      await expect(of('here.example.org')).rejects.toThrow();
      const checked = await call({ path: `/v1/status-pages/${id}/domain/check`, method: 'POST' });
      expect(JSON.parse(checked.text)).toMatchObject({ state: 'verified', problem: null });
      api.clock.advance(2_000);
      const page = await of('here.example.org');
      expect(page.status).toBe(200);
      expect(page.text).toContain('On a domain of its own');
      for (const path of ['/v1/monitors', '/login', '/status/own']) {
        expect((await of('here.example.org', path)).status, path).toBe(404);
      }
      await expect(of('evil.example.org')).rejects.toThrow();
    },
  );

  test.skipIf(isSkipped || name === 'caddy')('plain HTTP is redirected to HTTPS', async () => {
    const sent = plainRequest({
      host: '127.0.0.1',
      port: proxy.plainPort,
      path: '/v1/monitors',
      agent: false,
    }).end();
    const [answer] = await once(sent, 'response');
    answer.resume();
    await once(answer, 'end');
    expect([answer.statusCode, answer.headers.location]).toEqual([308, 'https://127.0.0.1/v1/monitors']);
  });
});

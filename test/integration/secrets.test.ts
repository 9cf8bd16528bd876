/**
 * Real processes at the level `trace`, with a secret in every place that takes one. Each secret reaches its
 * receiver, and appears in no log, table or stream, and in no answer to a token that only reads.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtService } from '../support/built-services.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { type Opened, openedIn, receiverIn } from '../support/opened.ts';
import { Program } from '../support/process.ts';

/** Every secret has it. */
const MARK = 'S3CRET';
const TOKEN = `operator-${MARK}-0123456789abcdef0123456789`;

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;

/** Whatever a leak would contain. */
const LEAK = new RegExp(
  [
    MARK,
    ...['probe', 'alerts', 'proxy'].map((user) => btoa(`${user}:${MARK}-${user}`).replaceAll('+', '\\+')),
  ].join('|'),
);

/** A proxy that leads everything to one server, asked with a password. */
async function proxyIn(opened: Opened, server: { readonly url: string }) {
  const proxy = await startForwardProxy(Number(new URL(server.url).port));
  opened.push(proxy);
  const { authorizations } = proxy;
  return { url: proxy.url.replace('//', `//proxy:${MARK}-proxy@`), authorizations };
}

async function folderIn(opened: Opened): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  return folder;
}

async function natsIn(opened: Opened) {
  const password = `${MARK}-nats`;
  const nats = await startNatsServer(`authorization { user: "svc", password: "${password}" }`);
  opened.push({ close: () => nats.dispose() });
  return { ...nats, storeDir: nats.storeDir, url: nats.url.replace('//', `//svc:${password}@`) };
}

/** The files below a folder whose bytes contain a secret. */
async function filesWithSecrets(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    paths.map(async (path) => (LEAK.test(await readFile(path, 'latin1')) ? path : [])),
  );
  return found.flat();
}

const MONITOR = {
  type: 'http',
  name: 'Web',
  url: `http://probe:${MARK}-probe@web.test/health?key=${MARK}-key%2f`,
  method: 'POST',
  body: `{"key":"${MARK}-body"}`,
  headers: [{ key: 'X-Key', value: `${MARK}-header` }],
  otlp_endpoint: 'https://otlp.test/v1/metrics',
  otlp_headers: { authorization: `${MARK}-otlp` },
  periodicity: '30s',
  active: true,
  retry: 0,
  timeout: 5_000,
};

const CHANNEL = {
  provider_type: 'webhook',
  name: 'Ops',
  webhook: {
    endpoint: `http://alerts:${MARK}-alerts@hook.test/hook/${MARK}-path?sig=${MARK}%2fquery`,
    headers: [{ key: 'X-Key', value: `${MARK}-hook-header` }],
  },
};

const PAGE = {
  title: 'Page',
  slug: 'page',
  access_type: 'password',
  password: `${MARK}-page`,
};

test('what is secret arrives where it is meant to, and comes out nowhere else', async (context) => {
  const opened = openedIn(context);
  const nats = await natsIn(opened);
  const target = await receiverIn(opened);
  const hook = await receiverIn(opened);
  target.answerWith(({ path, headers, text }, response) => {
    response.writeHead(500).end(`${path} ${JSON.stringify(headers)} ${text}`);
  });
  hook.answerWith(({ path, headers, text }, response) => {
    response.writeHead(500).end(`${path} ${decodeURIComponent(path)} ${JSON.stringify(headers)} ${text}`);
  });
  const probeProxy = await proxyIn(opened, target);
  const channelProxy = await proxyIn(opened, hook);
  const folder = await folderIn(opened);
  const elsewhere = await folderIn(opened);
  const tokenFile = join(elsewhere, 'token');
  await writeFile(tokenFile, `${TOKEN}\n`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const common = { SVC_NATS_URL: nats.url, SVC_LOG_LEVEL: 'trace', SVC_METRICS_TOKEN: `${MARK}-metrics` };
  const coordinator = new Program(await builtService('coordinator'), {
    ...common,
    SVC_LISTEN: `127.0.0.1:${port}`,
    SVC_DATA_DIR: folder,
    SVC_API_TOKEN_FILE: tokenFile,
    SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    SVC_CHANNEL_PROXY: channelProxy.url,
    SVC_SMTP_URL: `smtp://mail:${MARK}-smtp@mail.test`,
    SVC_TWILIO_AUTH_TOKEN: `${MARK}-twilio`,
    SVC_TELEGRAM_BOT_TOKEN: `123:${MARK}-telegram`,
  });
  const agent = new Program(await builtService('agent'), {
    ...common,
    SVC_REGION: 'hosta-fra',
    SVC_PROBE_PROXY: probeProxy.url,
  });
  for (const program of [agent, coordinator]) {
    opened.push({ close: () => program.end('SIGKILL').then(() => {}) });
  }
  await Promise.all([coordinator.start(), agent.start()]);

  async function call(method: string, path: string, body?: unknown, token = TOKEN) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : null };
  }

  const monitor = await call('POST', '/v1/monitors', MONITOR);
  expect(monitor).toMatchObject({ status: 201, json: { url: MONITOR.url } });
  const { id } = monitor.json;
  const failed = coordinator.line((line) => line.msg.startsWith('the delivery of an alert failed'));
  const channel = await call('POST', '/v1/notifications', { ...CHANNEL, monitor_ids: [id] });
  expect(channel.status).toBe(201);
  expect((await call('POST', '/v1/status-pages', PAGE)).status).toBe(201);

  const [probed] = await target.received(1);
  expect(probed).toMatchObject({
    method: 'POST',
    text: MONITOR.body,
    headers: { authorization: basic('probe', `${MARK}-probe`), 'x-key': `${MARK}-header` },
  });
  const [alert] = await hook.received(1);
  expect(alert).toMatchObject({
    path: `/hook/${MARK}-path?sig=${MARK}%2fquery`,
    json: {
      monitor: { name: 'Web', url: `http://web.test/health?key=${MARK}-key%2f` },
      status: 'error',
      statusCode: 500,
    },
    headers: { authorization: basic('alerts', `${MARK}-alerts`), 'x-key': `${MARK}-hook-header` },
  });
  for (const { authorizations } of [probeProxy, channelProxy])
    expect(new Set(authorizations)).toEqual(new Set([basic('proxy', `${MARK}-proxy`)]));
  await failed;

  // Mistakes of users are reported to them, and their values are kept nowhere.
  const wrong = [
    '{"name":"S3CRET-malformed" "url"',
    { ...MONITOR, body: { key: `${MARK}-wrong` } },
    { ...MONITOR, headers: [{ key: 'X-Key', value: `${MARK}\n-wrong` }] },
    { ...MONITOR, [`${MARK}-unknown`]: 1 },
    { ...MONITOR, url: `http://probe:${MARK}-wrong@` },
    { ...MONITOR, method: `${MARK}-wrong` },
  ];
  for (const body of wrong) expect((await call('POST', '/v1/monitors', body)).status).toBeGreaterThan(399);
  expect((await call('GET', '/v1/monitors', undefined, `${MARK}-wrong-token-0123456789`)).status).toBe(401);
  await call('POST', `/v1/notifications/${channel.json.id}/test`);
  await call('POST', `/v1/monitors/${id}/check`);

  const reader = await call('POST', '/v1/tokens', { name: 'reader', scope: 'read' });
  expect(reader.status).toBe(201);
  const { token: readToken } = reader.json;
  for (const path of [
    '/v1/monitors',
    `/v1/monitors/${id}`,
    `/v1/monitors/${id}/results`,
    `/v1/monitors/${id}/transitions`,
    `/v1/monitors/${id}/summary?range=24h`,
    `/v1/monitors/${id}/series`,
    `/v1/monitors/${id}/phases`,
    `/v1/monitors/${id}/uptime`,
    `/v1/monitors/${id}/deliveries`,
    '/v1/notifications',
    `/v1/notifications/${channel.json.id}`,
    `/v1/notifications/${channel.json.id}/deliveries`,
    '/v1/status-pages',
    '/v1/regions',
    '/v1/openapi.json',
  ]) {
    const { text } = await call('GET', path, undefined, readToken);
    expect(text, path).not.toMatch(LEAK);
  }
  for (const path of ['/v1/audit', '/v1/tokens', '/readyz']) {
    const { text } = await call('GET', path);
    expect(text, path).not.toMatch(LEAK);
  }
  const metrics = await call('GET', '/metrics', undefined, `${MARK}-metrics`);
  expect(metrics.status).toBe(200);
  expect(metrics.text).not.toMatch(LEAK);

  // A writer can write back what it reads, which changes nothing. The masks that a reader gets are refused.
  const path = `/v1/monitors/${id}`;
  const whole = await call('GET', path);
  expect((await call('PUT', path, whole.json)).json).toMatchObject({ body: MONITOR.body, url: MONITOR.url });
  const masked = await call('GET', path, undefined, readToken);
  expect((await call('PUT', path, masked.json)).status).toBe(422);
  expect((await call('GET', path)).json).toMatchObject({ headers: MONITOR.headers, body: MONITOR.body });

  for (const { lines, noise } of [coordinator, agent]) {
    expect(
      [...lines.map((line) => JSON.stringify(line)), ...noise].filter((line) => LEAK.test(line)),
    ).toEqual([]);
  }
  expect(coordinator.lines.some(({ level }) => level === 20)).toBe(true);
  expect(await filesWithSecrets(folder)).toEqual([]);
  await Promise.all([coordinator.end('SIGTERM'), agent.end('SIGTERM')]);
  await nats.stop();
  expect(await filesWithSecrets(nats.storeDir)).toEqual([]);
});

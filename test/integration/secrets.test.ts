/**
 * Real processes at the level `trace`, with a secret in every place that takes one. Each secret reaches its
 * receiver, and appears in no log, metric, table or stream, and in no answer to a token that only reads or to
 * a visitor. The test requests every endpoint, every page of the dashboard and every document of a status
 * page. It reads their lists from the code that serves them, so a new one is included automatically.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FORMATS } from '@svc/cli/export/secrets.ts';
import { dashboardPages } from '@svc/coordinator/dashboard/pages.ts';
import type { ChangeFeed } from '@svc/coordinator/dashboard/scripts/change-feed.ts';
import { DOCUMENTS } from '@svc/coordinator/pages/documents.ts';
import { expect, test } from 'vitest';
import { builtService } from '../support/built-services.ts';
import { channelBodies, SECRET } from '../support/channel-samples.ts';
import { readContract } from '../support/contract/document.ts';
import { databaseOfProcess, databaseSettings } from '../support/database.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { type Opened, openedIn, receiverIn } from '../support/opened.ts';
import { OPERATOR_ENVIRONMENT } from '../support/operator-values.ts';
import { Program } from '../support/process.ts';
import { svc } from '../support/svc.ts';
import { Visitor } from '../support/visited-pages.ts';

/** A text that every secret contains. */
const MARK = 'S3CRET';
const TOKEN = `operator-${MARK}-0123456789abcdef0123456789`;

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;

/** Texts of which a leak would contain at least one. */
const LEAK = new RegExp(
  [
    MARK,
    ...['probe', 'alerts', 'proxy'].map((user) => btoa(`${user}:${MARK}-${user}`).replaceAll('+', '\\+')),
  ].join('|'),
);

/** A proxy that requires a password and sends everything to one server. */
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
  otlp_endpoint: `https://otlp.test/v1/metrics?key=${MARK}-otlp-query`,
  otlp_headers: { authorization: `${MARK}-otlp` },
  periodicity: '30s',
  active: true,
  public: true,
  retry: 0,
  timeout: 5_000,
};

/** Resources of the declared file. Its secrets come from the environment and from a file. */
const DECLARED = {
  svc_http_monitor: {
    declared: {
      ...{ name: 'Declared', periodicity: '30s', active: true, retry: 0 },
      url: `http://web.test/declared?key=\${env.PLANTED}`,
      headers: [{ key: 'X-Key', value: `\${file.planted}` }],
    },
  },
};

const CHANNEL = {
  provider_type: 'webhook',
  name: 'Ops',
  webhook: {
    endpoint: `http://alerts:${MARK}-alerts@hook.test/hook/${MARK}-path?sig=${MARK}%2fquery`,
    headers: [{ key: 'X-Key', value: `${MARK}-hook-header` }],
  },
};
/** Channels of the other kinds, with every setting. */
const CHANNELS = channelBodies()
  .filter(({ provider_type }) => provider_type !== 'webhook')
  .map((body) => JSON.parse(JSON.stringify(body).replaceAll(SECRET, MARK)) as object);

const PAGE = {
  title: 'Page',
  slug: 'page',
  access_type: 'password',
  password: `${MARK}-page`,
};

/** Required query parameters of endpoints. */
const QUERIES: Readonly<Record<string, string>> = { '/v1/monitors/{id}/summary': '?range=24h' };
/**
 * Endpoints that need not answer 200 or 403: no page in this test has a domain, and metrics have a separate
 * token.
 */
const NOT_ANSWERED: ReadonlySet<string> = new Set(['/v1/status-pages/{id}/domain', '/metrics']);
/** Ids to try. Objects of each kind have ids from 1 on. */
const IDS = Array.from({ length: CHANNELS.length + 1 }, (_, index) => index + 1);

/** The paths of all objects of a route. For objects below others, the first three ids of each suffice. */
function pathsOf(route: string): string[] {
  if (!route.includes('{')) return [route];
  const isBelow = route.split('{').length > 2;
  const pairs = IDS.slice(0, 3).flatMap((id) => IDS.slice(0, 3).map((below) => [id, below]));
  return (isBelow ? pairs : IDS.map((id) => [id])).map((ids) => {
    const [first, second] = ids.map(String);
    return route.replace(/\{\w+\}/, first ?? '').replace(/\{\w+\}/, second ?? '');
  });
}

const cookieOf = ({ cookies }: Visitor) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');

test('secrets arrive where they are meant to, and appear nowhere else', async (context) => {
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
  const collector = await receiverIn(opened);
  const folder = await folderIn(opened);
  const elsewhere = await folderIn(opened);
  const tokenFile = join(elsewhere, 'token');
  const declaredFile = join(elsewhere, 'svc.json');
  await Promise.all([
    writeFile(tokenFile, `${TOKEN}\n`),
    writeFile(declaredFile, JSON.stringify(DECLARED)),
    writeFile(join(elsewhere, 'planted'), `${MARK}-in-a-file`),
  ]);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const common = {
    SVC_NATS_URL: nats.url,
    SVC_LOG_LEVEL: 'trace',
    SVC_METRICS_TOKEN: `${MARK}-metrics`,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics?key=${MARK}-default-otlp`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${MARK}-default-otlp`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  };
  const database = await databaseOfProcess(folder);
  opened.push({ close: () => database.remove() });
  const coordinator = new Program(await builtService('coordinator'), {
    ...common,
    ...databaseSettings(database),
    SVC_LISTEN: `127.0.0.1:${port}`,
    SVC_DATA_DIR: folder,
    SVC_API_TOKEN_FILE: tokenFile,
    SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    SVC_CHANNEL_PROXY: channelProxy.url,
    SVC_CONFIG: declaredFile,
    PLANTED: `${MARK}-in-the-environment`,
    ...OPERATOR_ENVIRONMENT,
    SVC_SMTP_URL: `smtp://mail:${MARK}-smtp@127.0.0.1:1`,
    SVC_TWILIO_AUTH_TOKEN: `${MARK}-twilio`,
    SVC_TELEGRAM_BOT_TOKEN: `123:${MARK}-telegram`,
  });
  const agentPort = await freePort();
  const agent = new Program(await builtService('agent'), {
    ...common,
    SVC_AGENT_LISTEN: `127.0.0.1:${agentPort}`,
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

  const declaredHeader = { 'x-key': `${MARK}-in-a-file` };
  const probed = (await target.received(2)).toSorted((one, other) => one.path.localeCompare(other.path));
  expect(probed[0]).toMatchObject({
    path: `/declared?key=${MARK}-in-the-environment`,
    headers: declaredHeader,
  });
  expect(probed[1]).toMatchObject({
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

  // Wrong values are reported to the user who sent them, and stored nowhere.
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
  const session = new Visitor(url, {});
  expect((await session.submit('/login', { token: readToken })).status).toBe(303);
  const changes = await fetch(`${url}/events`, { headers: { cookie: cookieOf(session) } });
  expect(changes.status).toBe(200);

  // Creates one of each kind of object that a read token or a visitor can see.
  const update = { state: 'investigating', text: 'a', component_ids: ['1'] };
  for (const [made, body] of [
    ...CHANNELS.map((channel) => ['/v1/notifications', { ...channel, monitor_ids: [id] }]),
    ['/v1/status-pages', { title: 'Open', slug: 'open' }],
    ['/v1/status-pages/1/component-groups', { name: 'a' }],
    ['/v1/status-pages/1/components', { type: 'monitor', monitor_id: id, group_id: '1' }],
    ['/v1/status-pages/2/components', { type: 'monitor', monitor_id: id }],
    ['/v1/incidents', { title: 'a', page_ids: ['1'], ...update }],
    [
      '/v1/maintenance-windows',
      { title: 'a', starts_at: '2126-01-02T00:00:00Z', ends_at: '2126-01-02T01:00:00Z', monitor_ids: [id] },
    ],
  ] as [string, object][]) {
    expect((await call('POST', made, body)).status, made).toBe(201);
  }
  for (const number of IDS) await call('POST', `/v1/notifications/${number}/test`);
  await collector.received(1);

  const { operations } = await readContract({ url });
  for (const { method, path } of operations) {
    const name = `${method} ${path}`;
    const isRead = method === 'get';
    // Bodies of other requests are not read: the missing scope is refused first, and the answer closes the
    // connection.
    const sent = path.endsWith('/what-if') ? {} : undefined;
    const given = pathsOf(path).map((one) => `${one}${QUERIES[path] ?? ''}`);
    const statuses = new Set<number>();
    for (const one of given) {
      const { status, text } = await call(method.toUpperCase(), one, sent, readToken);
      statuses.add(status);
      expect(text, `${name}: ${one}`).not.toMatch(LEAK);
    }
    const isAnswered = statuses.has(200) || statuses.has(403) || NOT_ANSWERED.has(path);
    if (isRead) expect(isAnswered, `${name} answers ${[...statuses]}`).toBe(true);
  }
  for (const { method, path } of dashboardPages({ changes: null as unknown as ChangeFeed })) {
    // `/events` is a stream and no page, and `/monitors/{id}/incident` only leads to the page of an incident.
    if (method !== 'GET' || path === '/events' || path === '/monitors/{id}/incident') continue;
    const statuses = new Set<number>();
    for (const one of pathsOf(path)) {
      const { status, text } = await session.ask(one);
      statuses.add(status);
      expect(text, one).not.toMatch(LEAK);
    }
    expect(statuses.has(200) || statuses.has(403), `GET ${path} answers ${[...statuses]}`).toBe(true);
  }
  const [stranger, insider] = [new Visitor(url, {}), new Visitor(url, {})];
  const { status: entered } = await insider.submit(`/status/${PAGE.slug}/access`, {
    password: PAGE.password,
  });
  expect(entered).toBe(303);
  for (const [visitor, slug, isReader] of [
    [stranger, 'open', true],
    [stranger, PAGE.slug, false],
    [insider, PAGE.slug, true],
  ] as const) {
    for (const path of [...DOCUMENTS.keys(), ...IDS.map((one) => `/days/${one}`), '/access', '/subscribe']) {
      const { status, text } = await visitor.ask(`/status/${slug}${path}`);
      if (DOCUMENTS.has(path)) expect(status === 200, path).toBe(isReader);
      expect(text, path).not.toMatch(LEAK);
    }
  }
  const told = await changes.body?.getReader().read();
  expect(new TextDecoder().decode(told?.value)).not.toMatch(LEAK);
  for (const path of ['/v1/audit', '/v1/tokens', '/readyz']) {
    const { text } = await call('GET', path);
    expect(text, path).not.toMatch(LEAK);
  }
  for (const listener of [url, `http://127.0.0.1:${agentPort}`]) {
    const headers = { authorization: `Bearer ${MARK}-metrics` };
    const metrics = await fetch(`${listener}/metrics`, { headers });
    expect(metrics.status).toBe(200);
    expect(await metrics.text()).not.toMatch(LEAK);
  }
  expect(collector.requests.map(({ path }) => path)).toContain(`/v1/metrics?key=${MARK}-default-otlp`);
  expect(collector.requests.map(({ text }) => text).filter((text) => LEAK.test(text))).toEqual([]);
  for (const [token, format] of [TOKEN, readToken].flatMap((one) => FORMATS.map((form) => [one, form]))) {
    const exported = await svc(['export', '--format', format], { SVC_BASE_URL: url, SVC_API_TOKEN: token });
    expect(`${exported.out}${exported.err}`, format).not.toMatch(LEAK);
    expect(exported.out, exported.err).toContain('Web');
  }

  // A write token can write back what it reads, which changes nothing. The masks that a read token gets are
  // refused.
  const path = `/v1/monitors/${id}`;
  const whole = await call('GET', path);
  expect((await call('PUT', path, whole.json)).json).toMatchObject({ body: MONITOR.body, url: MONITOR.url });
  const masked = await call('GET', path, undefined, readToken);
  expect((await call('PUT', path, masked.json)).status).toBe(422);
  expect((await call('GET', path)).json).toMatchObject({ headers: MONITOR.headers, body: MONITOR.body });

  const handedOut = [readToken, ...session.cookies.values()];
  for (const { lines, noise } of [coordinator, agent]) {
    const texts = [...lines.map((line) => JSON.stringify(line)), ...noise];
    const isLeak = (text: string) => LEAK.test(text) || handedOut.some((secret) => text.includes(secret));
    expect(texts.filter(isLeak)).toEqual([]);
  }
  expect(coordinator.lines.some(({ level }) => level === 20)).toBe(true);
  expect(await filesWithSecrets(folder)).toEqual([]);
  await Promise.all([coordinator.end('SIGTERM'), agent.end('SIGTERM')]);
  await nats.stop();
  expect(await filesWithSecrets(nats.storeDir)).toEqual([]);
});

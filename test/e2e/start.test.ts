/** What a person sees with `npm start`, and can do with it. */
import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { connect, ErrorCode } from 'nats';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { NpmStart, processes } from '../support/npm-start.ts';
import { type Opened, openedIn, receiverIn, targetIn } from '../support/opened.ts';
import { Program, ROOT } from '../support/process.ts';
import { shellBlocks } from '../support/shell-page.ts';

const TWO_REGIONS = { SVC_REGIONS: 'hosta-fra,hostb-par' };

/** A data folder, a declared file and a port for several starts, each with an agent in one region. */
async function placeIn(opened: Opened) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-start-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  const config = join(folder, 'svc.json');
  const environment = {
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_REGIONS: 'hosta-fra',
    SVC_CONFIG: config,
    SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
  };
  return {
    folder,
    declare: (declared: unknown) => writeFile(config, JSON.stringify(declared)),
    start(further: Record<string, string> = {}) {
      const started = new NpmStart({ ...environment, ...further });
      opened.push({ close: async () => void (await started.end('SIGKILL')) });
      return started;
    },
  };
}

const monitorOf = (name: string, url: string) => ({
  name,
  url,
  periodicity: '30s',
  active: true,
  retry: 0,
});

test('starts, goes on when a part dies, stops, and starts again without saying anything twice', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const hook = await receiverIn(opened);
  const place = await placeIn(opened);
  const declaring = (...names: string[]) => ({
    svc_http_monitor: Object.fromEntries(
      names.map((name) => [name, { ...monitorOf(name, web.url), regions: ['hosta-fra', 'hostb-par'] }]),
    ),
    svc_notification: {
      hook: {
        provider_type: 'webhook',
        webhook: { endpoint: hook.url },
        monitor_ids: names.map((name) => `\${svc_http_monitor.${name}.id}`),
      },
    },
  });

  await place.declare(declaring('first'));
  const once = place.start(TWO_REGIONS);
  await once.line('svc runs.');
  expect(await once.line('first  no data → down')).toContain('503');
  await hook.received(1);

  const [agent] = once.partsWith('packages/agent/src/main.ts');
  process.kill(agent ?? 0, 'SIGKILL');
  await once.line('ended (signal SIGKILL); starting it again in 0.25 s');
  await once.line('works again');
  expect(once.partsWith('packages/agent/src/main.ts')).toHaveLength(2);

  expect(await once.end('SIGINT')).toBe(0);
  expect(once.lines.at(-1)).toBe('stopped');

  await place.declare(declaring('first', 'second'));
  const again = place.start(TWO_REGIONS);
  await again.line('second  no data → down');
  const requests = await hook.received(2);
  expect(await again.end('SIGINT')).toBe(0);
  expect(requests.map(({ json }) => json)).toMatchObject([
    { status: 'error', monitor: { name: 'first' } },
    { status: 'error', monitor: { name: 'second' } },
  ]);
  expect(hook.requests).toHaveLength(2);
  expect(again.lines.join('\n')).not.toContain('first  ');
  expect(again.lines.join('\n')).not.toContain('lost its last agent');
});

describe('one that is running', () => {
  const opened: Opened = [];
  let place: Awaited<ReturnType<typeof placeIn>>;
  let started: NpmStart;

  beforeAll(async () => {
    place = await placeIn(opened);
    await place.declare({ svc_status_page: { main: { title: 'Main', slug: 'main' } } });
    started = place.start(TWO_REGIONS);
    await started.line('svc runs.');
  });
  afterAll(async () => {
    for (const one of opened.toReversed()) await one.close();
  });

  test('prints a link that logs in to the dashboard, and the address of the first status page', async () => {
    const [, link = ''] = /dashboard (\S+)/.exec(await started.line('  dashboard ')) ?? [];
    expect(await started.line('  status ')).toMatch(/\/status\/main$/);
    const page = await fetch(link);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Log in to the dashboard');
  });

  test('its NATS requires the password, which only the owner can read', async () => {
    const url = /nats:\/\/\S+/.exec(await started.line('  NATS      '))?.[0] ?? '';
    expect(url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
    await expect(connect({ servers: url, reconnect: false })).rejects.toMatchObject({
      code: ErrorCode.AuthorizationViolation,
    });
    const files = ['nats.conf', 'nats.url'].map((name) => join(place.folder, 'data', name));
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
    const bus = await connectBus({
      url: readFileSync(files[1] ?? '', 'utf8').trim(),
      name: 'owner',
      log: pino({ level: 'silent' }),
    });
    await bus.flush();
    await bus.close();
  });

  test('all its parts end when the supervisor is killed', async () => {
    const parts = [...started.partsWith('main.ts'), ...started.partsWith('nats-server')];
    expect(parts.length).toBeGreaterThanOrEqual(4);
    await started.end('SIGKILL');
    await expect.poll(() => parts.filter(isAlive)).toEqual([]);
  });
});

test('a start without log and declared file becomes ready, and a second one with the same data folder is refused', async (context) => {
  const place = await placeIn(openedIn(context));
  const first = place.start({ SVC_LOG_LEVEL: 'silent', SVC_CONFIG: 'none' });
  await first.line('svc runs.');
  await first.line('declared  nothing');
  const second = place.start();
  await second.line('svc is already running with the data folder');
  expect(await second.ended()).toBe(1);
  expect(await first.end('SIGTERM')).toBe(0);
});

test('a declared file with errors ends the first start, which reports them all and leaves nothing running', async (context) => {
  const place = await placeIn(openedIn(context));
  await place.declare({ svc_http_monitor: { web: { url: 'ftp://example.com', periodicity: '7s' } } });
  const started = place.start();
  await started.line('svc_http_monitor.web.name: is required');
  await started.line('svc_http_monitor.web.url: must be a URL');
  await started.line('coordinator cannot start');
  expect(await started.ended()).toBe(1);
  // The NATS server's command line names its folder.
  expect(processes().filter(({ command }) => command.includes(place.folder))).toEqual([]);
});

test('uses the NATS server that a file names, and does not show its password', async (context) => {
  const opened = openedIn(context);
  const nats = await startNatsServer('authorization { user: "svc", password: "hush-h@sh" }');
  opened.push({ close: () => nats.dispose() });
  const web = await targetIn(opened);
  const place = await placeIn(opened);
  const [file, tokenFile] = [join(place.folder, 'nats-url'), join(place.folder, 'token')];
  const port = await freePort();
  await writeFile(file, `svc:hush-h@sh@127.0.0.1:${nats.port},nats://svc:hush-h@sh@127.0.0.1:${port}\n`);
  await writeFile(tokenFile, `${'t'.repeat(32)}\n`);
  await place.declare({ svc_http_monitor: { web: monitorOf('Web', web.url) } });
  const started = place.start({ SVC_NATS_URL_FILE: file, SVC_API_TOKEN_FILE: tokenFile });
  await started.line('svc runs.');
  expect(await started.line('  API ')).toContain(`(token: ${tokenFile})`);
  expect(await started.line('  NATS ')).toContain(`nats://127.0.0.1:${nats.port},nats://127.0.0.1:${port}`);
  await started.line('Web  no data → up');
  await nats.stop();
  await started.line('connection to NATS');
  expect(started.lines.join('\n')).not.toMatch(/hush|h@sh|sh@/);
  expect(started.partsWith('nats-server')).toEqual([]);
  expect(await started.end('SIGINT')).toBe(0);
});

test("an agent of a region of one's own joins, as the page of operations shows", async (context) => {
  const opened = openedIn(context);
  const page = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');
  const [block = '', ...others] = shellBlocks(page).filter((text) => text.includes('npm start'));
  expect(others).toEqual([]);
  const [start, agent] = block.trimEnd().split('\n');
  const [, extra = '', regions = ''] =
    /^SVC_EXTRA_REGIONS='(.+)' SVC_REGIONS=(\S+) npm start$/.exec(start ?? '') ?? [];
  const [, url = '', region = ''] =
    /^SVC_NATS_URL_FILE=data\/(\S+) SVC_REGION=(\S+) npm run agent$/.exec(agent ?? '') ?? [];

  const web = await targetIn(opened);
  const place = await placeIn(opened);
  const inOwn = (name: string, region: string) => ({ ...monitorOf(name, web.url), regions: [region] });
  const [, office = ''] = regions.split(',');
  await place.declare({
    svc_http_monitor: {
      office: inOwn('Office', office),
      second: inOwn('Second', region),
      down: { ...inOwn('Down', office), url: `http://127.0.0.1:${await freePort()}/` },
    },
  });
  const started = place.start({ SVC_EXTRA_REGIONS: extra, SVC_REGIONS: regions });
  expect(await started.line('  agents ')).toMatch(/hosta-fra, Berlin office \(office-berlin\)$/);
  await started.line('Office  no data → up');
  expect(await started.line('Down  no data → down')).toContain(': Berlin office (office-berlin): ');
  const own = new Program('packages/agent/src/main.ts', {
    SVC_NATS_URL_FILE: join(place.folder, 'data', url),
    SVC_REGION: region,
  });
  opened.push({ close: async () => void (await own.end('SIGKILL')) });
  await own.start();
  await started.line('Second  no data → up');
  expect(await own.end('SIGTERM')).toBe(0);
  expect(await started.end('SIGINT')).toBe(0);
});

test('says what it waits for when NATS cannot be reached', async (context) => {
  const place = await placeIn(openedIn(context));
  await place.declare({});
  const url = `nats://127.0.0.1:${await freePort()}`;
  const started = place.start({ SVC_NATS_URL: url });
  expect(await started.line('waiting for NATS')).toContain(url);
  expect(await started.end('SIGINT')).toBe(0);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

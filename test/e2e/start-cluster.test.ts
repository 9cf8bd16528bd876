/** What a person sees with `npm run start:cluster`, and can do with it. */
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCode } from '@svc/shared/errors.ts';
import { expect, onTestFailed, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { NpmStart } from '../support/npm-start.ts';
import { hookOf, type Opened, openedIn, receiverIn, targetIn } from '../support/opened.ts';

/**
 * A folder that the user of PostgreSQL may enter. The temporary folder of a run of tests is closed to other
 * users.
 */
const OPEN = existsSync('/dev/shm') ? '/dev/shm' : '/var/tmp';
const RUNS = 'svc runs as a cluster.';

async function placeIn(opened: Opened, declared: object) {
  const folder = await mkdtemp(join(OPEN, 'svc-cluster-'));
  await chmod(folder, 0o711);
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  const config = join(folder, 'svc.json');
  await writeFile(config, JSON.stringify(declared));
  const data = join(folder, 'data');
  const listen = `127.0.0.1:${await freePort()}`;
  const environment = {
    SVC_DATA_DIR: data,
    SVC_LISTEN: listen,
    SVC_CONFIG: config,
    SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
  };
  return {
    data,
    url: `http://${listen}`,
    start() {
      const started = new NpmStart(environment, 'cluster');
      opened.push({ close: async () => void (await started.end('SIGKILL')) });
      // Without these lines, a time-out does not say for what the test waited.
      onTestFailed(() => console.error(started.lines.join('\n')));
      return started;
    },
  };
}

/** Sends a signal to a process that may have ended meanwhile. */
function killed(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isCode(error, 'ESRCH')) throw error;
  }
}

test('each part may be killed, both coordinators answer alike, and a start goes on after a stop and after a kill of all', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const hook = await receiverIn(opened);
  const place = await placeIn(opened, {
    svc_http_monitor: { shop: { name: 'Shop', url: web.url, periodicity: '30s', active: true, retry: 0 } },
    svc_notification: {
      hook: hookOf(hook, 'svc_http_monitor.shop'),
    },
  });

  const cluster = place.start();
  await cluster.line(RUNS);
  await cluster.line('Shop  no data → down');
  await hook.received(1);

  const other = /http:\/\/\S+(?=, waits to lead)/.exec(await cluster.line('waits to lead'))?.[0] ?? '';
  const token = (await readFile(join(place.data, 'coordinator', 'api-token'), 'utf8')).trim();
  const shown = async (url: string) => {
    const answer = await fetch(`${url}/v1/monitors`, { headers: { authorization: `Bearer ${token}` } });
    const { data } = (await answer.json()) as { data: { name: string; status: string }[] };
    return data.map(({ name, status }) => [name, status]);
  };
  await expect.poll(() => shown(place.url)).toEqual([['Shop', 'error']]);
  await expect.poll(() => shown(other)).toEqual([['Shop', 'error']]);

  const kill = async (name: string) => {
    const shownPid = /kill -9 (\d+)/.exec(await cluster.line(`${name.padEnd(20)} kill -9 `))?.[1];
    process.kill(Number(shownPid), 'SIGKILL');
    await cluster.line(`${name} works again   (kill -9 `);
  };
  await kill('coordinator 1');
  await kill('nats-server 2');
  await kill('postgresql');
  web.answerWith((response) => response.end('ok'));
  await cluster.line('Shop  down → up');
  await hook.received(2);
  expect(await cluster.end('SIGINT')).toBe(0);

  const again = place.start();
  await again.line(RUNS);
  await expect.poll(() => shown(place.url)).toEqual([['Shop', 'active']]);

  const history = async () => {
    const answer = await fetch(`${place.url}/v1/monitors/1/results?limit=100`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await answer.json()) as { data: { region: string; cron_timestamp: number }[] };
    return data.map(({ region, cron_timestamp }) => `${region} ${cron_timestamp}`);
  };
  const before = await history();
  // All processes are killed at once, as when the machine dies: parts that see the end of their supervisor stop in order.
  const parts = again.partsWith('');
  const ended = again.end('SIGKILL');
  for (const pid of parts) killed(pid);
  await ended;
  const last = place.start();
  await last.line(RUNS);
  await expect.poll(() => shown(place.url)).toEqual([['Shop', 'active']]);
  expect(await history()).toEqual(expect.arrayContaining(before));
  expect(await last.end('SIGINT')).toBe(0);
  expect(hook.requests).toHaveLength(2);
});

test('a cluster does not take servers of the environment for its own', async () => {
  const refused = new NpmStart({ SVC_DATABASE_URL: 'postgres://svc@127.0.0.1:1/svc' }, 'cluster');
  expect(await refused.ended()).toBe(1);
  expect(refused.lines.join()).toContain('unset SVC_DATABASE_URL');
});

test('a stop while the database is made for the first time leaves nothing running', async (context) => {
  const place = await placeIn(openedIn(context), {});
  const stopped = place.start();
  await stopped.line('svc is starting as a cluster');
  expect(await stopped.end('SIGINT')).toBe(0);
  expect(stopped.lines.at(-1)).toBe('stopped');
});

test('Ctrl-C, which also reaches the program that makes the database, is no failure', async (context) => {
  const place = await placeIn(openedIn(context), {});
  const stopped = place.start();
  let makers: readonly number[] = [];
  await expect.poll(() => (makers = stopped.partsWith('initdb'))).toHaveLength(1);
  const ended = stopped.end('SIGINT');
  for (const pid of makers) killed(pid, 'SIGINT');
  expect(await ended).toBe(0);
  expect(stopped.lines).toEqual(['svc is starting as a cluster', 'stopping …', 'stopped']);
});

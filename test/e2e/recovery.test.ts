/**
 * Backup, restore and rotation of keys, as an operator does them, with processes. A running service is backed
 * up, restored into the folder of another machine, and given new keys. No check and no alert is lost or
 * invented.
 */

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { resultsStream } from '@svc/shared/messages/subjects.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import type { Region } from '@svc/shared/regions.ts';
import { connect, nkeyAuthenticator } from 'nats';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  type TestContext,
  test,
} from 'vitest';
import { builtService } from '../support/built-services.ts';
import { type ConfiguredNats, startConfiguredNats } from '../support/configured-nats.ts';
import { freePort } from '../support/free-port.ts';
import type { HttpTarget } from '../support/http-target.ts';
import { jetStreamOf } from '../support/jetstream.ts';
import { type Opened, openedIn, receiverIn, targetIn } from '../support/opened.ts';
import { Program, ROOT } from '../support/process.ts';
import type { Receiver } from '../support/receiver.ts';
import { openResults } from '../support/recorded-results.ts';
import { type Said, svc } from '../support/svc.ts';

const execute = promisify(execFile);

const REGION: Region = 'hosta-ams';
/**
 * Number of monitors of each status. Their slots are spread over the period, so the next check of either
 * status is always near.
 */
const MONITORS = 15;
/** Polling for events that take most of a period. Each poll opens the database or asks the service. */
const SELDOM = { interval: 500 };

let folder: string;
let target: HttpTarget;
let receiver: Receiver;
let url: string;

beforeEach(async (context) => {
  const opened = openedIn(context as unknown as TestContext);
  folder = await mkdtemp(join(tmpdir(), 'svc-recovery-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  target = await targetIn(opened);
  receiver = await receiverIn(opened);
  url = '';
});

const place = (name: string): string => join(folder, name);
const run = (args: string[], more: Record<string, string> = {}): Promise<Said> =>
  svc(args, { SVC_DATA_DIR: place('data'), SVC_BASE_URL: url, HOME: place('home'), ...more });

async function done(args: string[], more: Record<string, string> = {}): Promise<Said> {
  const said = await run(args, more);
  expect(said, args.join(' ')).toMatchObject({ code: 0 });
  return said;
}

const settingsIn = async (name: string): Promise<Record<string, string>> =>
  parseEnv(await readFile(place(name), 'utf8')) as Record<string, string>;

async function started(program: Program): Promise<Program> {
  onTestFinished(async () => void (await program.end('SIGKILL')));
  await program.start();
  return program;
}

const startNats = async () => {
  const server = await startConfiguredNats(place('data/nats-server/nats.conf'));
  onTestFinished(() => server.close());
  return server;
};

/**
 * Starts a NATS server with the folder's accounts.
 *
 * @param tls further options of `region init`
 */
async function nats(...tls: string[]): Promise<ConfiguredNats> {
  const listen = `127.0.0.1:${await freePort()}`;
  await done(['region', 'init', '--listen', listen, ...tls, '--env-file', place('coordinator.env')]);
  const server = await startNats();
  await done(['region', 'add', REGION, '--env-file', place('agent.env')]);
  return server;
}

async function coordinatorOf(dataDir: string): Promise<Program> {
  await writeFile(place('svc.json'), JSON.stringify(declared()));
  return new Program(await builtService('coordinator'), {
    ...(await settingsIn('coordinator.env')),
    SVC_DATA_DIR: place(dataDir),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_CONFIG: place('svc.json'),
    SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
  });
}

async function coordinator(dataDir = 'data'): Promise<Program> {
  const program = await started(await coordinatorOf(dataDir));
  url = String(program.lines.find(({ event }) => event === 'ready')?.url);
  return program;
}

async function agent(id = 'one'): Promise<Program> {
  const settings = { ...(await settingsIn('agent.env')), SVC_AGENT_ID: id, SVC_DRAIN_MS: '2000' };
  return started(new Program(await builtService('agent'), settings));
}

const namesOf = (path: string): string[] =>
  Array.from({ length: MONITORS }, (_, index) => `${path}_${index}`);

function declared(): object {
  const monitor = (path: string) => (name: string) => [
    name,
    { name, url: `${target.url}/${path}`, periodicity: '30s', active: true, retry: 0, regions: [REGION] },
  ];
  const [up, down] = [namesOf('up'), namesOf('down')];
  return {
    svc_http_monitor: Object.fromEntries([...up.map(monitor('up')), ...down.map(monitor('down'))]),
    svc_notification: {
      hook: {
        name: 'hook',
        provider_type: 'webhook',
        webhook: { endpoint: receiver.url, headers: [{ key: 'x-secret', value: 'kept-well' }] },
        monitor_ids: [...up, ...down].map((name) => `\${svc_http_monitor.${name}.id}`),
      },
    },
  };
}

function rows<Row>(sql: string, dataDir = 'data'): Row[] {
  const database = openResults(join(place(dataDir), 'svc.db'));
  try {
    return database.prepare(sql).all() as Row[];
  } finally {
    database.close();
  }
}

const statuses = (dataDir = 'data'): Record<string, string> =>
  Object.fromEntries(
    rows<{ name: string; status: string }>(
      'SELECT name, status FROM monitors JOIN monitor_states ON monitor_id = id',
      dataDir,
    ).map(({ name, status }) => [name, status]),
  );

const JUDGED = Object.fromEntries([
  ...namesOf('up').map((name) => [name, 'active']),
  ...namesOf('down').map((name) => [name, 'error']),
]);

const judged = (dataDir = 'data') => expect.poll(() => statuses(dataDir), SELDOM).toEqual(JUDGED);

const alertsSent = () => new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size;

/** Makes the target answer. `/down` fails. */
function answer(): void {
  target.answerWith(async (response, path) => {
    response.statusCode = path === '/down' ? 503 : 200;
    response.end('ok');
  });
}

/** Resolves when results of both outcomes have been recorded since this instant. */
async function recordedAfter(instant: number, dataDir = 'data'): Promise<void> {
  const sql = `SELECT DISTINCT outcome FROM results WHERE recorded_at > ${instant} AND outcome <> 'not_run' ORDER BY outcome`;
  const outcomes = () => rows<{ outcome: string }>(sql, dataDir).map(({ outcome }) => outcome);
  await expect.poll(outcomes, SELDOM).toEqual(['failed', 'passed']);
}

/** Number of the last message in the stream of results. */
async function lastMessage(): Promise<number> {
  const { SVC_NATS_URL = '', SVC_NATS_NKEY = '' } = await settingsIn('coordinator.env');
  const connection = await connect({
    servers: SVC_NATS_URL,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(SVC_NATS_NKEY)),
  });
  try {
    const { streams } = await jetStreamOf(connection);
    return (await streams.info(resultsStream(REGION))).state.last_seq;
  } finally {
    await connection.close();
  }
}

test('a running service is copied and goes on in an empty folder, without a false alert', async () => {
  answer();
  await nats();
  const first = await coordinator();
  await agent();
  await judged();
  await receiver.received(MONITORS);

  const backup = await done(['backup', place('backup')]);
  expect(backup.err).toMatch(
    /complete and checked \(api-token, nats-server\/accounts\.conf, .*secret-key, svc\.db\)/,
  );
  expect((await stat(place('backup'))).mode & 0o777).toBe(0o700);
  for (const name of ['svc.db', 'secret-key', 'api-token'])
    expect((await stat(place(`backup/${name}`))).mode & 0o777).toBe(0o600);
  expect(await run(['restore', place('backup')])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/another coordinator uses|is not empty/),
  });
  await first.end('SIGKILL');
  const lost = rows<{ count: number }>('SELECT count(*) AS count FROM results')[0]?.count;

  const elsewhere = { SVC_DATA_DIR: place('new') };
  expect(await done(['restore', place('backup')], elsewhere)).toMatchObject({
    err: expect.stringContaining('restored'),
  });
  expect(await run(['restore', place('backup')], elsewhere)).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not empty'),
  });
  const restoredAt = Date.now();
  await coordinator('new');
  expect(statuses('new')).toEqual(JUDGED);
  await recordedAfter(restoredAt, 'new');
  await judged('new');
  expect(alertsSent()).toBe(MONITORS);
  expect(rows<{ count: number }>('SELECT count(*) AS count FROM results', 'new')[0]?.count).toBeGreaterThan(
    lost ?? 0,
  );
  // On a busy machine an agent may report for a while that it is short of CPU.
  const status = async () => JSON.parse((await run(['status', '--json'], elsewhere)).out);
  await expect.poll(status, SELDOM).toMatchObject({ healthy: true, system: { leading: true } });
});

describe('a backup', () => {
  const opened: Opened = [];
  let stopped: string;

  beforeAll(async () => {
    folder = stopped = await mkdtemp(join(tmpdir(), 'svc-stopped-'));
    opened.push({ close: () => rm(stopped, { recursive: true, force: true }) });
    target = await targetIn(opened);
    receiver = await receiverIn(opened);
    const listen = `127.0.0.1:${await freePort()}`;
    await done(['region', 'init', '--listen', listen, '--env-file', place('coordinator.env')]);
    opened.push(await startConfiguredNats(place('data/nats-server/nats.conf')));
    await done(['region', 'add', REGION, '--env-file', place('agent.env')]);
    const program = await coordinatorOf('data');
    await program.start();
    await program.end('SIGTERM');
    await done(['backup', place('backup')]);
  });
  afterAll(async () => {
    for (const one of opened.reverse()) await one.close();
  });

  /** Each test has a copy of the stopped service. Its NATS server runs. */
  beforeEach(async () => {
    await cp(join(stopped, 'data'), place('data'), { recursive: true });
    await cp(join(stopped, 'coordinator.env'), place('coordinator.env'));
  });

  test.each([
    [
      'a changed byte',
      async (backup: string) => {
        await writeFile(
          join(backup, 'svc.db'),
          (await readFile(join(backup, 'svc.db'))).fill(1, 5_000, 5_100),
        );
      },
      'svc.db was changed or cut',
    ],
    [
      'a place beside it',
      async (backup: string) => {
        const path = join(backup, 'manifest.json');
        await writeFile(path, (await readFile(path, 'utf8')).replace('"api-token"', '"../api-token"'));
      },
      'no complete backup',
    ],
    [
      'a manifest of a later version',
      async (backup: string) =>
        writeFile(join(backup, 'manifest.json'), JSON.stringify({ v: 2, version: '9.0.0', parts: [] })),
      'is of a newer version of svc (9.0.0)',
    ],
    ['no manifest', async (backup: string) => rm(join(backup, 'manifest.json')), 'no complete backup'],
    ['no key', async (backup: string) => rm(join(backup, 'secret-key')), 'secret-key was changed or cut'],
  ] as const)('with %s is not restored', async (_what, change, message) => {
    await cp(join(stopped, 'backup'), place('backup'), { recursive: true });
    await change(place('backup'));
    expect(await run(['restore', place('backup')], { SVC_DATA_DIR: place('new') })).toMatchObject({
      code: 1,
      err: expect.stringContaining(message),
    });
    const left = (await readdir(place('new')).catch(() => [])).filter((name) =>
      /svc\.db$|restoring/.test(name),
    );
    expect(left).toEqual([]);
  });

  test('is not made with the key of another database, and a backup without keys asks for the key when it is restored', async () => {
    const key = await readFile(place('data/secret-key'), 'utf8');
    await chmod(place('data/secret-key'), 0o600);
    await writeFile(place('data/secret-key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
    expect(await run(['backup', place('backup')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('the secret key is not the one'),
    });
    expect((await readdir(folder)).filter((name) => name.startsWith('backup'))).toEqual([]);
    await writeFile(place('data/secret-key'), key);
    expect((await done(['backup', place('backup'), '--without-keys'])).err).toContain(
      'it has no keys. Keep ',
    );
    expect((await readdir(place('backup'), { recursive: true })).sort()).toEqual([
      'manifest.json',
      'nats-server',
      ...['accounts.conf', 'nats.conf', 'regions.json'].map((name) => `nats-server/${name}`),
      'svc.db',
    ]);
    const restored = await done(['restore', place('backup')], { SVC_DATA_DIR: place('new') });
    expect(restored.err).toContain('it has no secret key');
    expect(restored.err).toContain('it was made without keys');
    await writeFile(place('new/secret-key'), key, { mode: 0o600 });
    await coordinator('new');
  });

  test('that was killed is removed by the next backup, and one that runs is not', async () => {
    const [dead, alive] = ['monday.0123456789ab.part', 'tuesday.ba9876543210.part'];
    for (const name of [dead, alive]) {
      await mkdir(place(name));
      await writeFile(place(`${name}/secret-key`), 'secret');
      await writeFile(place(`${name}/backup.lock`), '');
    }
    await mkdir(place('of-others.part'));
    const unlock = lockFile(place(`${alive}/backup.lock`));
    await done(['backup', place('backup')]);
    unlock?.();
    expect((await readdir(folder)).filter((name) => name.endsWith('.part')).sort()).toEqual([
      'of-others.part',
      alive,
    ]);
    expect(await readdir(place('backup'))).not.toContain('backup.lock');
  });

  test('whose restoration was cut short is restored again, and a further backup does not replace it', async () => {
    await done(['backup', place('backup')]);
    await mkdir(place('new/nats-server'), { recursive: true });
    await cp(place('backup/svc.db'), place('new/svc.db.restoring'));
    await cp(place('backup/secret-key'), place('new/secret-key'));
    await cp(place('backup/nats-server/system.nk'), place('new/nats-server/system.nk'));
    const { err } = await done(['restore', place('backup')], { SVC_DATA_DIR: place('new') });
    expect(err).not.toContain('stays as it is');
    const namesIn = async (path: string) => (await readdir(place(path))).sort();
    expect(await namesIn('new/nats-server')).toEqual(await namesIn('backup/nats-server'));
    expect(await run(['backup', place('backup')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('exists: name a folder'),
    });
    await coordinator('new');
  });
});

test('the token, the keys of NATS and the secret key are replaced, and no check and no alert is lost', async () => {
  answer();
  await nats();
  let running = await coordinator();
  const old = await agent('old');
  await judged();
  await receiver.received(MONITORS);

  // The operator's token is replaced. The former token and the new one are valid until the line of the former
  // is removed.
  const former = (await readFile(place('data/api-token'), 'utf8')).trim();
  await done(['token', 'rotate']);
  expect((await run(['token', 'rotate'])).err).toContain('still has a former token');
  const [next = ''] = (await readFile(place('data/api-token'), 'utf8')).split('\n');
  const works = async (token: string) => (await run(['status'], { SVC_API_TOKEN: token })).code;
  await expect.poll(() => works(next)).toBe(0);
  expect(await works(former)).toBe(0);
  await done(['token', 'rotate', '--finish']);
  await expect.poll(() => works(former)).toBe(1);

  // The key of the region is replaced. The agent with the former key works until an agent with the new key is
  // connected.
  await done(['region', 'rotate', REGION, '--env-file', place('agent.env'), '--force']);
  const fresh = await agent('new');
  expect(await old.end('SIGTERM')).toBe(0);
  await done(['region', 'rotate', REGION, '--finish']);

  // The coordinator's key of NATS and its secret key are replaced in one restart.
  await done(['region', 'rotate', 'coordinator', '--env-file', place('coordinator.env'), '--force']);
  await done(['secret-key', 'rotate']);
  const rotatedAt = Date.now();
  expect(await running.end('SIGTERM')).toBe(0);
  running = await coordinator();
  await done(['region', 'rotate', 'coordinator', '--finish']);
  expect(await readdir(place('data'))).not.toContain('secret-key-previous');

  await recordedAfter(rotatedAt);
  await judged();
  expect(alertsSent()).toBe(MONITORS);
  // Checks that are not run because the machine is busy do not count.
  const missed = rows<{ reason: string }>(
    "SELECT json_extract(detail, '$.reason') AS reason FROM results WHERE outcome = 'not_run'",
  ).filter(({ reason }) => reason !== 'overloaded' && reason !== 'agent-starved');
  expect(missed).toEqual([]);
  // The values that were sealed with the new secret key can be opened: the next alert has the channel's header.
  target.answerWith((response) => void response.end('ok'));
  const alerts = await receiver.received(MONITORS + 1);
  expect(alerts[MONITORS]).toMatchObject({
    headers: { 'x-secret': 'kept-well' },
    json: { status: 'recovered' },
  });
  expect(await fresh.end('SIGTERM')).toBe(0);
});

test('a backup that is older than the results in NATS: each of these results is recorded once, and nothing is announced again', async () => {
  answer();
  await nats();
  const first = await coordinator();
  await agent();
  await judged();
  await receiver.received(MONITORS);
  await done(['backup', place('backup')]);

  // The agent has the jobs of a slot. Their answers come when the coordinator has stopped.
  const held: { path: string; release: () => void }[] = [];
  target.answerWith((response, path) => {
    held.push({ path, release: () => response.writeHead(path === '/down' ? 503 : 200).end('ok') });
  });
  await expect.poll(() => new Set(held.map(({ path }) => path)).size).toBe(2);
  await first.end('SIGKILL');
  const before = await lastMessage();
  answer();
  for (const { release } of held) release();
  await expect.poll(lastMessage).toBeGreaterThan(before);

  await done(['restore', place('backup')], { SVC_DATA_DIR: place('new') });
  const newest = 'SELECT slot, count(*) AS count FROM results GROUP BY monitor_id, slot ORDER BY slot DESC';
  const [known] = rows<{ slot: number }>(newest, 'new');
  const restoredAt = Date.now();
  await coordinator('new');
  await recordedAfter(restoredAt, 'new');
  await judged('new');
  const later = rows<{ slot: number; count: number }>(newest, 'new').filter(
    ({ slot }) => slot > Number(known?.slot) && slot < restoredAt,
  );
  expect(later.length).toBeGreaterThanOrEqual(2);
  expect(later.map(({ count }) => count)).toEqual(later.map(() => 1));
  expect(alertsSent()).toBe(MONITORS);
});

test('the certificate of NATS is replaced by one of the same authority and by one of another, and no check is lost', async () => {
  answer();
  const certificates = async (authority: string) => {
    const names = ['localhost', '127.0.0.1'];
    await execute('sh', ['deploy/nats/certificates.sh', place(authority), ...names], { cwd: ROOT });
    for (const name of ['server.pem', 'server-key.pem'])
      await cp(place(`${authority}/${name}`), place(`tls-${name}`));
    return new X509Certificate(await readFile(place('tls-server.pem'))).fingerprint256;
  };
  await certificates('one');
  await cp(place('one/ca.pem'), place('ca.pem'));
  const tls = ['--cert', place('tls-server.pem'), '--key', place('tls-server-key.pem')];
  let server = await nats(...tls, '--ca', place('ca.pem'));
  await coordinator();
  await agent();
  await judged();
  await receiver.received(MONITORS);

  /** Checks go on. If the server was restarted, agents and coordinator have to accept its new certificate. */
  const goesOn = async (isStartedAnew: boolean) => {
    if (isStartedAnew) {
      await server.close();
      server = await startNats();
    } else process.kill(server.pid, 'SIGHUP');
    await recordedAfter(Date.now());
  };
  await certificates('one');
  await goesOn(false);
  await goesOn(true);
  // Another authority: every part trusts both before the server presents the new certificate.
  const next = await certificates('two');
  await writeFile(
    place('ca.pem'),
    `${await readFile(place('one/ca.pem'), 'utf8')}${await readFile(place('two/ca.pem'), 'utf8')}`,
  );
  await goesOn(false);
  await goesOn(true);
  await cp(place('two/ca.pem'), place('ca.pem'));
  await goesOn(true);

  expect(next).not.toBe(new X509Certificate(await readFile(place('one/server.pem'))).fingerprint256);
  const found = await run(['doctor', 'agent', '--env-file', place('agent.env')]);
  expect(found.out).toMatch(/tls +ok/);
  await judged();
  expect(alertsSent()).toBe(MONITORS);
  // Each request to the target is one check.
  const recorded = "SELECT count(*) AS count FROM results WHERE outcome <> 'not_run'";
  const missing = () => target.hits - Number(rows<{ count: number }>(recorded)[0]?.count);
  await expect.poll(missing, SELDOM).toBe(0);
});

/** `svc region` with a real NATS server, which it configures, reloads and asks. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { heartbeatSubject, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { NatsTrial } from '@svc/shared/nats/trial.ts';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { connect, nkeyAuthenticator } from 'nats';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startConfiguredNats } from '../support/configured-nats.ts';
import { reloadNatsAsUnit } from '../support/deployed/unit.ts';
import { freePort } from '../support/free-port.ts';
import { jetStreamOf } from '../support/jetstream.ts';
import { startNatsProxy } from '../support/nats-proxy.ts';
import { whyNoOwnNetwork } from '../support/network/own-network.ts';
import { svcBesideSilentNameServer } from '../support/network/silent-name-server.ts';
import { ROOT } from '../support/process.ts';
import { type Said, svc } from '../support/svc.ts';

const run = promisify(execFile);

let folder: string;
let listen: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-region-'));
  listen = `127.0.0.1:${await freePort()}`;
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const region = (...args: string[]): Promise<Said> => svc(['region', ...args, '--nats-dir', folder], {});
const file = (name: string): string => join(folder, name);
const seedIn = (text: string): string => String(parseEnv(text).SVC_NATS_NKEY);

/**
 * Starts a server with the configuration that `region init` has written to the folder.
 *
 * @returns the server's process id
 */
async function serverIn(...flags: string[]): Promise<number> {
  const server = await startConfiguredNats(file('nats.conf'), ...flags);
  onTestFinished(() => server.close());
  return server.pid;
}

async function stateOf(seed: string): Promise<'accepted' | string> {
  const parts = { url: `nats://${listen}`, name: 'test', inboxPrefix: '_INBOX_hosta-ams' };
  try {
    const trial = await NatsTrial.open({ ...parts, nkeySeed: new Secret(seed) });
    const own = await trial.mayPublish(heartbeatSubject('hosta-ams', 'one'));
    const other = await trial.mayPublish(resultsSubject('hosta-fra'));
    await trial.close();
    return `accepted, own ${own}, other ${other}`;
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

const OF_AMS = 'accepted, own true, other false';

/** Connects with the key, and stays connected until the server ends the connection. */
async function connected(seed: string) {
  const connection = await connect({
    servers: listen,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
    reconnect: false,
  });
  onTestFinished(() => connection.close());
  return connection;
}

test("as a separate program, it writes the settings, and the files that the server's user may read", async () => {
  const program = (...args: string[]) =>
    run(process.execPath, [
      '--',
      join(ROOT, 'packages/cli/src/main.ts'),
      'region',
      ...args,
      '--nats-dir',
      folder,
    ]);
  // Node itself takes some options, such as --env-file, wherever they stand.
  await program('init', '--listen', listen, '--env-file', file('coordinator.env'));
  await program('add', 'hosta-ams', '--env-file', file('agent.env'));
  const modeOf = async (name: string) => ((await stat(file(name))).mode & 0o777).toString(8);
  expect(await Promise.all(['nats.conf', 'accounts.conf'].map(modeOf))).toEqual(['644', '644']);
  const secret = ['coordinator.env', 'agent.env', 'coordinator.nk', 'agent-hosta-ams.nk', 'regions.json'];
  expect(await Promise.all(secret.map(modeOf))).toEqual(secret.map(() => '600'));
});

test.each([
  ['a closed pipe', '| :', /code 0\n$/],
  ['a full disk', '> /dev/full', /svc: cannot write the output: ENOSPC.*\n(?:.*\n)*code 1\n$/],
  ['a full disk for messages', '2> /dev/full', /^code 0\n$/],
])('when its output goes to %s, it makes the whole change nevertheless', async (_what, redirection, told) => {
  await region('init', '--listen', listen);
  const server = await serverIn();
  const command = `"$0" -- packages/cli/src/main.ts region add hosta-ams --nats-dir ${folder}`;
  const redirected = `{ ${command} ${redirection.replace('| :', '')}; echo "code $?" >&3; }`;
  // \`:\` ends long before the first output.
  const shell = `exec 3>&2; ${redirected} ${redirection === '| :' ? redirection : ''}`;
  const { stderr } = await run('/bin/sh', ['-c', shell, process.execPath], { cwd: ROOT });
  expect(stderr).toMatch(told);
  expect(stderr).not.toContain('    at ');
  if (redirection !== '2> /dev/full') expect(stderr).toContain(`reloaded the server ${server}`);
  const added = await readFile(file('agent-hosta-ams.nk'), 'utf8');
  expect(await stateOf(added.trim())).toBe(OF_AMS);
});

test('a region is added, its key replaced without a gap, and removed', async () => {
  const init = await region('init', '--listen', listen);
  expect(init).toMatchObject({ code: 0, err: expect.stringContaining('nats-server -c') });
  expect(parseEnv(init.out)).toEqual({
    SVC_NATS_URL: `nats://${listen}`,
    SVC_NATS_NKEY: expect.stringMatching(/^SU/),
  });
  await serverIn();

  const added = await region('add', 'hosta-ams', '--env-file', file('agent.env'));
  expect(added).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/reloaded the server \d+/) });
  expect((await stat(file('agent.env'))).mode & 0o777).toBe(0o600);
  const text = await readFile(file('agent.env'), 'utf8');
  expect(parseEnv(text)).toMatchObject({ SVC_NATS_URL: `nats://${listen}`, SVC_REGION: 'hosta-ams' });
  const first = seedIn(text);
  expect(await stateOf(first)).toBe(OF_AMS);
  const coordinator = seedIn(init.out);
  expect(await stateOf(coordinator)).toMatch(/^accepted/);

  const rotated = await region('rotate', 'hosta-ams');
  expect(rotated).toMatchObject({ code: 0, err: expect.stringContaining('--finish') });
  const second = seedIn(rotated.out);
  expect(second).not.toBe(first);
  expect([await stateOf(first), await stateOf(second)]).toEqual([OF_AMS, OF_AMS]);
  const repeated = await region('rotate', 'hosta-ams');
  expect(repeated).toMatchObject({ code: 0, err: expect.stringContaining('no client uses its new key') });
  expect(seedIn(repeated.out)).toBe(second);
  const switched = await connected(second);
  expect(await region('rotate', 'hosta-ams')).toMatchObject({
    code: 2,
    err: expect.stringContaining('still has a former key'),
  });
  await switched.close();

  const agent = await connected(first);
  expect(await region('rotate', 'hosta-ams', '--finish')).toMatchObject({
    code: 2,
    err: expect.stringContaining('1 connections still use the former key'),
  });
  const listed = await region('list');
  expect(listed.out).toMatch(/hosta-ams .* 0 .*\(1 connections\)/);
  await agent.close();
  expect(await region('rotate', 'hosta-ams', '--finish')).toMatchObject({ code: 0 });
  await expect.poll(() => stateOf(first)).toBe('nats-refused');
  expect(await stateOf(second)).toBe(OF_AMS);

  const cutOff = (await connected(second)).closed();
  expect(await region('remove', 'hosta-ams')).toMatchObject({
    code: 0,
    err: expect.stringContaining('reloaded'),
  });
  await cutOff;
  await expect.poll(() => stateOf(second)).toBe('nats-refused');
  expect(await readdir(folder)).not.toContain('agent-hosta-ams.nk');
  expect(await stateOf(coordinator)).toMatch(/^accepted/);
});

test('the list has the name of a region where the setting of the coordinator is set', async () => {
  await region('add', 'hosta-ams', 'office-berlin', 'dc-2');
  const list = (...args: string[]) =>
    svc(['region', 'list', '--nats-dir', folder, ...args], {
      SVC_EXTRA_REGIONS: 'office-berlin:Berlin office,dc-2',
    });
  const names = (await list()).out.split('\n').map((line) => line.split(/ {2,}/)[0]);
  expect(names).toEqual(expect.arrayContaining(['hosta-ams', 'dc-2', 'Berlin office (office-berlin)']));
  const { data } = JSON.parse((await list('--json')).out) as { data: { name: string }[] };
  expect(data.map(({ name }) => name)).toContain('office-berlin');
  expect((await region('list')).out).not.toContain('Berlin office');
});

test("a leaked key of a region is refused at once after its replacement, and so is the coordinator's", async () => {
  const { out } = await region('init', '--listen', listen);
  const { out: agent } = await region('add', 'hosta-ams');
  await serverIn();
  const now = await region('rotate', 'hosta-ams', '--now');
  await expect.poll(() => stateOf(seedIn(agent))).toBe('nats-refused');
  expect(await stateOf(seedIn(now.out))).toBe(OF_AMS);
  const rotated = await region('rotate', 'coordinator');
  expect(await stateOf(seedIn(out))).toMatch(/^accepted/);
  expect(await region('rotate', 'coordinator', '--finish')).toMatchObject({ code: 0 });
  await expect.poll(() => stateOf(seedIn(out))).toBe('nats-refused');
  expect(await stateOf(seedIn(rotated.out))).toMatch(/^accepted/);
});

test('the stream takes results of a region that was added while the server runs', async () => {
  const { out } = await region('init', '--listen', listen);
  await serverIn();
  const connection = await connected(seedIn(out));
  const { streams } = await jetStreamOf(connection);
  await streams.add({ name: 'results', subjects: [resultsSubject('hosta-ams')] });
  const { out: agent } = await region('add', 'hosta-ams');
  const parts = { url: `nats://${listen}`, name: 'test', inboxPrefix: '_INBOX_hosta-ams' };
  const trial = await NatsTrial.open({ ...parts, nkeySeed: new Secret(seedIn(agent)) });
  onTestFinished(() => trial.close());
  expect(await trial.streamAnswer(resultsSubject('hosta-ams'))).toBe('reached');
  expect((await streams.info('results')).state.messages).toBe(0);
});

test('a region that the command could not announce to the server works after one reload of the unit', async () => {
  const { out } = await region('init', '--listen', listen, '--pid-file', file('nats.pid'));
  const pid = await serverIn();
  const connection = await connected(seedIn(out));
  const { streams } = await jetStreamOf(connection);
  await streams.add({ name: 'results', subjects: [resultsSubject('hosta-ams')] });
  // This is the situation when the server runs on another machine.
  await rm(file('nats.pid'));
  const added = await region('add', 'hosta-ams');
  expect(added.err).toContain('no server with nats.conf runs on this machine');
  await reloadNatsAsUnit(pid);
  const parts = { url: `nats://${listen}`, name: 'test', inboxPrefix: '_INBOX_hosta-ams' };
  const answer = async () => {
    const trial = await NatsTrial.open({ ...parts, nkeySeed: new Secret(seedIn(added.out)) });
    return await trial.streamAnswer(resultsSubject('hosta-ams')).finally(() => trial.close());
  };
  await expect.poll(answer).toBe('reached');
});

const noNetwork = whyNoOwnNetwork();
if (noNetwork !== null) console.warn(`skipped: svc region beside a dead name server: ${noNetwork}`);

test.skipIf(noNetwork !== null)('a name server that never answers does not delay the list', async () => {
  await region('init', '--listen', listen, '--url', 'nats://nats.example.com:4222');
  const listed = await svcBesideSilentNameServer(folder, ['region', 'list', '--nats-dir', folder], {});
  expect(listed).toEqual({
    code: 0,
    out: expect.stringMatching(/^coordinator .* unknown/m),
    err: 'svc: nats.example.com cannot be resolved: no answer within 5 s\n',
  });
});

test('two concurrent calls do not mix: the second is told to try again', async () => {
  await region('init', '--listen', listen);
  const unlock = lockFile(file('regions.lock'));
  expect(await region('add', 'hosta-ams')).toMatchObject({
    code: 1,
    err: expect.stringContaining('try again when it has ended'),
  });
  unlock?.();
  const { code, out } = await region('add', 'hosta-ams', 'hosta-ams');
  expect([code, out.match(/^SVC_NATS_NKEY=/gm)?.length]).toEqual([0, 1]);
});

test('without an init the first region begins with a server on loopback', async () => {
  const { code, out, err } = await region('add', 'hosta-ams', 'hosta-fra');
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('a server on loopback') });
  expect(out.match(/^SVC_NATS_NKEY=SU/gm)).toHaveLength(3);
  expect(await readFile(file('nats.conf'), 'utf8')).toContain('listen: "127.0.0.1:4222"');
  const again = await region('add', 'hosta-ams');
  expect(again).toMatchObject({ code: 0, err: expect.stringContaining('hosta-ams is there already') });
  expect(out).toContain(again.out);
});

test('beside the NATS server of npm start, which knows no keys, a message says what an agent there needs', async () => {
  const data = file('data');
  const add = () => svc(['region', 'add', 'hosta-ams', 'dc-2'], { SVC_DATA_DIR: data });
  expect((await add()).err).not.toContain('npm start');
  await writeFile(join(data, 'nats.url'), 'nats://svc:secret@127.0.0.1:4222\n');
  const { code, out, err } = await add();
  expect(code).toBe(0);
  expect(out).toContain('SVC_REGION=dc-2');
  const [first, second] = ['hosta-ams', 'dc-2'].map(
    (region) => `"SVC_NATS_URL_FILE=${join(data, 'nats.url')} SVC_REGION=${region} npm run agent"`,
  );
  const named = ['region', 'add', 'hosta-ams', '--nats-dir', folder];
  expect((await svc(named, { SVC_DATA_DIR: data })).err).not.toContain('npm start');
  expect(err).toContain(
    `svc: the NATS server that npm start runs does not have these keys, and an agent beside it needs none: start it with ${first}, ${second}\n`,
  );
});

test('keys without a state, as a killed command leaves them, stay valid', async () => {
  const { out } = await region('add', 'hosta-ams');
  await rm(file('regions.json'));
  await rm(file('accounts.conf'));
  const { out: coordinator } = await region('init', '--listen', listen);
  expect(out).toContain(seedIn(coordinator));
  expect(seedIn((await region('add', 'hosta-ams')).out)).toBe(seedIn(out.split('an agent')[1] ?? ''));
});

describe('nothing is lost', () => {
  test('when a command is killed between two files', async () => {
    const { out: before } = await region('init', '--listen', listen);
    const args = ['packages/cli/src/main.ts', 'region', 'add', ...REGIONS, '--nats-dir', folder];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'exit');
    await once(child.stderr, 'data');
    child.kill('SIGKILL');
    await ended;
    const kept = new Map<string, string>();
    for (const name of await readdir(folder))
      if (/^agent-.*\.nk$/.test(name)) kept.set(name, await readFile(file(name), 'utf8'));
    expect(kept.size).toBeGreaterThan(0);

    expect(await region('add', ...REGIONS)).toMatchObject({ code: 0 });
    for (const [name, seed] of kept) expect(await readFile(file(name), 'utf8')).toBe(seed);
    expect(seedIn((await region('init', '--listen', listen)).out)).toBe(seedIn(before));
    const parts = JSON.parse((await region('list', '--json')).out) as { data: unknown[] };
    expect(parts.data).toHaveLength(2 + REGIONS.length);
    await serverIn();
  });

  test('when a key is restored without its state, as from a backup: both keys are valid', async () => {
    const { out } = await region('add', 'hosta-ams');
    const before = await region('init', '--listen', listen);
    const state = await readFile(file('regions.json'), 'utf8');
    const rotated = await region('rotate', 'hosta-ams');
    const coordinator = await region('rotate', 'coordinator');
    await writeFile(file('regions.json'), state);
    expect(seedIn((await region('add', 'hosta-ams')).out)).toBe(seedIn(rotated.out));
    await serverIn();
    expect(await stateOf(seedIn(out.split('an agent')[1] ?? ''))).toBe(OF_AMS);
    expect(await stateOf(seedIn(rotated.out))).toBe(OF_AMS);
    expect(seedIn((await region('init', '--listen', listen)).out)).toBe(seedIn(coordinator.out));
    for (const { out: settings } of [before, coordinator])
      expect(await stateOf(seedIn(settings))).toMatch(/^accepted/);
  });

  test.each([
    ['the state names its key', ['coordinator.nk', 'regions.json', 'accounts.conf']],
    ['the accounts have its key', ['coordinator.nk', 'accounts.conf']],
    ['its key takes its place', ['coordinator.nk']],
  ])('when a rotation is killed before %s', async (_what, unchanged) => {
    const { out: before } = await region('init', '--listen', listen);
    const kept = await Promise.all(unchanged.map((name) => readFile(file(name), 'utf8')));
    const made = seedIn((await region('rotate', 'coordinator')).out);
    await writeFile(file('coordinator.nk.next'), `${made}\n`);
    for (const [index, name] of unchanged.entries()) await writeFile(file(name), kept[index] ?? '');
    for (const name of ['.check-abcdef', 'coordinator.nk.0123456789ab']) await writeFile(file(name), '');
    await serverIn();
    const completed = await region('rotate', 'coordinator');
    expect(completed.code).toBe(0);
    expect(await stateOf(seedIn(before))).toMatch(/^accepted/);
    expect(await stateOf(seedIn(completed.out))).toMatch(/^accepted/);
    expect(seedIn((await region('init', '--listen', listen)).out)).toBe(seedIn(completed.out));
    expect((await readdir(folder)).filter((name) => /next|check|[0-9a-f]{12}$/.test(name))).toEqual([]);
  });

  test('when the settings cannot be written: the former key stays valid, and the next call completes the change', async () => {
    await region('init', '--listen', listen);
    const { out } = await region('add', 'hosta-ams');
    await serverIn();
    const before = await readFile(file('regions.json'), 'utf8');
    for (const [command, place] of [
      ['rotate', file('missing/agent.env')],
      ['rotate', file('nats.conf')],
      ['add', folder],
    ] as const) {
      expect(await region(command, 'hosta-ams', '--env-file', place)).toMatchObject({
        code: 1,
        err: expect.stringContaining('cannot write'),
      });
    }
    expect(await readFile(file('regions.json'), 'utf8')).toBe(before);
    // `/dev/full` can be opened for writing, but every write fails.
    const full = await region('rotate', 'hosta-ams', '--env-file', '/dev/full', '--force');
    expect(full).toMatchObject({ code: 1, err: expect.stringMatching(/ENOSPC.*call this again/) });
    expect(await stateOf(seedIn(out))).toBe(OF_AMS);
    const again = await region('rotate', 'hosta-ams');
    expect([await stateOf(seedIn(out)), await stateOf(seedIn(again.out))]).toEqual([OF_AMS, OF_AMS]);
  });

  test('when the key of a region is not a valid key: the region is removed, with a message', async () => {
    await region('init', '--listen', listen);
    const { out } = await region('add', 'hosta-ams');
    await serverIn();
    await writeFile(file('agent-hosta-ams.nk'), 'garbage\n');
    expect(await region('remove', 'hosta-ams')).toMatchObject({
      code: 0,
      err: expect.stringMatching(/agent-hosta-ams\.nk: this is not the seed.*\n.*reloaded.*\n.*removed/),
    });
    await expect.poll(() => stateOf(seedIn(out))).toBe('nats-refused');
  });

  test.each([
    ['is lost', (path: string) => rm(path)],
    ['is not valid', (path: string) => writeFile(path, 'garbage\n')],
  ])('when the new key %s during a rotation: the rotation ends, and the server reloads', async (_, spoil) => {
    await region('init', '--listen', listen);
    const { out } = await region('add', 'hosta-ams');
    await serverIn();
    const rotated = await region('rotate', 'hosta-ams');
    await spoil(file('agent-hosta-ams.nk'));
    expect(await region('rotate', 'hosta-ams', '--finish')).toMatchObject({
      code: 0,
      err: expect.stringMatching(/agent-hosta-ams\.nk.*\n.*reloaded.*\n.*is refused from now on/),
    });
    await expect.poll(() => stateOf(seedIn(out))).toBe('nats-refused');
    expect(await stateOf(seedIn(rotated.out))).toBe(OF_AMS);
  });

  test('when the new key is lost before a client uses it: the next call makes another one', async () => {
    await region('init', '--listen', listen);
    const { out } = await region('add', 'hosta-ams');
    await serverIn();
    await region('rotate', 'hosta-ams');
    await rm(file('agent-hosta-ams.nk'));
    const system = await readFile(file('system.nk'));
    await rm(file('system.nk'));
    expect(await region('rotate', 'hosta-ams')).toMatchObject({
      code: 2,
      err: expect.stringContaining('still has a former key'),
    });
    await writeFile(file('system.nk'), system);
    const again = await region('rotate', 'hosta-ams');
    expect(again.code).toBe(0);
    expect([await stateOf(seedIn(out)), await stateOf(seedIn(again.out))]).toEqual([OF_AMS, OF_AMS]);
  });

  test('when the key of the server is lost: changes are made, and a message says how to get another one', async () => {
    await region('init', '--listen', listen);
    await serverIn();
    await rm(file('system.nk'));
    const advice = expect.stringContaining('"region rotate system" makes another one');
    const added = await region('add', 'hosta-ams');
    expect(added).toMatchObject({ code: 0, err: advice });
    // During a reload, the server refuses even keys that it knows.
    await expect.poll(() => stateOf(seedIn(added.out))).toBe(OF_AMS);
    expect(await region('list')).toMatchObject({ code: 0, err: advice });
    expect(await region('rotate', 'system')).toMatchObject({
      code: 0,
      err: expect.stringContaining('reloaded the server'),
    });
  });

  test('when the key of the coordinator is lost: init changes nothing before there is another one', async () => {
    await region('init', '--listen', listen);
    const before = await readFile(file('nats.conf'), 'utf8');
    await rm(file('coordinator.nk'));
    expect(await region('init', '--listen', '127.0.0.1:1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('"region rotate coordinator" makes another one'),
    });
    expect(await readFile(file('nats.conf'), 'utf8')).toBe(before);
  });

  test('when the server does not answer the first request: it is asked again', async () => {
    const port = await freePort();
    const proxy = await startNatsProxy(port);
    onTestFinished(() => proxy.close());
    listen = `127.0.0.1:${proxy.port}`;
    await region('init', '--listen', listen);
    await serverIn('--port', String(port));
    let looks = 0;
    proxy.lead(port, (info) => {
      looks += 1;
      return looks === 1 ? '-ERR Authorization Violation\r\n' : info;
    });
    expect(await region('init', '--listen', listen)).toMatchObject({
      code: 0,
      err: expect.stringContaining('reloaded the server'),
    });
    expect(looks).toBeGreaterThan(1);
  });

  test('when a removal is killed before the reload: the next call reloads, and the key is refused', async () => {
    await region('init', '--listen', listen);
    await serverIn();
    const { out } = await region('add', 'hosta-ams');
    const pidFile = String(/pid_file: "(.+)"/.exec(await readFile(file('nats.conf'), 'utf8'))?.[1]);
    const pid = await readFile(pidFile, 'utf8');
    await rm(pidFile);
    await region('remove', 'hosta-ams');
    await writeFile(pidFile, pid);
    expect(await stateOf(seedIn(out))).toBe(OF_AMS);
    expect(await region('remove', 'hosta-ams')).toMatchObject({
      code: 0,
      err: expect.stringMatching(/reloaded the server \d+.*\nsvc: there is no account of hosta-ams/),
    });
    expect(await stateOf(seedIn(out))).toBe('nats-refused');
  });

  test('when a change needs a restart of the server: a message says so', async () => {
    await region('init', '--listen', listen);
    await serverIn();
    const { err } = await region('init', '--listen', `127.0.0.1:${await freePort()}`);
    expect(err).toContain('it does not say that it did');
    expect(err).not.toContain('reloaded the server');
  });

  test('when the certificate is on another machine: a message says how to go on', async () => {
    const tls = ['--cert', '/nowhere/server.pem', '--key', '/nowhere/key.pem'];
    expect(await region('init', '--listen', listen, ...tls)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no such file.*SVC_NATS_SERVER=none leaves the check out/),
    });
    const args = ['region', 'init', '--listen', listen, ...tls, '--nats-dir', folder];
    expect(await svc(args, { SVC_NATS_SERVER: 'none' })).toMatchObject({ code: 0 });
  });

  test('when the server would refuse the configuration', async () => {
    await region('init', '--listen', listen);
    await writeFile(file('nats.conf'), `${await readFile(file('nats.conf'), 'utf8')}\nno_such_option: 1\n`);
    const before = await readFile(file('accounts.conf'), 'utf8');
    const { code, err } = await region('add', 'hosta-ams');
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/nats-server refuses .*no_such_option/),
    });
    expect(await readFile(file('accounts.conf'), 'utf8')).toBe(before);
  });
});

test('a cluster has a configuration for each server, and one file of accounts', async () => {
  const routes = '127.0.0.1:6221,127.0.0.1:6222';
  for (const [name, port] of [
    ['a', 6221],
    ['b', 6222],
  ] as const) {
    const options = ['--cluster', 'svc', '--server-name', name, '--cluster-listen', `127.0.0.1:${port}`];
    expect(await region('init', '--listen', listen, ...options, '--cluster-routes', routes)).toMatchObject({
      code: 0,
    });
  }
  expect((await readdir(folder)).filter((name) => name.endsWith('.conf')).sort()).toEqual([
    'accounts.conf',
    'nats-a.conf',
    'nats-b.conf',
  ]);
  expect((await region('add', 'hosta-ams')).err.match(/no server with nats-[ab]\.conf runs/g)).toHaveLength(
    2,
  );
});

test('the server of one machine is reloaded once while it becomes a cluster, and its accounts are to be copied', async () => {
  const init = ['init', '--listen', listen, '--pid-file', file('nats.pid')];
  await region(...init);
  const pid = await serverIn();
  for (const name of ['a', 'b']) {
    const port = await freePort();
    const cluster = ['--cluster', 'svc', '--server-name', name, '--cluster-listen', `127.0.0.1:${port}`];
    await region(...init, ...cluster, '--cluster-routes', '127.0.0.1:1');
  }
  const { code, err } = await region('add', 'hosta-ams');
  expect({ code, reloads: err.split('\n').filter((line) => line.includes('reload')) }).toEqual({
    code: 0,
    reloads: [
      `svc: reloaded the server ${pid} with one of nats-a.conf, nats-b.conf`,
      `svc: copy accounts.conf to the machines of the other servers, and reload each twice with "nats-server --signal reload=${file('nats.pid')}"`,
    ],
  });
});

test.each([
  [['init', '--listen', '0.0.0.0:4222'], '--cert and --key are required to listen on 0.0.0.0:4222'],
  [['init', '--listen', '0.0.0.0:4222', '--cert', 'a', '--key', 'b'], '--url is required'],
  [['init', '--cert', 'a'], '--cert and --key belong together'],
  [['init', '--listen', '4222'], '--listen must be host:port'],
  [['init', '--cluster-listen', '127.0.0.1:1'], '--cluster is missing'],
  [['add'], 'the region is missing'],
  [['add', 'hosta-amd'], 'hosta-amd is not a region: did you mean hosta-ams?'],
  [['add', 'hosta-ams', 'hosta-fra', '--env-file', 'a'], 'the settings of one region'],
  [['rotate', 'hosta-ams'], 'call "region init"'],
  [['remove', 'hosta-ams'], 'call "region init"'],
  [['rotate'], 'the region, coordinator or system is missing: one of coordinator, system, hosta-ams'],
  [['rotate', 'coordinatr'], 'coordinatr is not a region, coordinator or system: did you mean coordinator?'],
  [['frobnicate'], 'there is no action frobnicate'],
])('%j is refused', async (args, message) => {
  expect(await region(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
});

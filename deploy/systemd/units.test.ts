/** The units, as systemd's own tools judge them, and beside the code whose processes they start. */
import { execFile } from 'node:child_process';
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { directivesOf } from '../../test/support/deployed/unit.ts';
import { findProgram } from '../../test/support/real-dns-server.ts';
import {
  AGENT_ENVIRONMENT,
  AGENT_FLAGS,
  COORDINATOR_ENVIRONMENT,
  COORDINATOR_FLAGS,
} from '../local/node-flags.ts';

const run = promisify(execFile);
const UNITS = ['svc-coordinator.service', 'svc-agent@.service', 'svc-nats.service'];

const analyze = findProgram('systemd-analyze');
const sysusers = findProgram('systemd-sysusers');
const isSkipped = (analyze === null || sysusers === null) && process.env.CI !== 'true';
if (isSkipped)
  process.stdout.write('skipped: units by systemd-analyze and systemd-sysusers, which are not installed\n');

const text = (name: string): Promise<string> => readFile(join(import.meta.dirname, name), 'utf8');

/** A root folder in which everything is installed. Empty scripts replace the executables of the build. */
let root: string;
let dist: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-units-'));
  [root, dist] = [join(folder, 'root'), join(folder, 'dist')];
  await mkdir(dist);
  for (const name of ['coordinator.mjs', 'agent.mjs', 'svc.mjs', 'svc-agent'])
    await writeFile(join(dist, name), '#!/bin/sh\n', { mode: 0o755 });
  for (const part of ['coordinator', 'agent', 'nats']) await install(part);
  // The targets that the units name.
  if (!isSkipped)
    await cp('/lib/systemd/system', join(root, 'usr/lib/systemd/system'), {
      recursive: true,
      verbatimSymlinks: true,
    });
  for (const path of ['usr/bin/node', 'usr/sbin/nats-server', 'bin/kill', 'bin/sleep']) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await copyFile(join(dist, 'svc-agent'), join(root, path));
    await chmod(join(root, path), 0o755);
  }
  return () => rm(folder, { recursive: true });
});

async function install(part: string, environment: NodeJS.ProcessEnv = {}): Promise<void> {
  await run('sh', [join(import.meta.dirname, 'install.sh'), part], {
    env: { PATH: process.env.PATH, DESTDIR: root, SVC_DIST: dist, ...environment },
  });
}

describe('systemd', () => {
  test.skipIf(isSkipped).each(['svc-coordinator.service', 'svc-agent@hosta-fra.service', 'svc-nats.service'])(
    'finds nothing wrong with %s',
    async (unit) => {
      // Other lines are about faults of the machine itself.
      const { stderr } = await run(analyze ?? '', ['verify', '--man=no', `--root=${root}`, unit], {
        env: process.env,
      });
      expect(stderr.split('\n').filter((line) => line.includes('svc-'))).toEqual([]);
    },
  );

  /** The overall exposure that the tool computes, from 0 to 10. A smaller one is better. */
  test.skipIf(isSkipped).each([
    ['svc-coordinator.service', 1.5],
    ['svc-agent@.service', 1.5],
    ['svc-nats.service', 1.3],
  ])('gives %s an exposure of %d at most', async (unit, most) => {
    const { stdout } = await run(analyze ?? '', [
      'security',
      '--offline=true',
      '--no-pager',
      `--threshold=${most * 10}`,
      join(root, 'etc/systemd/system', unit),
    ]);
    expect(stdout).toMatch(/Overall exposure level for \S+ (\d\.\d)/);
  });

  test.skipIf(isSkipped)('makes the accounts that the units name', async () => {
    await run(sysusers ?? '', [`--root=${root}`]);
    const accounts = (await readFile(join(root, 'etc/passwd'), 'utf8'))
      .split('\n')
      .map((line) => line.split(':')[0]);
    for (const unit of UNITS) {
      const [user] = directivesOf('Service', await text(unit)).get('User') ?? [];
      if (user !== undefined) expect(accounts).toContain(user);
    }
  });
});

describe('units', () => {
  const commandIn = async (name: string): Promise<string | undefined> =>
    directivesOf('Service', await text(name))
      .get('ExecStart')
      ?.at(-1);

  test('start the processes with the measured flags and variables', async () => {
    expect(await commandIn('svc-coordinator.service')).toBe(
      `/usr/bin/node ${COORDINATOR_FLAGS.join(' ')} /usr/lib/svc/coordinator.mjs`,
    );
    expect(await commandIn('svc-agent@.service.d/node.conf')).toBe(
      `/usr/bin/node ${AGENT_FLAGS.join(' ')} /usr/lib/svc/agent.mjs`,
    );
    for (const [unit, environment] of [
      ['svc-coordinator.service', COORDINATOR_ENVIRONMENT],
      ['svc-agent@.service', AGENT_ENVIRONMENT],
    ] as const) {
      const variables = directivesOf('Service', await text(unit)).get('Environment');
      for (const [name, value] of Object.entries(environment))
        expect(variables).toContain(`${name}=${value}`);
    }
  });

  test('reload the NATS server twice, so that a new region works after one "systemctl reload"', async () => {
    expect(directivesOf('Service', await text('svc-nats.service')).get('ExecReload')).toEqual([
      '/bin/kill -HUP $MAINPID',
      '/bin/sleep 2',
      '/bin/kill -HUP $MAINPID',
    ]);
  });

  test.each(UNITS)('%s is started again, however often it fails', async (name) => {
    const unit = await text(name);
    expect(directivesOf('Service', unit).get('Restart')).toEqual(['always']);
    expect(directivesOf('Unit', unit).get('StartLimitIntervalSec')).toEqual(['0']);
  });

  test.each(['svc-coordinator.service', 'svc-agent@.service', 'coordinator.env.example'])(
    '%s names settings that there are',
    async (name) => {
      const named = [...(await text(name)).matchAll(/\b(?:SVC|OTEL)_[A-Z_]+\b/g)].map(
        ([variable]) => variable,
      );
      expect(named.length).toBeGreaterThan(0);
      for (const variable of named) expect(KNOWN_VARIABLES).toContain(variable);
    },
  );
});

describe('install.sh', () => {
  test('gives settings to their owner only, and programs to everybody', async () => {
    const modeOf = async (path: string) => ((await stat(join(root, path))).mode & 0o777).toString(8);
    expect(await modeOf('etc/svc/coordinator.env')).toBe('600');
    expect(await modeOf('usr/lib/svc/coordinator.mjs')).toBe('755');
    expect(await modeOf('etc/systemd/system/svc-agent@.service')).toBe('644');
  });

  test('keeps settings that are there', async () => {
    const file = join(root, 'etc/svc/coordinator.env');
    await writeFile(file, 'SVC_LISTEN=127.0.0.1:9090\n');
    await install('coordinator');
    expect(await readFile(file, 'utf8')).toBe('SVC_LISTEN=127.0.0.1:9090\n');
  });

  test('installs the bundle if there is no single executable, and the executable again once there is one', async () => {
    const units = join(root, 'etc/systemd/system');
    await rm(join(dist, 'svc-agent'));
    await install('agent');
    expect(await readdir(join(units, 'svc-agent@.service.d'))).toEqual(['node.conf']);
    await writeFile(join(dist, 'svc-agent'), '#!/bin/sh\n', { mode: 0o755 });
    await install('agent');
    const isX64 = process.platform === 'linux' && process.arch === 'x64';
    expect(await readdir(join(units, 'svc-agent@.service.d'))).toEqual(isX64 ? [] : ['node.conf']);
  });

  test.each([
    [[], 'name one of coordinator, agent, nats'],
    [['everything'], 'name one of coordinator, agent, nats'],
  ])('says which names are valid, for %j', async (args, expected) => {
    await expect(run('sh', [join(import.meta.dirname, 'install.sh'), ...args])).rejects.toThrow(expected);
  });

  test('says what is missing if nothing was built yet', async () => {
    await expect(install('coordinator', { SVC_DIST: '/nowhere' })).rejects.toThrow(
      'run "npm run build" first',
    );
  });
});

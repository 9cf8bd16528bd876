import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launcher } from './provider.ts';

const NODE_FOLDER = dirname(process.execPath);
const NAME = 'terraform-provider-svc_v0.1.0';

/** A stand-in for the provider, which prints how it was started. */
const SCRIPT = `const { NODE_OPTIONS, NODE_USE_ENV_PROXY, NODE_USE_SYSTEM_CA } = process.env;
console.log(JSON.stringify({ pid: process.pid, args: process.argv.slice(2), NODE_OPTIONS, NODE_USE_ENV_PROXY, NODE_USE_SYSTEM_CA }));`;

const PREFIX = join(tmpdir(), 'svc launcher ');

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(PREFIX);
  await copyFile(join(import.meta.dirname, 'launcher.sh'), join(folder, NAME));
  await chmod(join(folder, NAME), 0o755);
  await writeFile(join(folder, 'provider.cjs'), SCRIPT);
  return () => rm(folder, { recursive: true });
});

/** A temporary folder, which is removed after the test. */
async function temporaryFolder(): Promise<string> {
  const made = await mkdtemp(PREFIX);
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

async function launch(environment: NodeJS.ProcessEnv, executable = join(folder, NAME), cwd = tmpdir()) {
  const child = spawn(executable, ['--debug', 'two words'], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { pid: child.pid, stdout, stderr, code };
}

const started = (stdout: string): Record<string, unknown> => JSON.parse(stdout);

const PATH = [NODE_FOLDER, '/usr/bin', '/bin'].join(delimiter);

describe('with a Node', () => {
  test('runs the bundle beside it, in the process that Terraform started', async () => {
    const { pid, stdout, stderr, code } = await launch({ PATH });
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(started(stdout)).toMatchObject({ pid, args: ['--debug', 'two words'] });
  });

  test('proxies and the certificates of the system are used', async () => {
    const { stdout } = await launch({ PATH });
    expect(started(stdout)).toMatchObject({ NODE_USE_ENV_PROXY: '1', NODE_USE_SYSTEM_CA: '1' });
  });

  test('unless the user says otherwise', async () => {
    const { stdout } = await launch({ PATH, NODE_USE_ENV_PROXY: '0', NODE_USE_SYSTEM_CA: '0' });
    expect(started(stdout)).toMatchObject({ NODE_USE_ENV_PROXY: '0', NODE_USE_SYSTEM_CA: '0' });
  });

  test('NODE_OPTIONS that would end it do not reach it', async () => {
    const { stdout, code } = await launch({ PATH, NODE_OPTIONS: '--no-such-flag' });
    expect(code).toBe(0);
    expect(started(stdout).NODE_OPTIONS).toBeUndefined();
  });

  test('is found when it stands elsewhere, also in a folder with spaces', async () => {
    const place = await temporaryFolder();
    const node = join(place, 'my node');
    await symlink(process.execPath, node);
    const { code } = await launch({ PATH: '/usr/bin:/bin', SVC_TERRAFORM_NODE: node });
    expect(code).toBe(0);
  });

  test.each([
    ['the folder', folderLink],
    ['the file', fileLink],
  ])('works through a symbolic link to %s', async (_, link) => {
    const place = await temporaryFolder();
    expect(await launch({ PATH }, await link(place))).toMatchObject({ stderr: '', code: 0 });
  });

  test('works from a path relative to the working directory', async () => {
    expect(await launch({ PATH }, `./${NAME}`, folder)).toMatchObject({ stderr: '', code: 0 });
  });

  test('works inside a project whose package.json makes every file an ES module', async () => {
    const project = await temporaryFolder();
    await writeFile(join(project, 'package.json'), '{"type":"module"}');
    const inside = join(project, '.terraform');
    await mkdir(inside);
    for (const name of [NAME, 'provider.cjs']) await copyFile(join(folder, name), join(inside, name));
    expect(await launch({ PATH }, join(inside, NAME))).toMatchObject({ stderr: '', code: 0 });
  });
});

async function folderLink(place: string): Promise<string> {
  await symlink(folder, join(place, 'linux_amd64'));
  return join(place, 'linux_amd64', NAME);
}

async function fileLink(place: string): Promise<string> {
  await symlink(join(folder, NAME), join(place, NAME));
  return join(place, NAME);
}

describe('a copy that names the Node that built it', () => {
  async function built(node: string): Promise<string> {
    const place = await temporaryFolder();
    await writeFile(join(place, NAME), await launcher(node), { mode: 0o755 });
    await copyFile(join(folder, 'provider.cjs'), join(place, 'provider.cjs'));
    return join(place, NAME);
  }

  test('runs with it, whatever PATH has', async () => {
    const place = await temporaryFolder();
    const node = join(place, "it's node");
    await symlink(process.execPath, node);
    expect(await launch({ PATH: '/usr/bin:/bin' }, await built(node))).toMatchObject({ stderr: '', code: 0 });
  });

  test('runs with the one on PATH where that one is gone', async () => {
    expect(await launch({ PATH }, await built('/nowhere/node'))).toMatchObject({ stderr: '', code: 0 });
  });

  test('runs with the one that the user names', async () => {
    const environment = { PATH, SVC_TERRAFORM_NODE: '/nowhere/node' };
    expect((await launch(environment, await built(process.execPath))).stdout).toContain('/nowhere/node');
  });
});

describe('without a Node, one line on stdout, which Terraform shows, says what to do', () => {
  const complaint = /^The svc provider needs Node\.js 24 or newer, .* SVC_TERRAFORM_NODE.*\n$/;

  test('when there is none', async () => {
    const { stdout, stderr, code } = await launch({ PATH: folder });
    expect(stdout).toMatch(complaint);
    expect(stderr).toBe(stdout);
    expect(code).toBe(1);
  });

  test('when the named one does not exist', async () => {
    const { stdout, code } = await launch({ PATH, SVC_TERRAFORM_NODE: '/nowhere/node' });
    expect(stdout).toMatch(complaint);
    expect(stdout).toContain('/nowhere/node');
    expect(code).toBe(1);
  });
});

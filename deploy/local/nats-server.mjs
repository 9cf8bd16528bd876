// Finds or downloads a nats-server binary. It is plain JavaScript with Node's own modules only, because it
// runs on Node 20 before anything is installed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isProgram, ProgramMissing, reasonOf } from './programs.mjs';

const run = promisify(execFile);

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(PROJECT, '.cache', 'nats-server');

/** Oldest server whose JetStream supports all that svc needs (Debian 12 has it). */
const MINIMUM = [2, 9, 10];

/**
 * The official release, downloaded on machines without a Debian archive. The checksums are those of the
 * project's own container images (nats-io/nats-docker, 2.10.x).
 */
const RELEASE = {
  version: '2.10.29',
  sha256: {
    'linux-amd64': 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
    'linux-arm64': 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
  },
};

/** Folders of Debian's package and of others, often missing from a user's PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];

/** @typedef {{ path: string, version: string, source: string }} NatsServerBinary */

const missing = (/** @type {string} */ message) => new ProgramMissing('no-nats-server', message);

/**
 * Finds a usable binary on this machine: `SVC_NATS_SERVER`, or else `PATH`, the system's folders and the
 * project's cache.
 *
 * @returns {Promise<NatsServerBinary>}
 * @throws {ProgramMissing} naming the places that were searched
 */
export async function findNatsServer(environment = process.env) {
  const given = environment.SVC_NATS_SERVER;
  if (given !== undefined && given !== '') {
    const version = await versionOf(given);
    if (version === null)
      throw missing(`SVC_NATS_SERVER=${given} is not a nats-server that runs on this machine`);
    if (!isNewEnough(version)) {
      throw missing(
        `SVC_NATS_SERVER=${given} is version ${version}; svc needs ${MINIMUM.join('.')} or newer`,
      );
    }
    return { path: given, version, source: 'SVC_NATS_SERVER' };
  }
  const folders = [...(environment.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  for (const folder of new Set(folders)) {
    const found = await usable(join(folder, 'nats-server'), 'PATH');
    if (found !== null) return found;
  }
  const cached = await usable(join(CACHE, 'nats-server'), 'cache');
  if (cached !== null) return cached;
  throw missing('there is no nats-server on this machine yet');
}

/**
 * Finds a binary or gets one: Debian's package unpacked into the project's cache (no root needed), Debian's
 * package installed (root), or the official release archive.
 *
 * @param {(line: string) => void} say writes progress for the waiting person
 * @returns {Promise<NatsServerBinary>}
 * @throws {ProgramMissing} naming every way and the reason for its failure; if `SVC_NATS_SERVER` is set, the
 *   fault of that one
 */
export async function obtainNatsServer(say, environment = process.env) {
  /** @type {string[]} */
  const failures = [];
  try {
    return await findNatsServer(environment);
  } catch (error) {
    if (environment.SVC_NATS_SERVER) throw error;
    failures.push('PATH and the project cache: missing, or older than 2.9.10');
  }
  const ways = [
    { name: "Debian's package, unpacked into .cache", get: unpackDebianPackage },
    { name: "Debian's package, installed by apt-get", get: installDebianPackage },
    { name: `the official release ${RELEASE.version}`, get: downloadRelease },
  ];
  for (const way of ways) {
    say(`getting nats-server: ${way.name}`);
    try {
      await way.get();
      return await findNatsServer(environment);
    } catch (error) {
      failures.push(`${way.name}: ${reasonOf(error)}`);
    }
  }
  throw missing(
    [
      'svc cannot find or get a nats-server. It tried these ways:',
      '  - SVC_NATS_SERVER: not set',
      ...failures.map((failure) => `  - ${failure}`),
      'Install nats-server 2.9.10 or newer (https://nats.io/download), or set SVC_NATS_SERVER to its path,',
      'or set SVC_NATS_URL to a running server.',
    ].join('\n'),
  );
}

/**
 * Unpacks Debian's package into the project's cache. apt verifies the archive's signature, so no checksum of
 * our own is needed. It uses private folders: no root, no change of the system's state.
 */
async function unpackDebianPackage() {
  const work = await mkdtemp(join(tmpdir(), 'svc-apt-'));
  try {
    await mkdir(join(work, 'lists', 'partial'), { recursive: true });
    await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
    const options = [
      ...['-o', `Dir::State::Lists=${join(work, 'lists')}`],
      ...['-o', `Dir::Cache=${join(work, 'cache')}`],
      ...['-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User=root', '-qq'],
    ];
    const where = { cwd: work, timeout: 120_000 };
    await run('apt-get', [...options, 'update'], where);
    await run('apt-get', [...options, 'download', 'nats-server'], where);
    const file = (await readdir(work)).find((name) => name.endsWith('.deb'));
    if (file === undefined) throw missing('apt-get downloaded nothing');
    await run('dpkg', ['-x', file, 'unpacked'], where);
    await keep(join(work, 'unpacked', 'usr', 'sbin', 'nats-server'));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function installDebianPackage() {
  if (process.getuid?.() !== 0) throw missing('not root');
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-qq', 'update'], { timeout: 120_000 });
  await run('apt-get', ['-qq', '-y', 'install', 'nats-server'], { timeout: 300_000, env: environment });
}

async function downloadRelease() {
  const architecture = { x64: 'amd64', arm64: 'arm64' }[/** @type {'x64'} */ (process.arch)] ?? process.arch;
  const platform = `${process.platform}-${architecture}`;
  const expected = RELEASE.sha256[/** @type {'linux-amd64'} */ (platform)];
  if (expected === undefined) throw missing(`there is no pinned archive for ${platform}`);
  const folder = `nats-server-v${RELEASE.version}-${platform}`;
  const url = `https://github.com/nats-io/nats-server/releases/download/v${RELEASE.version}/${folder}.tar.gz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  if (!response.ok) throw missing(`${url} answered ${response.status}`);
  const archive = Buffer.from(await response.arrayBuffer());
  const sha256 = createHash('sha256').update(archive).digest('hex');
  if (sha256 !== expected) throw missing(`${url} has checksum ${sha256}, expected ${expected}`);
  const work = await mkdtemp(join(tmpdir(), 'svc-nats-'));
  try {
    await writeFile(join(work, 'archive.tar.gz'), archive);
    await run('tar', ['-xzf', 'archive.tar.gz'], { cwd: work });
    await keep(join(work, folder, 'nats-server'));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Puts a binary into the cache by rename, so that a second start never finds half of it. */
async function keep(/** @type {string} */ binary) {
  const target = join(CACHE, 'nats-server');
  await mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.${process.pid}`;
  await copyFile(binary, temporary);
  await chmod(temporary, 0o755);
  await rename(temporary, target);
}

/** @returns {Promise<NatsServerBinary | null>} */
async function usable(/** @type {string} */ path, /** @type {string} */ source) {
  // The search tries each folder of `PATH`, so it starts a process only for a program that exists.
  if (!(await isProgram(path))) return null;
  const version = await versionOf(path);
  return version !== null && isNewEnough(version) ? { path, version, source } : null;
}

/**
 * @returns {Promise<string | null>} the version, such as `2.9.10`; null: the program cannot be run, or names
 *   no version
 */
async function versionOf(/** @type {string} */ path) {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 5_000 });
    return /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? null;
  } catch {
    return null; // Not there, or not for this machine: both mean "look further".
  }
}

export function isNewEnough(/** @type {string} */ version) {
  const parts = version.split('.').map(Number);
  for (const [index, least] of MINIMUM.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

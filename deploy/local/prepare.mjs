// Runs before `npm start`, `npm run start:cluster` and `npm test`: installs missing packages and reports it.
// Before other scripts (`packages`), it only installs what a fresh clone lacks. It is plain JavaScript with
// Node's own modules only, because it runs on Node 20 in a fresh clone.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { obtainNatsServer } from './nats-server.mjs';
import { obtainPostgres } from './postgres-server.mjs';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const OLDEST_NODE = 20;

const isForPackages = process.argv[2] === 'packages';
// A program may read the output of the other script, so this line goes to standard error.
const say = (/** @type {string} */ line) => (isForPackages ? console.error : console.log)(`svc: ${line}`);

function checkNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= OLDEST_NODE) return;
  fail(
    `this is Node ${process.versions.node}; Node ${OLDEST_NODE} or newer is needed to install svc (https://nodejs.org)`,
  );
}

/** Whether packages were installed at any time: Node 24 is one of them. */
const hasNode = () => existsSync(join(PROJECT, 'node_modules', 'node', 'bin', 'node'));

/**
 * npm rewrites its hidden lock file at the end of every install. So packages may be missing when that file is
 * older than `package-lock.json`.
 */
function isInstalled() {
  const installed = join(PROJECT, 'node_modules', '.package-lock.json');
  if (!existsSync(installed) || !hasNode()) return false;
  return statSync(installed).mtimeMs >= statSync(join(PROJECT, 'package-lock.json')).mtimeMs;
}

function installPackages() {
  // With `packages`, installed packages are left as they are, because a running service may use them.
  if (isForPackages ? hasNode() : isInstalled()) return;
  say('installing packages (npm ci), a minute or less …');
  // Engine warnings are expected: the packages want Node 24, which is itself one of the packages.
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: PROJECT,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (npm.status !== 0)
    fail('npm ci failed (above); check the network or the npm registry setting and try again');
  if (!isInstalled()) {
    fail(
      'npm ci ran, but Node 24 is not in node_modules/node/bin: install scripts may be disabled (npm config get ignore-scripts)',
    );
  }
}

async function prepare() {
  checkNode();
  installPackages();
  if (isForPackages) return;
  if (process.argv[2] === 'start:cluster') {
    await obtainNatsServer(say);
    await obtainPostgres(say);
    return;
  }
  if ((process.env.SVC_NATS_URL || process.env.SVC_NATS_URL_FILE) && process.argv[2] === 'start') return;
  const server = await obtainNatsServer(say);
  if (process.argv[2] !== 'start') say(`nats-server ${server.version} (${server.path})`);
}

/** @returns {never} */
function fail(/** @type {string} */ why) {
  console.error(`svc: ${why}`);
  process.exit(1);
}

try {
  await prepare();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}

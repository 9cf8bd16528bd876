import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { guardProcess } from '../../../deploy/local/guard.ts';

/** A process, as a file for a service manager or a container engine describes it. */
export type Confinement = {
  readonly command: readonly string[];
  /** The whole environment of the process except `PATH`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly gid: number;
  /** File mode creation mask, octal; default: 022. */
  readonly umask?: string;
  /** Folder that becomes `/`, read-only. */
  readonly root: string;
  /** Top-level folders of this machine that appear below those of the root: `usr`, `etc`. */
  readonly overMachine?: readonly string[];
  /** Folders and files of this machine that appear in the root. */
  readonly mounts?: readonly Mount[];
  /** Empty writable folders. */
  readonly temporary?: readonly string[];
  /** Id of the process whose network is used; left out: the network of this machine. */
  readonly networkOf?: number;
};

export type Mount = {
  readonly from: string;
  readonly to: string;
  readonly isWritable?: boolean;
  readonly isFile?: boolean;
};

/** The `PATH` that service managers and container engines set. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Why a process cannot be confined here; null: it can. */
export function whyNotConfined(): string | null {
  if (process.platform !== 'linux') return 'mount namespaces are Linux only';
  if (process.getuid?.() !== 0) return 'it takes root to change the root folder and the user';
  for (const [command, ...args] of [
    ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'],
    ['setpriv', '--no-new-privs', 'chroot', '--userspec=1:1', '/', 'true'],
  ] as const) {
    const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) return `${command} failed: ${error?.message ?? stderr.trim()}`;
  }
  return null;
}

/**
 * Starts the process in a mount namespace of its own, as the user, with a
 * read-only root folder. The process has no capability and cannot get one.
 * It ends with the process that started it. Its id is that of the program.
 */
export function startConfined(confinement: Confinement): ChildProcess {
  const { environment, networkOf } = confinement;
  makeMountPoints(confinement);
  const joined = networkOf === undefined ? [] : ['nsenter', `--net=/proc/${networkOf}/ns/net`, '--'];
  const [command = '', ...args] = [...joined, 'unshare', '--mount', 'sh', '-c', scriptFor(confinement)];
  const child = spawn(command, args, {
    cwd: '/',
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  return child;
}

const OF_KERNEL = ['proc', 'dev', 'sys'];

/** Makes the targets of mounts. They must exist before the root becomes read-only. */
function makeMountPoints({ root, mounts = [], temporary = [], overMachine = [] }: Confinement): void {
  for (const folder of [...OF_KERNEL, ...temporary, ...overMachine])
    mkdirSync(join(root, folder), { recursive: true });
  for (const { to, isFile = false } of mounts) {
    mkdirSync(join(root, isFile ? dirname(to) : to), { recursive: true });
    if (isFile) writeFileSync(join(root, to), '', { flag: 'a' });
  }
}

function scriptFor(confinement: Confinement): string {
  const {
    root,
    overMachine = [],
    mounts = [],
    temporary = [],
    uid,
    gid,
    umask = '022',
    command,
  } = confinement;
  const at = (path: string): string => quoted(join(root, path));
  return [
    'set -e',
    // The sub-mounts of the root need a mount of their own to be read-only.
    `mount --bind ${at('/')} ${at('/')}`,
    ...overMachine.map(
      (name) => `mount -t overlay overlay -o lowerdir=${join(root, name)}:/${name} ${at(name)}`,
    ),
    ...OF_KERNEL.map((name) => `mount --rbind /${name} ${at(name)}`),
    ...mounts.flatMap(({ from, to, isWritable = false }) => [
      `mount --bind ${quoted(from)} ${at(to)}`,
      ...(isWritable ? [] : [`mount -o remount,ro,bind ${at(to)}`]),
    ]),
    ...temporary.map((path) => `mount -t tmpfs -o mode=1777 tmpfs ${at(path)}`),
    `mount -o remount,ro,bind ${at('/')}`,
    `umask ${umask}`,
    `exec setpriv --no-new-privs chroot --userspec=${uid}:${gid} --groups=${gid} ${at('/')} ${command.map(quoted).join(' ')}`,
  ].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

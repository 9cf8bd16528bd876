import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../process.ts';
import type { Confinement, Mount } from './confined.ts';

const run = promisify(execFile);

type Directives = ReadonlyMap<string, readonly string[]>;

/** Directives of `[Service]` that say how the process is started; `confinementOf` obeys each of them. */
const OBEYED: ReadonlySet<string> = new Set([
  'User',
  'Group',
  'DynamicUser',
  'Environment',
  'EnvironmentFile',
  'ExecStart',
  'StateDirectory',
  'StateDirectoryMode',
  'RuntimeDirectory',
  'UMask',
  // The whole root is read-only, except for the folders of the unit and /tmp.
  'ProtectSystem',
  'PrivateTmp',
  'NoNewPrivileges',
  'CapabilityBoundingSet',
  'AmbientCapabilities',
]);

/**
 * Directives that change nothing in how these programs
 * are started, or that only the manager itself can apply.
 */
const OF_MANAGER =
  /^(?:Type|Exec(?:Reload)|WorkingDirectory|Restart(?:Sec)?|TimeoutStopSec|KillSignal|LimitNOFILE|(?:Protect|Private|Restrict)\w+|ProcSubset|RemoveIPC|LockPersonality|MemoryDenyWriteExecute|SystemCall\w+)$/;

/** The first account number that systemd gives to dynamic users. */
const DYNAMIC_USER = 61_184;

/** The directives of a section, in the order of the texts: a unit and its drop-ins. */
export function directivesOf(section: string, ...texts: readonly string[]): Directives {
  const found = new Map<string, string[]>();
  for (const text of texts) {
    let current = '';
    for (const line of text.split('\n')) {
      current = /^\[(\w+)\]$/.exec(line)?.[1] ?? current;
      const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
      if (current !== section || key === undefined || value === undefined) continue;
      // An empty value removes the earlier values.
      found.set(key, value === '' ? [] : [...(found.get(key) ?? []), value]);
    }
  }
  return found;
}

/** Runs the commands of `systemctl reload svc-nats` for the server with this process id. */
export async function reloadNatsAsUnit(pid: number): Promise<void> {
  const unit = readFileSync(join(ROOT, 'deploy/systemd/svc-nats.service'), 'utf8');
  for (const command of directivesOf('Service', unit).get('ExecReload') ?? [])
    await run('sh', ['-c', command], { env: { ...process.env, MAINPID: String(pid) } });
}

/**
 * The way in which systemd starts the service of a unit, as far as this is possible without systemd.
 *
 * @param root folder with the installed files, accounts (`etc/passwd`) and settings
 * @param name `svc-agent@hosta-fra.service`
 * @throws Error for a directive that this function does not know
 */
export function confinementOf(root: string, name: string): Confinement {
  const [, template = name, instance = ''] = /^(.*@)(.*)\.service$/.exec(name) ?? [];
  const file = instance === '' ? name : `${template}.service`;
  const directives = directivesOf('Service', ...unitTexts(root, file));
  for (const key of directives.keys()) {
    if (!OBEYED.has(key) && !OF_MANAGER.test(key)) throw new Error(`${name}: nothing is known of ${key}=`);
  }
  const values = (key: string): string[] =>
    (directives.get(key) ?? []).map((value) => value.replaceAll('%i', instance));
  const value = (key: string): string | undefined => values(key).at(-1);
  const account =
    value('DynamicUser') === 'yes'
      ? { uid: DYNAMIC_USER, gid: DYNAMIC_USER }
      : accountOf(root, value('User') ?? '');

  const folders: Mount[] = [
    ...values('StateDirectory').map((path) => owned(root, `/var/lib/${path}`, account)),
    ...values('RuntimeDirectory').map((path) => owned(root, `/run/${path}`, account)),
  ];
  return {
    command: (value('ExecStart') ?? '').split(' '),
    environment: {
      ...Object.fromEntries(values('Environment').map(assignment)),
      ...Object.assign({}, ...values('EnvironmentFile').map((path) => environmentIn(join(root, path)))),
    },
    ...account,
    umask: value('UMask') ?? '0022',
    root,
    overMachine: ['usr'],
    mounts: [
      ...folders,
      ...['bin', 'sbin', 'lib', 'lib64'].map((path) => ({ from: `/${path}`, to: `/${path}` })),
    ],
    temporary: ['/tmp'],
  };
}

function unitTexts(root: string, file: string): string[] {
  const unit = join(root, 'etc/systemd/system', file);
  const dropIns = spawnSync('sh', ['-c', 'ls "$0".d/*.conf 2>/dev/null', unit], { encoding: 'utf8' }).stdout;
  return [unit, ...dropIns.split('\n').filter((path) => path !== '')].map((path) =>
    readFileSync(path, 'utf8'),
  );
}

/** The assignments of a file for `EnvironmentFile=`. */
function environmentIn(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').split('\n');
  return Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map(assignment));
}

function assignment(text: string): [string, string] {
  const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(text) ?? [];
  return [name, value.replace(/^(["'])(.*)\1$/, '$2')];
}

type Account = { readonly uid: number; readonly gid: number };

function accountOf(root: string, user: string): Account {
  const accounts = readFileSync(join(root, 'etc/passwd'), 'utf8').split('\n');
  const found = accounts.map((line) => line.split(':')).find(([name]) => name === user);
  if (found === undefined) throw new Error(`there is no account ${user}`);
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** A folder of the root that the account may write to, though the root is read-only. */
function owned(root: string, path: string, { uid, gid }: Account): Mount {
  const from = join(root, path);
  mkdirSync(from, { recursive: true });
  chmodSync(from, 0o700);
  chownSync(from, uid, gid);
  return { from, to: path, isWritable: true };
}

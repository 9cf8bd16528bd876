import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SvcError } from '@svc/shared/errors.ts';
import { passwordIn, randomPassword, writePrivate } from './nats-access.ts';
import { choosePort } from './nats-port.ts';
import type { Server } from './parts.ts';

/** Name of the database and of its only role. */
const NAME = 'svc';
const STOP_MS = 1_500;
/** Time for the server of an earlier start to end, ms. A coordinator without its supervisor ends within 4.5 s. */
const FORMER_SERVER_MS = 8_000;

/** A user who may run PostgreSQL, which refuses to run as root. */
type PostgresUser = { readonly name: string; readonly uid: number; readonly gid: number };

type LocalPostgres = {
  /** `127.0.0.1:5432` */
  readonly address: string;
  /** Path of a file with its URL and password, for `SVC_DATABASE_URL_FILE`. */
  readonly urlFile: string;
  readonly server: Server;
};

/** The user for PostgreSQL; null: the present one, because it is not root. */
export function postgresUser(): PostgresUser | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new SvcError(
    'no-postgresql',
    'PostgreSQL does not run as root, and there is no user postgres or nobody',
  );
}

/**
 * Prepares a PostgreSQL server that has its data below `folder`, and makes the database at the first call.
 * Every user of the machine can reach loopback, so the server requires a password, which stays the same over
 * restarts.
 *
 * @throws SvcError `data-folder`, `no-postgresql`, `no-free-port`
 */
export async function preparePostgres(
  programs: { postgres: string; initdb: string },
  folder: string,
  user: PostgresUser | null,
): Promise<LocalPostgres> {
  if (user !== null) refuseUnreachable(folder, user);
  const home = join(folder, 'postgres');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (user !== null) chownSync(home, user.uid, user.gid);
  const urlFile = join(folder, 'postgres.url');
  const password = passwordIn(urlFile) ?? randomPassword();
  const port = await choosePort(join(folder, 'postgres.port'));
  const address = `127.0.0.1:${port}`;
  writePrivate(urlFile, `postgres://${NAME}:${password}@${address}/${NAME}\n`);
  const data = join(home, 'data');
  if (existsSync(data)) await untilServerEnded(data);
  else await initialise(programs, data, password, user);
  return {
    address,
    urlFile,
    server: {
      name: 'postgresql',
      command: programs.postgres,
      args: ['-D', data, ...settings({ listen_addresses: '127.0.0.1', port, unix_socket_directories: '' })],
      // The present folder may be closed to the user.
      cwd: '/',
      ...(user === null ? {} : { user: { uid: user.uid, gid: user.gid } }),
      isReadyLine: (line) => line.includes('ready to accept connections'),
      isError: (line) => / (?:FATAL|PANIC): /.test(line) && !isUsual(line),
      // A fast shutdown: it does not wait for clients.
      stopSignal: 'SIGINT',
      stopWithinMs: STOP_MS,
    },
  };
}

/**
 * Resolves when the server of an earlier start, which uses the data folder, has ended, after {@link FORMER_SERVER_MS} at
 * the latest. If the earlier start was killed, its server waits for the coordinators to end, and a second server would
 * refuse the folder.
 */
export async function untilServerEnded(data: string): Promise<void> {
  const latest = performance.now() + FORMER_SERVER_MS;
  while (isServerIn(data) && performance.now() < latest) await wait(100);
}

/** Whether the process runs that a server in this folder has named. Its id may belong to another process by now. */
function isServerIn(data: string): boolean {
  try {
    const pid = Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'), 10);
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false; // There is no such file or no such process, or the process belongs to another user.
  }
}

/** Whether a line reports that a client was turned away or cut off during a start or a stop. */
const isUsual = (line: string): boolean => /the database system is|terminating connection/.test(line);

const settings = (values: Readonly<Record<string, string | number>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);

/**
 * Makes the data folder, the role's password and the database.
 * A start that is interrupted leaves no data folder.
 */
async function initialise(
  { postgres, initdb }: { postgres: string; initdb: string },
  data: string,
  password: string,
  user: PostgresUser | null,
): Promise<void> {
  const draft = `${data}.new`;
  rmSync(draft, { recursive: true, force: true });
  await run(initdb, ['-D', draft, '-U', NAME, '-A', 'trust', '-E', 'UTF8', '--locale=C'], '', user);
  // In single-user mode PostgreSQL opens no port, so no other program can connect before the password is set.
  const statements = [`ALTER ROLE ${NAME} PASSWORD '${password}'`, `CREATE DATABASE ${NAME}`];
  await run(postgres, ['--single', '-D', draft, 'postgres'], `${statements.join('\n')}\n`, user);
  writeFileSync(join(draft, 'pg_hba.conf'), `host ${NAME} ${NAME} 127.0.0.1/32 scram-sha-256\n`);
  renameSync(draft, data);
}

async function run(
  command: string,
  args: readonly string[],
  input: string,
  user: PostgresUser | null,
): Promise<void> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'ignore', 'pipe'],
    // The present folder may be closed to the user.
    cwd: '/',
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  child.stdin.on('error', () => {}); // A program that ends early does not read its input.
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  // A statement that fails does not end a server in single-user mode with an error.
  if (code !== 0 || / (?:ERROR|FATAL): /.test(said))
    throw new SvcError('no-postgresql', `${command} failed (${code}):\n${said}`);
}

/** @throws SvcError when the user cannot enter the folder */
function refuseUnreachable(folder: string, { name, uid, gid }: PostgresUser): void {
  for (let each = folder; ; each = dirname(each)) {
    const { mode, uid: owner, gid: group } = statSync(each);
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) {
      throw new SvcError(
        'data-folder',
        `PostgreSQL does not run as root, and its user ${name} may not enter ${each}; ` +
          'set SVC_DATA_DIR to another folder (/var/lib/svc-cluster), or start svc as another user',
      );
    }
    if (each === dirname(each)) return;
  }
}

/** Lets the user for PostgreSQL enter the data folder. Each file in it has its own mode. */
export function openDataFolder(dataDir: string): void {
  chmodSync(dataDir, 0o711);
}

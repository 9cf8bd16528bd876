import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { guardProcess } from '../../deploy/local/guard.ts';
import { postgresUser } from '../../deploy/local/postgres.ts';
import { findPostgres } from '../../deploy/local/postgres-server.mjs';
import { freePort } from './free-port.ts';
import { dumpDatabase, execute, programOf, restoreDatabase } from './postgres-dump.ts';
import { runIn } from './postgres-store.ts';
import { endChild } from './process.ts';

const IN_MEMORY = '/dev/shm';

export type PostgresServer = {
  readonly port: number;
  readonly pid: number;
  /** The address of a database of this server; its user may do everything and needs no password. */
  url(database: string): Secret;
  /** Runs statements in the database `postgres`. */
  run(statement: string): Promise<void>;
  /** Dumps a database and restores it into a new one, with the programs of PostgreSQL. */
  copy(from: string, to: string): Promise<void>;
  /** Runs a statement in a transaction, which stays open until `released`. */
  hold(
    database: string,
    statement: string,
    released: Promise<void>,
  ): { readonly isHeld: Promise<void>; readonly done: Promise<void> };
  /** Ends all connections and stops the server. */
  stop(): Promise<void>;
  /** Kills the server's first process with SIGKILL. The other processes end with it. */
  kill(): Promise<void>;
  /** Starts the server again on the same port after `stop` or `kill`. */
  restart(): Promise<void>;
  /**
   * Stops the server, keeps a copy of its data, and starts
   * the server again. {@link goBack} brings these data back.
   */
  keepData(): Promise<void>;
  /** Kills the server, and starts it again with the data of {@link keepData}. Later commits are lost. */
  goBack(): Promise<void>;
  /**
   * Stops the server, undoes what the server on this port does not have
   * (pg_rewind), and starts it again as the standby of that server.
   */
  follow(port: number): Promise<void>;
  /** Stops the server and deletes its data. */
  dispose(): Promise<void>;
};

/**
 * Starts a real PostgreSQL server on a free loopback port. Its data is its own,
 * in memory if the machine has room there. The server ends with the process that
 * started it. Root may not run it, so root runs it as `postgres` or `nobody`.
 *
 * @param options.isDurable whether the server waits for the disk, for tests that kill it
 * @param options.standbyOf the port of the server whose asynchronous standby it is, which is durable too
 * @param options.kept a folder whose data is used and kept; left out: a new folder, which is deleted
 */
export async function startPostgres({
  isDurable = false,
  standbyOf,
  kept,
}: {
  isDurable?: boolean;
  standbyOf?: number;
  kept?: string;
} = {}): Promise<PostgresServer> {
  const programs = await findPostgres();
  const user = postgresUser();
  const folder = kept ?? mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'svc-postgres-'));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const port = await freePort();
  const asUser = { cwd: folder, ...idsOf(user) };
  if (standbyOf !== undefined) {
    const from = ['-h', '127.0.0.1', '-p', `${standbyOf}`, '-U', 'svc', '--checkpoint=fast'];
    await execute(await programOf('pg_basebackup'), ['-D', data, '-R', ...from], asUser);
  }
  if (!existsSync(data)) await initialise(programs.initdb, data, user);
  let child: ChildProcess;

  async function start(): Promise<void> {
    const settings = {
      listen_addresses: '127.0.0.1',
      port,
      unix_socket_directories: '',
      max_connections: 200,
      shared_buffers: '32MB',
      // pg_rewind needs hints about changed pages, and the log since the servers parted.
      ...(isDurable
        ? { wal_log_hints: 'on', wal_keep_size: '128MB' }
        : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    child = spawn(programs.postgres, ['-D', data, ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: dirname(data),
      ...idsOf(user),
    });
    if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
    await untilReady(child);
  }

  const end = async (signal: NodeJS.Signals) => void (await endChild(child, signal));

  async function restart(): Promise<void> {
    // The processes of a killed server end a moment later, and the server does not start before that.
    for (let tries = 0; ; tries += 1) {
      try {
        return await start();
      } catch (error) {
        if (tries === 100) throw error;
        await delay(50);
      }
    }
  }

  const url = (database: string) => new Secret(`postgres://svc@127.0.0.1:${port}/${database}`);
  await start();
  return {
    port,
    get pid() {
      return child.pid ?? -1;
    },
    url,
    run: (statement) => runIn(url('postgres'), statement),
    async copy(from, to) {
      const dump = join(folder, `${to}.dump`);
      await dumpDatabase(url(from), dump);
      await restoreDatabase(url(to), dump);
    },
    hold: (database, statement, released) => holdOpen(url(database), statement, released),
    // A fast shutdown: it does not wait for clients.
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    restart,
    async keepData() {
      await end('SIGINT');
      await execute('cp', ['-a', data, `${data}-kept`]);
      await restart();
    },
    async goBack() {
      await end('SIGQUIT');
      await execute('rm', ['-r', data]);
      await execute('mv', [`${data}-kept`, data]);
      await restart();
    },
    async follow(port) {
      const source = `host=127.0.0.1 port=${port} user=svc dbname=postgres`;
      await runIn(new Secret(`postgres://svc@127.0.0.1:${port}/postgres`), 'CHECKPOINT');
      await end('SIGINT');
      await execute(await programOf('pg_rewind'), ['-D', data, '-R', `--source-server=${source}`], asUser);
      await restart();
    },
    async dispose() {
      await end(kept === undefined ? 'SIGQUIT' : 'SIGINT');
      if (kept === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function holdOpen(url: Secret, statement: string, released: Promise<void>) {
  const held = Promise.withResolvers<void>();
  const done = (async () => {
    const client = new pg.Client({ connectionString: url.reveal() });
    await client.connect();
    await client.query(`BEGIN; ${statement}`);
    held.resolve();
    await released;
    await client.end();
  })();
  done.catch(held.reject);
  return { isHeld: held.promise, done };
}

const idsOf = (user: ReturnType<typeof postgresUser>) =>
  user === null ? {} : { uid: user.uid, gid: user.gid };

/**
 * Creates the data folder. Texts are ordered as in English,
 * so that queries which need another order must say so.
 */
async function initialise(
  initdb: string,
  data: string,
  user: ReturnType<typeof postgresUser>,
): Promise<void> {
  const args = [
    '-D',
    data,
    '-U',
    'svc',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale-provider=icu',
    '--icu-locale=en',
    '--no-sync',
  ];
  const child = spawn(initdb, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: dirname(data),
    ...idsOf(user),
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${said}`);
}

/**
 * Resolves when the server takes connections, which it writes to
 * stderr. Rejects with the text on stderr when the server ends instead.
 */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (/ready to accept (?:read-only )?connections/.test(said)) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`postgres ended with ${code}:\n${said}`)));
  });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetStreamManager } from '@svc/shared/nats/stream-reading.ts';
import { connect } from 'nats';
import { guardProcess } from '../../deploy/local/guard.ts';
import { findNatsServer } from '../../deploy/local/nats-server.mjs';
import { freePort } from './free-port.ts';
import { endChild } from './process.ts';

/** Real NATS servers on loopback that form one cluster. */
export type NatsCluster = {
  /** The URLs of all servers, separated by commas. */
  readonly url: string;
  /** @param index of the server, from 0 */
  urlOf(index: number): string;
  /**
   * Starts a server that does not run, for the first time or
   * again. It keeps its store, unless it gets an empty disk.
   */
  start(index: number, disk?: 'with an empty disk'): Promise<void>;
  /** Kills the server with SIGKILL, and resolves when it has ended. */
  kill(index: number): Promise<void>;
  /**
   * Number of servers that hold everything of the stream;
   * 0 while the stream has no leader or no server answers.
   */
  currentServersOf(stream: string): Promise<number>;
  /** Index of the server that leads the stream; -1 while there is no leader, or no server answers. */
  leaderOf(stream: string): Promise<number>;
  /** Kills all servers and deletes their stores. */
  dispose(): Promise<void>;
};

/** The beginning of the servers' names, before their indices. */
const SERVER = 'server-';

/**
 * Starts a cluster.
 *
 * @param servers number of the servers that know each other
 * @param running number of the servers that are started at
 *   once. The other servers join by {@link NatsCluster.start}
 */
export async function startNatsCluster(
  options: { servers?: number; running?: number } = {},
): Promise<NatsCluster> {
  const { servers = 3, running = servers } = options;
  const { path } = await findNatsServer();
  const directory = await mkdtemp(join(tmpdir(), 'svc-nats-cluster-'));
  const ports = await Promise.all(
    Array.from({ length: servers }, async () => ({ client: await freePort(), route: await freePort() })),
  );
  const children: (ChildProcess | undefined)[] = [];
  const routes = ports.map(({ route }) => `"nats://127.0.0.1:${route}"`).join(', ');

  async function start(index: number, disk?: 'with an empty disk'): Promise<void> {
    const { client, route } = ports[index] as { client: number; route: number };
    if (disk !== undefined) await rm(join(directory, String(index)), { recursive: true, force: true });
    const file = join(directory, `${index}.conf`);
    await writeFile(
      file,
      `server_name: ${SERVER}${index}
listen: 127.0.0.1:${client}
jetstream { store_dir: ${JSON.stringify(join(directory, String(index)))} }
cluster { name: test, listen: 127.0.0.1:${route}, routes: [${routes}], no_advertise: true }
`,
    );
    const child = spawn(path, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    children[index] = child;
    if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
    child.stderr?.resume();
    await once(child, 'spawn');
  }

  async function kill(index: number): Promise<void> {
    const child = children[index];
    if (child !== undefined) await endChild(child, 'SIGKILL');
  }

  const url = ports.map(({ client }) => `nats://127.0.0.1:${client}`).join(',');

  /**
   * The servers of the stream as its leader sees them; null
   * while the stream has no leader or no server answers.
   */
  async function serversOf(stream: string) {
    const connection = await connect({ servers: url.split(',') });
    try {
      return (await (await jetStreamManager(connection)).streams.info(stream)).cluster ?? null;
    } catch {
      return null;
    } finally {
      await connection.close();
    }
  }

  for (let index = 0; index < running; index += 1) await start(index);
  return {
    url,
    urlOf: (index) => `nats://127.0.0.1:${ports[index]?.client}`,
    start,
    kill,
    async currentServersOf(stream) {
      const { leader, replicas = [] } = (await serversOf(stream)) ?? {};
      return leader === undefined ? 0 : 1 + replicas.filter(({ current }) => current).length;
    },
    async leaderOf(stream) {
      const { leader = `${SERVER}-1` } = (await serversOf(stream)) ?? {};
      return Number(leader.slice(SERVER.length));
    },
    async dispose() {
      await Promise.all(children.map((_, index) => kill(index)));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

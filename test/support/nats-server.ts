import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardProcess } from '../../deploy/local/guard.ts';
import { findNatsServer } from '../../deploy/local/nats-server.mjs';
import { freePort } from './free-port.ts';
import { endChild } from './process.ts';

export type NatsServer = {
  /** `nats://127.0.0.1:<port>`; the port stays the same over {@link NatsServer.restart}. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly storeDir: string;
  /** Sends SIGTERM, and resolves when the server has ended. */
  stop(): Promise<void>;
  /** Kills the server with SIGKILL, and resolves when it has ended. */
  kill(): Promise<void>;
  /**
   * Starts the server again on the same port and store after
   * `stop` or `kill`. `beforeStart` may change the store.
   */
  restart(beforeStart?: (storeDir: string) => Promise<void>): Promise<void>;
  /** Stops the server and deletes its store. */
  dispose(): Promise<void>;
};

/** The nats-server program. It is searched only once, because its version is read in a separate process. */
let program: ReturnType<typeof findNatsServer> | undefined;

/**
 * A real nats-server with JetStream on a free loopback port, with a store of its own. It ends with the
 * process that started it, even when a time-out kills that process.
 *
 * @param configuration further lines of its configuration file (accounts, limits); without them every
 *   client may do anything
 */
export async function startNatsServer(configuration = ''): Promise<NatsServer> {
  program ??= findNatsServer();
  const binary = await program;
  const directory = await mkdtemp(join(tmpdir(), 'svc-nats-'));
  const storeDir = join(directory, 'jetstream');
  const port = await freePort();
  let child: ChildProcess;

  async function start(): Promise<void> {
    const configFile = join(directory, 'nats.conf');
    await writeFile(configFile, `jetstream { store_dir: ${JSON.stringify(storeDir)} }\n${configuration}\n`);
    child = spawn(binary.path, ['-c', configFile, '-a', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
    await untilReady(child);
  }

  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? -1;
    },
    storeDir,
    stop: async () => void (await endChild(child, 'SIGTERM')),
    kill: async () => void (await endChild(child, 'SIGKILL')),
    async restart(beforeStart) {
      await beforeStart?.(storeDir);
      await start();
    },
    async dispose() {
      await endChild(child, 'SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Resolves when the server takes connections, which it writes to
 * stderr. Rejects with the text on stderr when the server ends instead.
 */
export function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Server is ready')) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`nats-server ended with ${code}:\n${said}`)));
  });
}

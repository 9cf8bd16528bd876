import { spawn } from 'node:child_process';
import { guardProcess } from '../../deploy/local/guard.ts';
import { findNatsServer } from '../../deploy/local/nats-server.mjs';
import { untilReady } from './nats-server.ts';
import { endChild } from './process.ts';

/** A real nats-server with a configuration file, started as an operator starts it. */
export type ConfiguredNats = {
  readonly pid: number;
  /** Sends SIGTERM, and resolves when the server has ended. */
  close(): Promise<void>;
};

/**
 * Starts a server. Resolves when the server accepts connections.
 *
 * @param file configuration of the server
 * @param flags further arguments, which precede the file
 */
export async function startConfiguredNats(file: string, ...flags: string[]): Promise<ConfiguredNats> {
  const { path } = await findNatsServer();
  const child = spawn(path, ['-c', file, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  await untilReady(child);
  return {
    pid: child.pid ?? -1,
    async close() {
      await endChild(child, 'SIGTERM');
    },
  };
}

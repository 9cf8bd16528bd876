import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { guardProcess } from '../../deploy/local/guard.ts';
import { findNatsServer } from '../../deploy/local/nats-server.mjs';

/** A real nats-server with a configuration file, started as an operator starts it. */
export type ConfiguredNats = {
  readonly pid: number;
  /** SIGTERM, and waits for the end. */
  close(): Promise<void>;
};

/** Resolves when the server accepts connections. @param file its configuration; `flags` precede it */
export async function startConfiguredNats(file: string, ...flags: string[]): Promise<ConfiguredNats> {
  const { path } = await findNatsServer();
  const child = spawn(path, ['-c', file, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  await ready(child);
  return {
    pid: child.pid ?? -1,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function ready(child: ChildProcess): Promise<void> {
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

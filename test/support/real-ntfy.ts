import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { guardProcess } from '../../deploy/local/guard.ts';
import { freePort } from './free-port.ts';
import { endChild } from './process.ts';

/** A message as `GET /<topic>/json` gives it. */
export type NtfyMessage = {
  readonly id: string;
  readonly event: string;
  readonly topic: string;
  readonly title: string;
  readonly message: string;
  readonly priority: number;
  readonly tags: readonly string[];
  readonly click: string;
};

export type RealNtfy = {
  readonly url: string;
  /**
   * Token of a user who may read and write every topic; others may read and write topics that begin with
   * `open`.
   */
  readonly token: string;
  messages(topic: string): Promise<readonly NtfyMessage[]>;
  stop(): Promise<void>;
};

/** An ntfy server of its own on a free loopback port, with access control. */
export async function startNtfy(program: string): Promise<RealNtfy> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-ntfy-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = join(folder, 'server.yml');
  const settings = {
    'base-url': url,
    'listen-http': `127.0.0.1:${port}`,
    'cache-file': join(folder, 'cache.db'),
    'auth-file': join(folder, 'user.db'),
    'auth-default-access': 'deny-all',
  };
  await writeFile(config, JSON.stringify(settings));
  const child = spawn(program, ['serve', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) child.once('exit', guardProcess(child.pid));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Listening on')) resolve();
    });
    child.once('exit', () => reject(new Error(`ntfy has ended:\n${said}`)));
  });
  await answering(url);
  // The server itself creates the file of its users.
  await run(program, ['user', '--config', config, 'add', '--role=admin', 'svc'], {
    NTFY_PASSWORD: 'of-the-tests',
  });
  await run(program, ['access', '--config', config, 'everyone', 'open*', 'read-write']);
  const added = await run(program, ['token', '--config', config, 'add', 'svc']);
  const token = /tk_[a-z0-9]+/.exec(added)?.[0] ?? '';
  return {
    url,
    token,
    async messages(topic) {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/${topic}/json?poll=1`, { headers });
      const lines = (await answer.text()).split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as NtfyMessage);
    },
    async stop() {
      await endChild(child, 'SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs a command of ntfy, and returns its output. */
async function run(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`ntfy ${args.join(' ')} has ended with ${code}:\n${said}`);
  return said;
}

/** Resolves when the server answers. The server logs that it listens before it does. */
async function answering(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/v1/health`).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.ok === true) return;
    await delay(50);
  }
}

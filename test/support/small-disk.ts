import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { guardProcess } from '../../deploy/local/guard.ts';
import type { Said } from './svc.ts';

const run = promisify(execFile);

/** Why this machine gives no small disk; null: it does. */
export function whyNoSmallDisk(): string | null {
  if (process.platform !== 'linux') return 'mount namespaces are Linux only';
  const { status, error, stderr } = spawnSync(
    'unshare',
    ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'],
    {
      encoding: 'utf8',
    },
  );
  return status === 0 ? null : `unshare failed: ${error?.message ?? stderr.trim()}`;
}

/**
 * A disk of a few KiB that can become full: a file system in memory over a folder, in
 * a mount namespace of its own. Only programs that are run beside this disk see it.
 */
export class SmallDisk {
  /** Path of the folder for programs that are run beside the disk. */
  readonly path: string;
  readonly #holder: ChildProcess;

  private constructor(path: string, holder: ChildProcess) {
    this.path = path;
    this.#holder = holder;
  }

  /** @param options of tmpfs: `size=64k`, `nr_inodes=5` */
  static async mount(path: string, options: string): Promise<SmallDisk> {
    await mkdir(path, { recursive: true });
    const script = `mount -t tmpfs -o ${options} tmpfs '${path}' && echo mounted && exec sleep infinity`;
    const holder = spawn('unshare', ['--mount', 'sh', '-c', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (holder.pid !== undefined) holder.once('exit', guardProcess(holder.pid));
    await once(holder.stdout, 'data');
    return new SmallDisk(path, holder);
  }

  /** A file of the disk as this process sees it. */
  outside(name: string): string {
    return join(`/proc/${this.#holder.pid}/root`, this.path, name);
  }

  /** Runs a program beside the disk. Does not reject for its exit code. */
  async run(
    command: string,
    args: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<Said> {
    const joined = [`--mount=/proc/${this.#holder.pid}/ns/mnt`, '--', command, ...args];
    try {
      const { stdout, stderr } = await run('nsenter', joined, { env: { ...process.env, ...environment } });
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
      if (typeof code !== 'number') throw error;
      return { code, out: stdout ?? '', err: stderr ?? '' };
    }
  }

  /** Leaves this many KiB free. */
  async fill(freeKib: number): Promise<void> {
    const script = `rm -f filler; room=$(df --output=avail -k . | tail -n 1); head -c $(( (room - ${freeKib}) * 1024 )) /dev/zero > filler`;
    const { code, err } = await this.run('sh', ['-c', `cd '${this.path}' && ${script}`]);
    if (code !== 0) throw new Error(`the disk cannot be filled: ${err}`);
  }

  async makeRoom(): Promise<void> {
    await this.run('rm', ['-f', join(this.path, 'filler')]);
  }

  async close(): Promise<void> {
    const ended = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await ended;
  }
}

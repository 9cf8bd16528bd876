import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** The reason for which a test cannot have a network of its own here; null: it can. */
export function whyNoOwnNetwork(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are Linux only';
  for (const [command, ...args] of [
    ['unshare', '--net', '--mount', 'ip', 'link', 'set', 'lo', 'up'],
    ['nsenter', '--version'],
  ] as const) {
    const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) return `${command} failed: ${error?.message ?? stderr.trim()}`;
  }
  return null;
}

/** A line of the story that is run in the namespace, as it was printed. */
export type Told = {
  readonly step: string;
  /**
   * The outcomes of the step's checks by the name of the monitor, each with its message if it has one
   * (`failed: no connection …`), or the reasons of `not_run`.
   */
  readonly outcomes: Readonly<Record<string, readonly string[]>>;
  /** `status name` of each webhook that came. */
  readonly alerts: readonly string[];
  /** The sicknesses that the agents of the regions reported at the end of the step. */
  readonly sick: readonly string[];
};

/**
 * Runs a TypeScript file in a network and mount namespace of its own (with loopback only, and its own
 * `/etc/resolv.conf`), and yields its output, one JSON object a line. It leaves nothing on the machine.
 */
export class OwnNetwork {
  readonly told: Told[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #errors = '';

  constructor(file: string) {
    this.#child = spawn('unshare', ['--net', '--mount', process.execPath, file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#child.stderr?.on('data', (data: Buffer) => {
      this.#errors = (this.#errors + data.toString()).slice(-10_000);
    });
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.told.push(JSON.parse(line)));
    }
    this.#ended = once(this.#child, 'exit').then(([code]) => code as number | null);
  }

  /** Resolves when the story has ended well. */
  async end(): Promise<void> {
    const code = await this.#ended;
    if (code !== 0) throw new Error(`the story ended with ${code}:\n${this.#errors}`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Runs `ip` with these words, in this namespace. */
export function ip(command: string): void {
  execFileSync('ip', command.split(' '), { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Runs `ip` with these words, in the namespace of a process. */
export function ipIn(pid: number, command: string): void {
  execFileSync('nsenter', ['--net', `--target=${pid}`, 'ip', ...command.split(' ')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

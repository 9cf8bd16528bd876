import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { compileCacheOf, ROOT } from './process.ts';

/** A line or an end that has not come after this time shows a fault. The slowest start on a busy machine takes 60 s. */
const WITHIN_MS = 150_000;

/**
 * The supervisor of `npm start` or `npm run start:cluster` as a
 * process, without npm, and the lines that it writes for people.
 */
export class NpmStart {
  /** All lines that the supervisor has written so far. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #wake: () => void = () => {};

  /** @param args `cluster` for a cluster */
  constructor(environment: Record<string, string>, ...args: readonly string[]) {
    this.#child = spawn(process.execPath, ['deploy/local/start.ts', ...args], {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', ...compileCacheOf(ROOT), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.#add(line));
    }
    this.#closed = once(this.#child, 'close');
  }

  /**
   * Resolves with the first line that contains the text, past lines included. Rejects when the process ends
   * without such a line, and after {@link WITHIN_MS}.
   */
  line(text: string): Promise<string> {
    return this.#inTime(this.#find(text), `"${text}"`);
  }

  /** Process ids of the supervised parts whose command line contains the text. */
  partsWith(text: string): number[] {
    return processes()
      .filter(({ parent, command }) => parent === this.#child.pid && command.includes(text))
      .map(({ pid }) => pid);
  }

  /**
   * Ends the supervisor with the signal. Resolves with its exit code when it has ended and no part holds its output any
   * more; null: a signal ended it. Rejects after {@link WITHIN_MS}.
   */
  end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.ended();
  }

  /** Waits until the supervisor ends by itself, and resolves and rejects as {@link end} does. */
  async ended(): Promise<number | null> {
    await this.#inTime(this.#closed, 'an end');
    return this.#child.exitCode;
  }

  async #find(text: string): Promise<string> {
    const ended = this.#closed.then(() => {
      throw this.#without(`ended without "${text}"`);
    });
    ended.catch(() => {}); // Its end may be wanted later.
    for (;;) {
      const found = this.lines.find((line) => line.includes(text));
      if (found !== undefined) return found;
      const next = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([next, ended]);
    }
  }

  async #inTime<T>(awaited: Promise<T>, what: string): Promise<T> {
    const late = Promise.withResolvers<never>();
    const reject = () => late.reject(this.#without(`${WITHIN_MS / 1000} s without ${what}`));
    const timer = setTimeout(reject, WITHIN_MS);
    try {
      return await Promise.race([awaited, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #without(what: string): Error {
    return new Error(`${what}:\n${this.lines.join('\n')}`);
  }

  #add(line: string): void {
    this.lines.push(line);
    this.#wake();
  }
}

/** All processes of this machine. */
export function processes(): { pid: number; parent: number; command: string }[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return table.split('\n').flatMap((row) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(row) ?? [];
    return command === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

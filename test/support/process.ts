import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The checkout that this file belongs to. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The compile cache of a checkout's programs, as with `npm start`. It halves the CPU time of a start. */
export const compileCacheOf = (root: string): { NODE_COMPILE_CACHE: string } => ({
  NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node'),
});

/** Ends a process. Resolves with its exit code, or the signal's name; null: it had ended before. */
export async function endChild(
  child: ChildProcess,
  signal: NodeJS.Signals,
): Promise<number | NodeJS.Signals | null> {
  if (child.exitCode !== null || child.signalCode !== null) return null;
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  child.kill(signal);
  const [code, by] = await exited;
  return code ?? by;
}

export type LogLine = { level: number; msg: string; event?: string } & Record<string, unknown>;

/**
 * One of our programs as a child process whose log lines can be waited for. It can be killed and
 * started again.
 */
export class LoggedProcess {
  readonly #name: string;
  readonly #spawn: () => ChildProcess;
  readonly #waiting = new Set<{ isIt: (line: LogLine) => boolean; resolve: (line: LogLine) => void }>();
  readonly lines: LogLine[] = [];
  /** The lines of its output that are no log lines: stack traces, warnings of Node. */
  readonly noise: string[] = [];
  #child: ChildProcess | null = null;

  /** @param spawn starts the process, whose standard error must be a pipe */
  constructor(name: string, spawn: () => ChildProcess) {
    this.#name = name;
    this.#spawn = spawn;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /**
   * Starts the process. Resolves at the log line that says
   * that it is ready. Rejects when it ends before that.
   */
  async start(): Promise<void> {
    const child = this.#spawn();
    this.#child = child;
    const ready = this.line((line) => line.event === 'ready');
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (text) => this.#read(text));
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`${this.#name} ended with ${code}:\n${this.noise.join('\n')}\n${this.lastLines()}`);
    });
    await Promise.race([ready, ended]);
    ended.catch(() => {}); // Later ends are the test's business.
  }

  /** Waits for the next log line that `isIt` accepts. */
  line(isIt: (line: LogLine) => boolean): Promise<LogLine> {
    return new Promise((resolve) => this.#waiting.add({ isIt, resolve }));
  }

  /** Resolves when the process ends by itself, with its exit code or the name of the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals> {
    const [code, by] = await once(this.#child as ChildProcess, 'exit');
    return code ?? by;
  }

  /**
   * Ends the process with the signal. Resolves with its exit
   * code, or with the name of the signal that ended it.
   */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    return this.#child === null ? null : endChild(this.#child, signal);
  }

  lastLines(): string {
    return this.lines
      .slice(-20)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }

  #read(text: string): void {
    const line = parse(text);
    if (line === null) {
      this.noise.push(text);
      return;
    }
    this.lines.push(line);
    for (const waiter of this.#waiting) {
      if (!waiter.isIt(line)) continue;
      this.#waiting.delete(waiter);
      waiter.resolve(line);
    }
  }
}

/** A program of a checkout, run by the Node of the tests. */
export class Program extends LoggedProcess {
  /**
   * @param file path of the program from the root of the repository
   * @param flags flags of Node
   * @param root the checkout whose program is run
   */
  constructor(
    file: string,
    environment: Record<string, string>,
    flags: readonly string[] = [],
    root: string = ROOT,
  ) {
    super(file, () =>
      spawn(process.execPath, [...flags, file], {
        cwd: root,
        env: {
          PATH: process.env.PATH ?? '',
          ...compileCacheOf(root),
          ...environment,
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    );
  }
}

function parse(text: string): LogLine | null {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return null;
  }
}

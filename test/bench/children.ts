import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A process that does not end by itself within this time is killed, ms. */
const END_WITHIN_MS = 2_000;

/**
 * The child processes of one benchmark. `endAll` leaves none behind. Processes
 * that run our code end in order when their channel closes. They then keep
 * their compile cache, and the next run does not load Node's type stripper.
 */
export class Children {
  readonly #children: ChildProcess[] = [];

  /** Starts a TypeScript file that prints one line when it is ready. Resolves with that line. */
  async node(
    file: string,
    args: readonly string[] = [],
    {
      flags = [],
      environment = {},
    }: { flags?: readonly string[]; environment?: Record<string, string> } = {},
  ): Promise<{ pid: number; line: string; send(message: string): void }> {
    const child = spawn(process.execPath, [...flags, file, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.#children.push(child);
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    const [line] = (await Promise.race([once(lines, 'line'), failed(child, file)])) as [string];
    return { pid: child.pid ?? -1, line, send: (message) => child.send(message) };
  }

  /** Starts a program, and discards its output. */
  program(command: string, args: readonly string[]): number {
    const child = spawn(command, args, { stdio: 'ignore' });
    this.#children.push(child);
    return child.pid ?? -1;
  }

  async endAll(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, 'exit');
        const deadline = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
        if (child.connected) child.disconnect();
        else child.kill('SIGTERM');
        await exited;
        clearTimeout(deadline);
      }),
    );
  }
}

async function failed(child: ChildProcess, file: string): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`${file} ended with ${code}`);
}

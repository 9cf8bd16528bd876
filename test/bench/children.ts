import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Child processes of one benchmark; `endAll` leaves none behind. */
export class Children {
  readonly #children: ChildProcess[] = [];

  /** Starts a TypeScript file that prints one line when it is ready; resolves with that line. */
  async node(
    file: string,
    args: readonly string[] = [],
  ): Promise<{ pid: number; line: string; send(message: string): void }> {
    const child = spawn(process.execPath, [file, ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    this.#children.push(child);
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    const [line] = (await Promise.race([once(lines, 'line'), failed(child, file)])) as [string];
    return { pid: child.pid ?? -1, line, send: (message) => child.send(message) };
  }

  /** Starts a program; its output is thrown away. */
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
        child.kill('SIGKILL');
        await exited;
      }),
    );
  }
}

async function failed(child: ChildProcess, file: string): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`${file} ended with ${code}`);
}

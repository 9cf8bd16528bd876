import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A loop ends by itself when its parent is gone, even after a kill -9. */
const LOOP = `while (process.ppid === ${process.pid}) for (let n = 0; n < 1e7; n += 1);`;

/** Processes that each use up a CPU, with the priority of the tests. */
export class BusyLoops {
  readonly #loops: readonly ChildProcess[];

  private constructor(loops: readonly ChildProcess[]) {
    this.#loops = loops;
  }

  /** @param count of processes, >= 0 */
  static async start(count: number): Promise<BusyLoops> {
    const loops = Array.from({ length: count }, () =>
      spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
    );
    await Promise.all(loops.map((loop) => once(loop, 'spawn')));
    return new BusyLoops(loops);
  }

  get pids(): readonly number[] {
    return this.#loops.flatMap(({ pid }) => pid ?? []);
  }

  async stop(): Promise<void> {
    const running = this.#loops.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    );
    await Promise.all(
      running.map(async (loop) => {
        const exited = once(loop, 'exit');
        loop.kill('SIGKILL');
        await exited;
      }),
    );
  }
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('../bench/target-process.ts', import.meta.url));

export type TargetProcess = {
  readonly url: string;
  /** Makes the target answer 503 to requests for `/fragile` from now on. */
  goDown(): void;
  close(): Promise<void>;
};

/** An HTTP target in a process of its own, so that it answers while the test is busy. */
export async function startTargetProcess(): Promise<TargetProcess> {
  const child = fork(FILE, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  if (child.stdout === null) throw new TypeError('stdout is a pipe');
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: `http://127.0.0.1:${port.toString().trim()}`,
    goDown: () => void child.send('down'),
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

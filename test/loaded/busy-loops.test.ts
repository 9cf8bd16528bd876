import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { BusyLoops } from './busy-loops.ts';

const MODULE = new URL('./busy-loops.ts', import.meta.url).href;

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // ESRCH
  }
}

test('the requested number of loops runs until they are stopped', async () => {
  const loops = await BusyLoops.start(2);
  const pids = [...loops.pids];
  expect(pids).toHaveLength(2);
  expect(pids.map(isThere)).toEqual([true, true]);
  await loops.stop();
  expect(pids.map(isThere)).toEqual([false, false]);
});

test('no loop outlives its parent, even if the parent is killed', async () => {
  const script = `
    import { BusyLoops } from '${MODULE}';
    console.log((await BusyLoops.start(1)).pids[0]);
    process.stdin.resume();`;
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // A loop keeps this pipe open as long as it runs.
  const lines = createInterface({ input: starter.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  expect(isThere(Number(line))).toBe(true);
  starter.kill('SIGKILL');
  await once(starter, 'exit');
  await expect.poll(() => isThere(Number(line))).toBe(false);
});

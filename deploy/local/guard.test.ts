import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

/** A process that starts a child, guards it, and prints the child's process id. */
const GUARDING = `
  import { spawn } from 'node:child_process';
  import { guardProcess } from './deploy/local/guard.ts';
  const child = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
  guardProcess(child.pid);
  console.log(child.pid);
  setInterval(() => {}, 1000);
`;

test('a guarded process ends when its guardian is killed', async () => {
  const guardian = spawn(process.execPath, ['--input-type=module', '-e', GUARDING], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: guardian.stdout }), 'line');
  const child = Number(line);
  expect(isAlive(child)).toBe(true);
  guardian.kill('SIGKILL');
  await expect.poll(() => isAlive(child)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

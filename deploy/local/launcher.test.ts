import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const LAUNCHER = fileURLToPath(new URL('./launcher.ts', import.meta.url));

/** The watching process, and its parent in the place of npm. Both write to the same output. */
const WATCHING = `
  import { watchLauncher } from ${JSON.stringify(LAUNCHER)};
  watchLauncher(process.env, () => { console.log('gone'); process.exit(); });
  console.log('watches');
  setInterval(() => {}, 1_000);
`;
const PARENT = `
  import { spawn } from 'node:child_process';
  spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(WATCHING)}], { stdio: 'inherit' });
`;

test.each(['start', 'start:cluster'])('npm run %s: a killed npm is noticed', async (command) => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, npm_lifecycle_event: command },
  });
  const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('watches');
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  expect((await lines.next()).value).toBe('gone');
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test('a supervisor that goes at that moment is no failure of the process', async () => {
  const script = [
    `import { readSync } from 'node:fs';`,
    `import { sayReady } from ${JSON.stringify(new URL('./readiness.ts', import.meta.url).href)};`,
    `process.on('disconnect', () => process.exit(0));`,
    `process.stdout.write('here');`,
    // Holds the thread, so that the end of the channel is not seen before the message is sent.
    `readSync(0, Buffer.alloc(1));`,
    `sayReady();`,
  ].join('\n');
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout!, 'data');
  child.disconnect();
  child.stdin!.write('x');
  expect(await ended).toEqual([0, null]);
});

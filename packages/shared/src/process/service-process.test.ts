import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { settingsOfProcess } from './service-process.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test('a process warns of unknown names', () => {
  vi.stubEnv('SVC_REGION', 'hosta-fra');
  vi.stubEnv('SVC_REGOIN', 'hosta-fra');
  const table = { region: { name: 'SVC_REGION', description: 'a region', schema: z.string() } } as const;
  expect(settingsOfProcess('agent', [], table)).toEqual({
    values: { region: 'hosta-fra' },
    warnings: ['SVC_REGOIN is not a setting of svc; did you mean SVC_REGION?'],
  });
});

test('with --help, a process describes its settings and reads none', () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const table = { region: { name: 'SVC_REGION', description: 'a region', schema: z.string() } } as const;
  expect(settingsOfProcess('agent', ['--help'], table)).toBeNull();
  expect(written.mock.calls).toEqual([
    ['The agent takes its settings from the environment:\n\n  SVC_REGION  a region (required)\n'],
  ]);
});

test('a supervisor that goes at that moment is no failure of the process', async () => {
  const script = [
    `import { readSync } from 'node:fs';`,
    `import { sayReady } from ${JSON.stringify(new URL('./service-process.ts', import.meta.url).href)};`,
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

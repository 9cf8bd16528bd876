import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './support/process.ts';

type Report = { testResults: { name: string; status: string; message: string }[] };

/** The expected failure of each file of `fixtures/leaks`; null: it passes. */
const TOLD: Readonly<Record<string, RegExp | null>> = {
  'child.leaking.ts': /- a child process\n +made at .*child\.leaking\.ts:/,
  'connection.leaking.ts':
    /- a TCP connection \(127\.0\.0\.1 \d+ to .*\)\n +made at .*connection\.leaking\.ts:/,
  'database.leaking.ts': /- the open file .*left\.db/,
  'datagrams.leaking.ts': /- a UDP socket \(127\.0\.0\.1 \d+\)\n +made at .*datagrams\.leaking\.ts:/,
  'everything.clean.ts': null,
  'listening.leaking.ts': /- a listening server \(.*127\.0\.0\.1.*\)\n +made at .*listening\.leaking\.ts:/,
  'thread.leaking.ts': /- the thread left .*\n +made at .*thread\.leaking\.ts:/,
  'timer.leaking.ts': /- a timer\n +made at .*timer\.leaking\.ts:/,
};

test('a file that leaves something open fails, is told what and who made it, and no other is', async () => {
  const outcomes = await outcomesOf('test/fixtures/leaks/vitest.config.ts');
  expect(Object.keys(outcomes).sort()).toEqual(Object.keys(TOLD));
  for (const [file, told] of Object.entries(TOLD)) {
    if (told === null) expect(outcomes[file], file).toBe('');
    else expect(outcomes[file], file).toMatch(told);
  }
});

/** The failure of each file by its name; an empty text: it passed. */
async function outcomesOf(config: string): Promise<Record<string, string>> {
  const report = join(tmpdir(), 'leaks.json');
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const flags = ['run', '--config', config, '--reporter=json', `--outputFile=${report}`];
  const child = spawn(process.execPath, [vitest, ...flags], { cwd: ROOT, stdio: 'ignore' });
  await once(child, 'exit');
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as Report;
  return Object.fromEntries(testResults.map(({ name, message }) => [basename(name), message]));
}

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const READ = new URL('./read.ts', import.meta.url).href;
const COUNT_ENTRIES = `
  const { readDeclaration } = await import(${JSON.stringify(READ)});
  const { entries } = await readDeclaration({ path: process.argv[2], env: {} }, new AbortController().signal);
  process.stdout.write(String(entries.length));
`;

test('a heap limit on the command line does not bind the thread that reads the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-read-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'svc.json');
  const monitor = { name: 'one', uri: 'example.com:443', periodicity: '10m', active: true };
  const monitors = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`m${index}`, monitor]));
  await writeFile(path, JSON.stringify({ svc_tcp_monitor: monitors }));
  const program = join(folder, 'count.mjs');
  await writeFile(program, COUNT_ENTRIES);
  const flags = ['--max-old-space-size=32', '--max-semi-space-size=1'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, path]);
  expect(stdout).toBe('4000');
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const READ = new URL('./read.ts', import.meta.url).href;
/** Prints the number of entries. */
const READ_ENTRIES = `
  const { readDeclaration } = await import(${JSON.stringify(READ)});
  const { entries } = await readDeclaration({ path: process.argv[2], env: {} }, new AbortController().signal);
  process.stdout.write(String(entries.length));
`;

/** Reads 4,000 monitors in a process of its own. Answers how many it has read. */
async function readMonitors(flags: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-read-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'svc.json');
  const monitor = { name: 'one', uri: 'example.com:443', periodicity: '10m', active: true };
  const monitors = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`m${index}`, monitor]));
  await writeFile(path, JSON.stringify({ svc_tcp_monitor: monitors }));
  const program = join(folder, 'read.mjs');
  await writeFile(program, READ_ENTRIES);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, path]);
  return Number(stdout);
}

test('a heap limit on the command line does not bind the thread that reads the file', async () => {
  expect(await readMonitors(['--max-old-space-size=32', '--max-semi-space-size=1'])).toBe(4_000);
});

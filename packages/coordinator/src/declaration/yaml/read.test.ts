import { execFile } from 'node:child_process';
import { on } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

const READ = new URL('./read.ts', import.meta.url).href;
/** Program that reads a declared file and prints the number of its entries. */
const READ_ENTRIES = `
  const { readDeclaration } = await import(${JSON.stringify(READ)});
  const { entries } = await readDeclaration({ path: process.argv[2], env: {} }, new AbortController().signal);
  process.stdout.write(String(entries.length));
`;

/** Writes a declared file of this many monitors into a new folder. */
async function declaredMonitors(count: number, lastName = 'one'): Promise<{ folder: string; path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-read-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'svc.json');
  const nameOf = (index: number) => (index === count - 1 ? lastName : 'one');
  const monitors = Array.from({ length: count }, (_, index) => [
    `m${index}`,
    { name: nameOf(index), uri: 'example.com:443', periodicity: '10m', active: true },
  ]);
  await writeFile(path, JSON.stringify({ svc_tcp_monitor: Object.fromEntries(monitors) }));
  return { folder, path };
}

/** Reads 4,000 monitors in a separate process. Returns the number of entries. */
async function readMonitors(flags: readonly string[]): Promise<number> {
  const { folder, path } = await declaredMonitors(4_000);
  const program = join(folder, 'read.mjs');
  await writeFile(program, READ_ENTRIES);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, path]);
  return Number(stdout);
}

test('a heap limit on the command line does not bind the thread that reads the file', async () => {
  expect(await readMonitors(['--max-old-space-size=32', '--max-semi-space-size=1'])).toBe(4_000);
});

test('the thread reads the next hundred entries only when it is asked for them', async () => {
  const { folder, path } = await declaredMonitors(101, `\${file.name}`);
  const worker = new Worker(new URL('./read-worker.ts', import.meta.url), { workerData: { path, env: {} } });
  onTestFinished(async () => void (await worker.terminate()));
  const messages = on(worker, 'message', { close: ['exit'] });
  const nextMessage = async (): Promise<unknown> => (await messages.next()).value?.[0];
  expect(await nextMessage()).toHaveLength(100);
  const idleMs = () => worker.performance.eventLoopUtilization().idle;
  for (const before = idleMs(); idleMs() === before; ) await setImmediate();
  // The last monitor inserts a file that did not exist until now.
  // If the thread had read on, that monitor would have an error.
  writeFileSync(join(folder, 'name'), 'last');
  worker.postMessage(null);
  expect(await nextMessage()).toMatchObject([{ name: 'm100', attributes: { name: 'last' } }]);
  worker.postMessage(null);
  expect(await nextMessage()).toMatchObject({ errors: [] });
});
